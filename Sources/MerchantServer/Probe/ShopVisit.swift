import Belvo
import FoundationEssentials
import HTTP
import JSON
import Logging
import MerchantModel
import Payments
import Transport

/// A person's visit to the shop's page, as a probe waits for it.
package final class ShopVisit: Sendable {
    /// How long the person may take.
    let limit: Duration
    /// How long the server goes on once the payment has come to its end: for webhooks, and for the page.
    let linger: Duration
    let onOpen: @Sendable (MerchantServer, MerchantServer.Addresses) -> Void
    let onPaid: @Sendable () -> Void
    let payments: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    /// - Parameter onOpen: called when the server listens.
    /// - Parameter onPaid: called when the payment has come to its end.
    package init(
        limit: Duration, linger: Duration,
        onOpen: @escaping @Sendable (MerchantServer, MerchantServer.Addresses) -> Void,
        onPaid: @escaping @Sendable () -> Void = {}
    ) {
        self.limit = limit
        self.linger = linger
        self.onOpen = onOpen
        self.onPaid = onPaid
        (payments, continuation) = AsyncStream.makeStream()
    }

    /// Ends the visit, whatever has come of it.
    package func end() { continuation.finish() }

    func notePaid() { continuation.yield() }

    /// Returns when the visit is over.
    func wait(on loop: EventLoop) async {
        var timers = [timer(limit, on: loop)]
        defer { for timer in timers { timer.cancel() } }
        for await _ in payments {
            onPaid()
            timers.append(timer(linger, on: loop))
        }
    }

    private func timer(_ span: Duration, on loop: EventLoop) -> Task<Void, any Error> {
        loop.task { [self] in
            try await loop.sleep(for: span)
            end()
        }
    }
}

extension Operators {
    /// Goes through a payment of R$ 0.01 at Belvo with the settings' keys, as far as the means allow. Belvo keeps what
    /// is made: a customer, an enrollment and intents that are never signed.
    package func probe(_ means: ProbeMeans) async throws -> ProbeReport {
        try await probe(with: means).run()
    }

    /// The same with a person: runs the server in `merchant serve`'s place, with no payment above R$ 0.01, until one
    /// was paid through the shop's page, and asks what can be asked then.
    ///
    /// Used from a task on an event loop.
    package func probe(_ means: ProbeMeans, throughShop visit: ShopVisit, log: Logger) async throws -> ProbeReport {
        try await probe(means, throughShop: visit, log: log, clock: .machine, work: .byItself)
    }

    func probe(
        _ means: ProbeMeans, throughShop visit: ShopVisit, log: Logger, clock: IntervalClock,
        work: MerchantServer.WorkMode
    ) async throws -> ProbeReport {
        guard let loop = EventLoop.current else { preconditionFailure("a server is run from an event loop") }
        let probe = try probe(with: means)
        let observer = ProbeObserver(probe, knowing: await probe.askWithoutPhone(), visit: visit)
        var settings = settings
        settings.paymentMaxAmount = Money(centavos: Probe.amountCentavos)
        let server = try MerchantServer(
            settings: settings, loops: [loop], log: log, clock: clock, observer: observer.asBelvoObserver)
        visit.onOpen(server, try await server.start(work: work))
        await visit.wait(on: loop)
        await server.stop()
        return await probe.ask(after: observer)
    }

    private func probe(with means: ProbeMeans) throws -> Probe {
        let origin = settings.belvoBaseURL.origin
        let tls = origin.scheme == .https ? try TLSContext.client(extraAuthorities: settings.belvoCAFile) : nil
        let client = HTTP.Client(origin: origin, tls: tls)
        var configuration = Belvo.Configuration(origin: origin, credentials: settings.belvoCredentials)
        configuration.timeout = settings.timeouts.callDeadline
        configuration.dialect = settings.belvoDialect
        return Probe(
            recorder: ProbeRecorder { try await client.send($0, deadline: $1) }, configuration: configuration,
            means: means, callbackURL: settings.callbackURLs[0], beneficiary: settings.beneficiaryBankAccount)
    }
}

// What is asked because of a person, beside what the person's own calls show.
extension Probe {
    /// The enrollment that a request for an intent is to be paid from.
    func readEnrollment(in request: Request, _ dialect: Dialect) async -> ProbeMeans.Enrollment? {
        let details = (try? JSONDocument(parsing: request.body))?.root["payment_method_details"]
        guard let id = details?["open_finance_biometric_pix"]?["enrollment"]?.string.flatMap(Belvo.Enrollment.ID.init),
            let customer = (try? await client(dialect).readEnrollment(id))?.details.customer
        else { return nil }
        return ProbeMeans.Enrollment(id.description, of: customer.description)
    }

    /// Asks what is left when the person has gone.
    func ask(after observer: ProbeObserver) async -> ProbeReport {
        var report = observer.report
        report.wasPaid = observer.paid != nil
        if let paid = observer.paid {
            await readMovements(of: paid, &report)
        } else {
            report.notTried.append("what follows a payment: nobody has paid through the shop's page")
        }
        if let opened = observer.opened { await askForIdempotency(opened, &report) }
        await repeatSteps(observer.steps, &report)
        conclude(&report)
        return report
    }

    /// Reads what the money has left behind: the intent, its charges and their transactions.
    private func readMovements(of intent: UUID, _ report: inout ProbeReport) async {
        let client = client(report.dialect)
        do throws(BelvoError) {
            let read = try await client.readPaymentIntent(Belvo.PaymentIntent.ID(intent))
            let charges = (try? JSONDocument(parsing: recorder.last.body))?.root["charges"]
            if let name = read.externalID { _ = try? await client.findPaymentIntents(externalID: name) }
            for listed in charges?.elements.map({ $0 }) ?? [] {
                if let id = Self.id(of: listed).flatMap(Belvo.Charge.ID.init) {
                    let charge = try await client.readCharge(id)
                    if let moment = charge.createdAt {
                        _ = try await client.listCharges(createdFrom: moment, to: moment)
                    }
                }
                for transaction in listed["transactions"]?.elements.map({ $0 }) ?? [] {
                    guard let id = Self.id(of: transaction).flatMap(Belvo.Transaction.ID.init) else { continue }
                    _ = try await client.readTransaction(id)
                }
            }
        } catch {
            note(error, &report, "a payment")
        }
    }

    /// Belvo shows an object by its id alone, or whole.
    private static func id(of value: JSONValue) -> String? { value.string ?? value["id"]?.string }

    /// Sends what the person has done once more, if that is allowed.
    private func repeatSteps(_ steps: [(call: Call, request: Request)], _ report: inout ProbeReport) async {
        var seen: [String] = []
        for step in steps {
            _ = try? await recorder.carry(step.call, step.request, configuration.timeout)
            seen.append("\(step.call.rawValue) gets \(status)")
        }
        if !seen.isEmpty { report.facts[.repetitions] = seen.joined(separator: ", ") }
    }
}
