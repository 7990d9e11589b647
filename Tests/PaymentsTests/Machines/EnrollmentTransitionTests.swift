import FoundationEssentials
import Testing

@testable import Payments

/// The state machine of enrollments: what may happen in which state, and what it leads to.
@Suite struct EnrollmentTransitionTests {
    private let belvoID = UUID()

    private func enrollment(_ state: Enrollment.State) throws -> Enrollment {
        var enrollment = Enrollment(
            id: Enrollment.ID(UUID()), origin: state == .foreign ? .foreign : .own, subject: try UserSubject("ana"),
            customer: Customer.ID(UUID()),
            institution: Enrollment.Institution(id: UUID(), displayName: "Bank", iconLogo: nil), platform: .ios,
            name: nil, callbackURL: "https://shop.example/enrollments/callback", metadata: nil, createdAt: .earliest)
        enrollment.state = state
        if state != .creating { enrollment.belvoID = belvoID }
        if state == .failed { enrollment.failure = .timedOut }
        return enrollment
    }

    private func report(_ status: ProviderStatus) -> Enrollment.Report {
        Enrollment.Report(belvoID: belvoID, status: status, providerStatus: "\(status)", reasonCode: "rejected_other")
    }

    /// One line a change: the state, the event, and where it leads; nothing where it is refused.
    @Test(
        arguments: [
            (.creating, .created(belvoID: UUID(), redirectURL: "https://bank.example"), .atBank),
            (.atBank, .redirectReceived, .completing),
            (.completing, .redirectPassedOn, .awaitingOptions),
            (.completing, .redirectNotTaken, .atBank),
            (.awaitingOptions, .redirectReceived, .completing),
            (.awaitingOptions, .optionsArrived([1]), .awaitingFingerprint),
            (.atBank, .optionsArrived([1]), .awaitingFingerprint),
            (.awaitingFingerprint, .confirmationSent(digest: [7]), .confirming),
            (.confirming, .confirmationNotSent, .awaitingFingerprint),
            (.confirming, .confirmationAccepted, .confirming),
            (.confirming, .confirmationUnknown, .confirming),
            (.awaitingFingerprint, .confirmationUnknown, nil),
            (.creating, .creationLost, .failed),
            (.atBank, .timedOut, .failed),
            (.awaitingFingerprint, .redirectReceived, nil),
            (.confirming, .redirectReceived, nil),
            (.succeeded, .redirectReceived, nil),
            (.succeeded, .timedOut, nil),
            (.atBank, .confirmationSent(digest: [7]), nil),
            (.atBank, .creationLost, nil),
            (.foreign, .redirectReceived, nil),
            (.foreign, .redirectPassedOn, nil),
            (.foreign, .optionsArrived([1]), nil),
            (.foreign, .confirmationSent(digest: [7]), nil),
            (.foreign, .timedOut, nil),
        ] as [(Enrollment.State, Enrollment.Event, Enrollment.State?)])
    func `each change leads where the table says`(
        state: Enrollment.State, event: Enrollment.Event, end: Enrollment.State?
    ) throws {
        let enrollment = try enrollment(state)
        if let end {
            #expect(try enrollment.transition(on: event).state == end)
        } else {
            #expect(throws: TransitionRefused.self) { try enrollment.transition(on: event) }
        }
    }

    @Test func `what Belvo says of a twin moves nothing`() throws {
        for state in Enrollment.State.allCases where state != .creating {
            let known = try enrollment(state)
            var twin = report(.failed)
            twin.belvoID = UUID()
            #expect(try known.transition(on: .reported(twin)) == known)
        }
    }

    @Test func `a late redirect revives an enrollment that ended by time, with nothing left of its first life`() throws
    {
        var ended = try enrollment(.failed)
        ended.confirmationDigest = [7]
        ended.isConfirmationAccepted = true
        ended.registrationOptions = [1]
        let revived = try ended.transition(on: .redirectReceived)
        #expect(revived.state == .completing)
        #expect(revived.failure == nil)
        #expect(revived.confirmationDigest == nil)
        #expect(!revived.isConfirmationAccepted)
        #expect(revived.registrationOptions == nil)
    }

    @Test func `a redirect does not revive what was refused`() throws {
        var refused = try enrollment(.failed)
        refused.failure = Failure(code: "refused", authority: .merchant)
        #expect(throws: TransitionRefused.self) { try refused.transition(on: .redirectReceived) }
    }

    @Test(arguments: Enrollment.State.allCases)
    func `Belvo's success is taken in every state but Belvo's own failure`(state: Enrollment.State) throws {
        #expect(try enrollment(state).transition(on: .reported(report(.succeeded))).state == .succeeded)
        var failed = try enrollment(.failed)
        failed.failure = Failure(code: "rejected_other", authority: .belvo)
        #expect(try failed.transition(on: .reported(report(.succeeded))).state == .failed)
    }

    @Test func `a bank can revoke an enrollment that had succeeded`() throws {
        let revoked = try enrollment(.succeeded).transition(on: .reported(report(.failed)))
        #expect(revoked.failure == Failure(code: "rejected_other", authority: .belvo))
    }

    @Test(arguments: [ProviderStatus.pending, .processing, .unknown])
    func `a word that decides nothing leaves the state`(status: ProviderStatus) throws {
        let waiting = try enrollment(.confirming)
        #expect(try waiting.transition(on: .reported(report(status))).state == .confirming)
    }
}
