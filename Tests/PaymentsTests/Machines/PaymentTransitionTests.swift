import FoundationEssentials
import Testing

@testable import Payments

/// The state machine of payments: what may happen in which state, and what it leads to.
@Suite struct PaymentTransitionTests {
    private let belvoID = UUID()

    private func payment(_ state: Payment.State) throws -> Payment {
        var payment = Payment(
            id: Payment.ID(UUID()), origin: state == .observed ? .observed : .own, subject: try UserSubject("ana"),
            enrollment: Enrollment.ID(UUID()),
            parties: Payment.Parties(customer: UUID(), enrollment: UUID(), beneficiaryBankAccount: UUID()),
            amount: Money(centavos: 1990), description: try PaymentDescription("Coffee"),
            statementDescription: try StatementDescription("Coffee"), reference: try Reference("order-1"),
            metadata: nil, belvoIdempotencyKey: UUID(), createdAt: .earliest)
        payment.state = state
        if state != .creating { payment.belvoID = belvoID }
        if state == .authorizing { payment.assertionDigest = [1] }
        if state == .failed { payment.failure = .timedOut }
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
            .authorizationAccepted, .authorizationNotSent, .refused(.notSent), .timedOut, .creationLost,
            .creationUnknown,
            .cancelRequested,
        ] as [Payment.Event])
    func `a payment that somebody else made follows Belvo's word and nothing else`(event: Payment.Event) throws {
        let payment = try payment(.observed)
        #expect(throws: TransitionRefused.self) { try payment.transition(on: event) }
        for status in [ProviderStatus.pending, .processing, .unknown] {
            let open = try payment.transition(on: .reported(report(of: payment, status, options: [1])))
            #expect(open.state == .observed)
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
        #expect(!ended.holdsReference)
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

    @Test func `a success that differs in anything changes nothing`() throws {
        let payment = try payment(.authorizing)
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
            #expect(try payment.transition(on: .reported(report)) == payment, "\(name)")
            #expect(!payment.mayLapse(after: report), "\(name)")
        }
    }

    @Test func `a payment goes on to its signature once the options are there`() throws {
        let payment = try payment(.creating)
        let waiting = try payment.transition(on: .reported(report(of: payment, .pending)))
        #expect(waiting.state == .awaitingOptions)
        let ready = try waiting.transition(on: .reported(report(of: payment, .pending, options: [1])))
        #expect(ready.state == .awaitingSignature)
        #expect(ready.fidoOptions == [1])
    }

    @Test func `a signature that never left can be sent again`() throws {
        let sent = try payment(.awaitingSignature).transition(on: .authorizationSent(digest: [7]))
        let back = try sent.transition(on: .authorizationNotSent)
        #expect(back.state == .awaitingSignature)
        #expect(back.assertionDigest == nil)
    }

    @Test(
        arguments: [
            (.creating, .creating), (.awaitingOptions, .failed), (.awaitingSignature, .failed), (.authorizing, nil),
            (.succeeded, nil), (.failed, nil),
        ] as [(Payment.State, Payment.State?)])
    func `only what was never sent to be authorized can be given up`(state: Payment.State, end: Payment.State?) throws {
        let payment = try payment(state)
        guard let end else {
            #expect(throws: TransitionRefused.self) { try payment.transition(on: .cancelRequested) }
            return
        }
        let next = try payment.transition(on: .cancelRequested)
        #expect(next.state == end)
        #expect(next.isCancelRequested)
        #expect(next.failure == (end == .failed ? .canceled : nil))
    }

    @Test func `what was given up before it was known ends as soon as it is known, unless money may be moving`() throws
    {
        let given = try payment(.creating).transition(on: .cancelRequested)
        let known = try given.transition(on: .reported(report(of: given, .pending, options: [1])))
        #expect(known.failure == .canceled)
        #expect(known.belvoID == belvoID)
        #expect(try given.transition(on: .creationLost).failure == .canceled)
        #expect(try given.transition(on: .reported(report(of: given, .failed))).failure?.authority == .belvo)
        #expect(try known.transition(on: .reported(report(of: known, .succeeded))).state == .succeeded)
        let moving = try given.transition(on: .reported(report(of: given, .processing, options: [1])))
        #expect(moving.state == .awaitingSignature)
        #expect(throws: TransitionRefused.self) { try moving.transition(on: .authorizationSent(digest: [7])) }
        #expect(try moving.transition(on: .reported(report(of: moving, .pending))).failure == .canceled)
        #expect(try moving.transition(on: .timedOut).failure == .canceled)
    }

    @Test func `money that may be moving keeps a payment from lapsing`() throws {
        let payment = try payment(.awaitingSignature)
        #expect(payment.mayLapse(after: report(of: payment, .pending)))
        #expect(payment.mayLapse(after: report(of: payment, .failed)))
        #expect(!payment.mayLapse(after: report(of: payment, .processing)))
        #expect(!payment.mayLapse(after: report(of: payment, .unknown)))
        let signed = try payment.transition(on: .authorizationSent(digest: [7]))
        #expect(!signed.mayLapse(after: report(of: signed, .pending)))
    }
}
