import FoundationEssentials
import Testing

@testable import Payments

/// The state machine of payments: what may happen in which state, and what it leads to.
@Suite struct PaymentTransitionTests {
    private let belvoID = UUID()

    private func payment(_ state: Payment.State) throws -> Payment {
        var payment = Payment(
            id: Payment.ID(UUID()), origin: state == .foreign ? .foreign : .own, subject: try UserSubject("ana"),
            enrollment: Enrollment.ID(UUID()),
            parties: Payment.Parties(customer: UUID(), enrollment: UUID(), beneficiaryBankAccount: UUID()),
            amount: Money(centavos: 1990), description: try PaymentDescription("Coffee"),
            statementDescription: try StatementDescription("Coffee"), reference: try Reference("order-1"),
            metadata: nil, belvoIdempotencyKey: UUID(), createdAt: .earliest)
        payment.state = state
        if state != .creating { payment.belvoID = belvoID }
        if state == .authorizing {
            payment.assertionDigest = [1]
            payment.wasAuthorizeSent = true
        }
        if state == .failed { payment.failure = .timedOut }
        if state == .succeeded { payment.isClosedAtBelvo = true }
        return payment
    }

    private func report(
        of payment: Payment, _ status: ProviderStatus, options: [UInt8]? = nil
    ) -> Payment.Report {
        Payment.Report(
            belvoID: belvoID, externalID: payment.id.description, status: status, providerStatus: "\(status)",
            amount: payment.amount, currency: "BRL", customer: payment.parties.customer,
            beneficiaryBankAccount: payment.parties.beneficiaryBankAccount, enrollment: payment.parties.enrollment,
            facts: Payment.ProviderFacts(endToEndID: EndToEndID("E432158152025061315009OzwiMmDSO7")),
            fidoOptions: options, failureCode: "insufficient_funds", failureMessage: nil)
    }

    @Test(arguments: Payment.State.allCases)
    func `only a payment that waits for its signature can be authorized`(state: Payment.State) throws {
        let payment = try payment(state)
        if state == .awaitingSignature {
            #expect(try payment.transition(on: .authorizationSent(digest: [7])).state == .authorizing)
        } else {
            #expect(throws: TransitionRefused.self) { try payment.transition(on: .authorizationSent(digest: [7])) }
        }
    }

    @Test(
        arguments: [
            .authorizationAccepted, .authorizationKeptBack(sentBefore: false), .authorizationNotLetIn,
            .refused(.notSent), .timedOut, .creationLost, .creationUnknown, .cancelRequested(isFreshlyRead: true),
        ] as [Payment.Event])
    func `a payment that somebody else made follows Belvo's status and nothing else`(event: Payment.Event) throws {
        let payment = try payment(.foreign)
        #expect(throws: TransitionRefused.self) { try payment.transition(on: event) }
        for status in [ProviderStatus.pending, .processing, .unknown] {
            let open = try payment.transition(on: .reported(report(of: payment, status, options: [1])))
            #expect(open.state == .foreign)
            #expect(open.fidoOptions == nil)
        }
        let failed = try payment.transition(on: .reported(report(of: payment, .failed)))
        #expect(failed.failure?.authority == .belvo)
    }

    @Test func `an authorized payment is put in doubt by time, and never failed by it`() throws {
        let overdue = try payment(.authorizing).transition(on: .timedOut)
        #expect(overdue.state == .authorizing)
        #expect(overdue.isInDoubt)
    }

    @Test(arguments: [Payment.State.creating, .awaitingOptions, .awaitingSignature])
    func `a payment that was never authorized ends by time`(state: Payment.State) throws {
        let ended = try payment(state).transition(on: .timedOut)
        #expect(ended.failure == .timedOut)
        #expect(!ended.mayBelvoStillPay)
    }

    @Test(arguments: Payment.State.allCases.filter { $0 != .succeeded })
    func `Belvo's success is taken in every state that is not Belvo's own end`(state: Payment.State) throws {
        let payment = try payment(state)
        let paid = try payment.transition(on: .reported(report(of: payment, .succeeded)))
        #expect(paid.state == .succeeded)
        #expect(paid.failure == nil)
    }

    @Test func `what Belvo has ended stays ended, whatever comes late`() throws {
        let payment = try payment(.authorizing)
        let failed = try payment.transition(on: .reported(report(of: payment, .failed)))
        #expect(failed.failure == Failure(code: "insufficient_funds", authority: .belvo))
        #expect(try failed.transition(on: .reported(report(of: payment, .succeeded))).state == .failed)
        let paid = try payment.transition(on: .reported(report(of: payment, .succeeded)))
        #expect(try paid.transition(on: .reported(report(of: payment, .failed))).state == .succeeded)
        #expect(throws: TransitionRefused.self) { try paid.transition(on: .timedOut) }
    }

    @Test func `a success that differs in anything is not believed, and is polled for as long as it takes`() throws {
        let payment = try payment(.awaitingSignature)
        let whole = report(of: payment, .succeeded)
        let spoilers: [(String, (inout Payment.Report) -> Void)] = [
            ("id", { $0.belvoID = UUID() }), ("external_id", { $0.externalID = nil }),
            ("amount", { $0.amount = Money(centavos: 1) }), ("currency", { $0.currency = "USD" }),
            ("customer", { $0.customer = UUID() }), ("beneficiary_bank_account", { $0.beneficiaryBankAccount = nil }),
            ("enrollment", { $0.enrollment = UUID() }), ("end_to_end_id", { $0.facts.endToEndID = nil }),
        ]
        #expect(payment.differences(from: whole).isEmpty)
        for (name, spoil) in spoilers {
            var report = whole
            spoil(&report)
            #expect(payment.differences(from: report) == [name])
            let next = try payment.transition(on: .reported(report))
            var expected = payment
            expected.wasSeenSigned = true
            #expect(next == expected, "\(name)")
            #expect(try next.transition(on: .timedOut).isInDoubt, "\(name)")
        }
    }

    @Test func `a failure is believed only of this payment, as far as Belvo shows whose it is`() throws {
        let payment = try payment(.authorizing)
        let whole = report(of: payment, .failed)
        let spoilers: [(String, (inout Payment.Report) -> Void)] = [
            ("id", { $0.belvoID = UUID() }), ("external_id", { $0.externalID = "another" }),
            ("amount", { $0.amount = Money(centavos: 1) }), ("currency", { $0.currency = "USD" }),
            ("customer", { $0.customer = UUID() }),
            ("beneficiary_bank_account", { $0.beneficiaryBankAccount = UUID() }),
            ("enrollment", { $0.enrollment = UUID() }),
        ]
        for (name, spoil) in spoilers {
            var report = whole
            spoil(&report)
            #expect(payment.differences(from: report) == [name])
            #expect(try payment.transition(on: .reported(report)) == payment, "\(name)")
        }
        var bare = whole
        (bare.externalID, bare.amount, bare.currency, bare.customer) = (nil, nil, nil, nil)
        (bare.beneficiaryBankAccount, bare.enrollment, bare.facts) = (nil, nil, Payment.ProviderFacts())
        let failed = try payment.transition(on: .reported(bare))
        #expect(failed.failure?.authority == .belvo)
        #expect(!failed.mayBelvoStillPay)
    }

    @Test func `what Belvo shows for another amount is not given to the user to sign`() throws {
        let payment = try payment(.creating)
        var other = report(of: payment, .pending, options: [1])
        other.amount = Money(centavos: 40_000)
        #expect(try payment.transition(on: .reported(other)) == payment)
        let known = try payment.transition(on: .acknowledged(belvoID))
        #expect(known.state == .creating && known.belvoID == belvoID)
        #expect(try known.transition(on: .reported(other)) == known)
        #expect(
            try known.transition(on: .reported(report(of: known, .pending, options: [1]))).state == .awaitingSignature)
    }

    @Test func `a refused creation may be paid while a token could sign it, and one that never left may not`() throws {
        let refused = Failure(code: "no", authority: .merchant)
        for (failure, mayBePaid) in [(Failure.notSent, false), (.notLetIn, true), (refused, true)] {
            var payment = try payment(.creating).transition(on: .refused(failure))
            #expect(!payment.mayBelvoStillPay)
            payment.isSignableElsewhere = true
            #expect(payment.mayBelvoStillPay == mayBePaid)
        }
    }

    @Test func `Belvo taking its last word back is noticed, and keeps a reference where money may have arrived`() throws
    {
        let payment = try payment(.authorizing)
        let failed = try payment.transition(on: .reported(report(of: payment, .failed)))
        #expect(failed.isLastStatusTakenBack(by: report(of: payment, .succeeded)))
        #expect(failed.isLastStatusTakenBack(by: report(of: payment, .processing)))
        // Belvo may show what was signed as pending, too.
        #expect(failed.isLastStatusTakenBack(by: report(of: payment, .pending)))
        let unsigned = try self.payment(.awaitingSignature)
        let lapsed = try unsigned.transition(on: .reported(report(of: unsigned, .failed)))
        #expect(!lapsed.isLastStatusTakenBack(by: report(of: unsigned, .pending)))
        let contradicted = try failed.transition(on: .reported(report(of: payment, .succeeded)))
        #expect(contradicted.state == .failed)
        #expect(contradicted.mayBelvoStillPay)
        let paid = try payment.transition(on: .reported(report(of: payment, .succeeded)))
        #expect(paid.isLastStatusTakenBack(by: report(of: payment, .failed)))
        #expect(try paid.transition(on: .reported(report(of: payment, .failed))) == paid)
    }

    @Test func `a settled contradiction ends by one reading of SUCCEEDED, and of FAILED by a second one`() throws {
        let open = try payment(.authorizing)
        let failed = try open.transition(on: .reported(report(of: open, .failed)))
        var taken = try failed.transition(on: .reported(report(of: failed, .processing)))
        func reading(_ status: ProviderStatus) throws -> Payment {
            try taken.transition(on: .reported(report(of: taken, status)))
        }
        for status in [ProviderStatus.succeeded, .failed] { #expect(try reading(status).contradiction != nil) }
        taken.contradiction?.isSettled = true
        let paid = try reading(.succeeded)
        #expect(paid.state == .succeeded && paid.contradiction == nil)
        #expect(try reading(.failed).contradiction != nil, "one reading, which may lag, ends a contradiction")
        taken.contradiction?.wasFailureShown = true
        let ended = try reading(.failed)
        #expect(ended.state == .failed && ended.contradiction == nil)
    }

    @Test func `money that a charge has collected counts, whatever word the same answer has for the intent`() throws {
        for payment in [try payment(.awaitingSignature), try payment(.authorizing)] {
            func after(
                _ status: ProviderStatus, _ collected: [Payment.Collection] = [.init(transfer: nil, object: nil)],
                id: UUID? = nil
            ) throws -> Payment {
                var shown = report(of: payment, status)
                shown.collected = collected
                shown.belvoID = id ?? shown.belvoID
                return try payment.transition(on: .reported(shown))
            }
            #expect(try after(.failed).contradiction != nil)
            #expect(try after(.failed, []).contradiction == nil)
            #expect(try after(.pending).wasSeenSigned)
            #expect(try !after(.pending, []).wasSeenSigned)
            #expect(try after(.succeeded).contradiction == nil)
            #expect(try after(.pending, id: UUID()) == payment)
        }
    }

    @Test func `FAILED after a charge had collected is contradicted, and what is settled by another charge alone`()
        throws
    {
        let payment = try payment(.authorizing)
        let charge = Payment.Collection(transfer: nil, object: UUID())
        func reading(_ payment: Payment, _ status: ProviderStatus, _ collected: [Payment.Collection] = []) throws
            -> Payment
        {
            var shown = report(of: payment, status)
            shown.collected = collected
            return try payment.transition(on: .reported(shown))
        }
        let collected = try reading(payment, .pending, [charge])
        var failed = try reading(collected, .failed)
        #expect(failed.state == .failed && failed.contradiction != nil)
        #expect(try reading(collected, .succeeded).contradiction == nil)

        failed.contradiction = Payment.Contradiction(isSettled: true, wasFailureShown: true)
        let settled = try reading(failed, .failed, [charge])
        #expect(settled.state == .failed && settled.contradiction == nil && !settled.mayBelvoStillPay)
        #expect(try settled.transition(on: .collected(charge)) == settled)
        for further in [failed, settled] {
            let other = Payment.Collection(transfer: nil, object: UUID())
            #expect(try reading(further, .failed, [charge, other]).contradiction?.isSettled == false)
            #expect(try further.transition(on: .collected(other)).contradiction?.isSettled == false)
        }
    }

    @Test func `what Belvo has shown of a payment stays when a later reading leaves it out`() throws {
        let payment = try payment(.authorizing)
        var whole = report(of: payment, .processing)
        whole.facts = Payment.ProviderFacts(
            provider: "bank", consentID: "consent", endToEndID: whole.facts.endToEndID,
            externalPaymentID: "external", providerRequestID: "request")
        var bare = whole
        bare.facts = Payment.ProviderFacts()
        let known = try payment.transition(on: .reported(whole))
        #expect(known.facts == whole.facts)
        #expect(try known.transition(on: .reported(bare)).facts == whole.facts)
    }

    @Test func `a payment goes on to its signature once the options are there`() throws {
        let payment = try payment(.creating)
        let waiting = try payment.transition(on: .reported(report(of: payment, .pending)))
        #expect(waiting.state == .awaitingOptions)
        let ready = try waiting.transition(on: .reported(report(of: payment, .pending, options: [1])))
        #expect(ready.state == .awaitingSignature)
        #expect(ready.fidoOptions == [1])
    }

    @Test func `a signature that never left can be sent again, and leaves nothing behind`() throws {
        let sent = try payment(.awaitingSignature).transition(on: .authorizationSent(digest: [7]))
        #expect(sent.wasAuthorizeSent)
        let back = try sent.transition(on: .authorizationKeptBack(sentBefore: false))
        #expect(back.state == .awaitingSignature)
        #expect(back.assertionDigest == nil)
        #expect(!back.isMaybeSigned)
        let again = try sent.transition(on: .authorizationKeptBack(sentBefore: true))
        #expect(again.isMaybeSigned)
    }

    @Test func `a signature that an answer says was not let in may have arrived all the same`() throws {
        let sent = try payment(.awaitingSignature).transition(on: .authorizationSent(digest: [7]))
        let back = try sent.transition(on: .authorizationNotLetIn)
        #expect(back.state == .awaitingSignature)
        #expect(back.wasAuthorizeSent)
        #expect(throws: TransitionRefused.self) { try back.transition(on: .cancelRequested(isFreshlyRead: true)) }
        let pending = try back.transition(on: .reported(report(of: back, .pending)))
        let overdue = try pending.transition(on: .timedOut)
        #expect(overdue.isInDoubt)
        #expect(overdue.mayBelvoStillPay)
        #expect(try back.transition(on: .authorizationSent(digest: [7])).state == .authorizing)
    }

    @Test(
        arguments: [
            (.creating, .creating), (.awaitingOptions, .failed), (.awaitingSignature, .failed), (.authorizing, nil),
            (.succeeded, nil), (.failed, nil),
        ] as [(Payment.State, Payment.State?)])
    func `only what was never sent to be authorized can be given up`(state: Payment.State, end: Payment.State?) throws {
        let payment = try payment(state)
        guard let end else {
            #expect(throws: TransitionRefused.self) {
                try payment.transition(on: .cancelRequested(isFreshlyRead: true))
            }
            return
        }
        let next = try payment.transition(on: .cancelRequested(isFreshlyRead: true))
        #expect(next.state == end)
        #expect(next.isCancelRequested)
        #expect(next.failure == (end == .failed ? .canceled : nil))
    }

    @Test func `what was given up before it was known ends as soon as it is known, unless money may be moving`() throws
    {
        let given = try payment(.creating).transition(on: .cancelRequested(isFreshlyRead: false))
        let known = try given.transition(on: .reported(report(of: given, .pending, options: [1])))
        #expect(known.failure == .canceled)
        #expect(known.belvoID == belvoID)
        #expect(try given.transition(on: .creationLost).failure == .canceled)
        #expect(try given.transition(on: .reported(report(of: given, .failed))).failure?.authority == .belvo)
        #expect(try known.transition(on: .reported(report(of: known, .succeeded))).state == .succeeded)
        let moving = try given.transition(on: .reported(report(of: given, .processing, options: [1])))
        #expect(moving.state == .awaitingSignature)
        #expect(throws: TransitionRefused.self) { try moving.transition(on: .authorizationSent(digest: [7])) }
        // Once signed, always: what Belvo shows later does not take it back.
        let shownUnsigned = try moving.transition(on: .reported(report(of: moving, .pending)))
        #expect(shownUnsigned.status == .pending)
        #expect(try shownUnsigned.transition(on: .timedOut).isInDoubt)
    }

    @Test func `what was given up keeps its reference until Belvo was read and showed it unsigned`() throws {
        let payment = try payment(.awaitingSignature)
        let unread = try payment.transition(on: .cancelRequested(isFreshlyRead: false))
        #expect(unread.mayBelvoStillPay)
        #expect(try !payment.transition(on: .cancelRequested(isFreshlyRead: true)).mayBelvoStillPay)
        #expect(try !unread.transition(on: .reported(report(of: payment, .pending))).mayBelvoStillPay)
        let signed = try unread.transition(on: .reported(report(of: payment, .processing)))
        #expect(signed.state == .failed)
        #expect(try signed.transition(on: .reported(report(of: payment, .pending))).mayBelvoStillPay)
        #expect(try !signed.transition(on: .reported(report(of: payment, .failed))).mayBelvoStillPay)
        #expect(try signed.transition(on: .reported(report(of: payment, .succeeded))).state == .succeeded)
    }

    @Test func `what its user could sign with a token keeps its reference although it was given up`() throws {
        var released = try payment(.awaitingSignature).transition(on: .cancelRequested(isFreshlyRead: true))
        #expect(released.isReleased)
        released.isSignableElsewhere = true
        #expect(released.mayBelvoStillPay)
    }

    @Test(arguments: [ProviderStatus.processing, .unknown])
    func `once Belvo shows it as anything but unsigned, only Belvo ends it`(status: ProviderStatus) throws {
        let payment = try payment(.awaitingSignature)
        let signed = try payment.transition(on: .reported(report(of: payment, status)))
        #expect(try signed.transition(on: .timedOut).status == .pending)
        #expect(throws: TransitionRefused.self) { try signed.transition(on: .cancelRequested(isFreshlyRead: true)) }
        #expect(throws: TransitionRefused.self) { try signed.transition(on: .authorizationSent(digest: [7])) }
    }
}
