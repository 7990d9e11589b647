import Belvo
import FoundationEssentials
import HTTP
import JSON
import MerchantAPI
import Payments
import Transport

/// The means of a probe: a person, an enrollment, and what it may do twice.
package struct ProbeMeans: Sendable {
    /// The person whose customer is made at Belvo: one who agreed, and who is no customer of the shop's.
    package var person: (name: String, identifier: String)?
    /// An enrollment that has succeeded, by Belvo's id, and its customer.
    package var enrollment: Enrollment?
    /// Whether a second customer with the same tax number may be made, to see what Belvo says.
    package var repeatsCustomer = false
    /// Whether what the person has done may be sent once more at the end, to see what Belvo says.
    package var repeatsSteps = false

    /// An enrollment and its customer, as Belvo names them.
    package struct Enrollment: Sendable {
        let id: UUID
        let customer: UUID

        /// Nothing where either is no UUID.
        package init?(_ id: String, of customer: String) {
            guard let id = UUID(uuidString: id), let customer = UUID(uuidString: customer) else { return nil }
            self.id = id
            self.customer = customer
        }
    }

    package init() {}
}

/// Goes through one payment of R$ 0.01 at Belvo as far as possible without a phone, and finds out what Belvo's
/// documents leave open.
///
/// Nothing is paid: intents are made and never signed, and what is handed to authorize is no signature at all. What a
/// person pays through the shop's page is another thing: see `ProbeObserver`.
struct Probe: Sendable {
    static let amountCentavos: Int64 = 1

    let recorder: ProbeRecorder
    let configuration: Belvo.Configuration
    let means: ProbeMeans
    let callbackURL: String
    let beneficiary: UUID

    func run() async -> ProbeReport {
        var report = await askWithoutPhone()
        report.notTried.append(
            means.person == nil
                ? "an enrollment: it needs --name and --identifier of a person who agreed"
                : "the bank, the fingerprint and a signature: they need --through-shop and a person with a phone")
        if means.enrollment == nil {
            report.notTried.append(
                "a payment intent: it needs --enrollment and --customer, Belvo's ids of an enrollment that succeeded")
        }
        conclude(&report)
        return report
    }

    /// The questions that need no fingerprint.
    func askWithoutPhone() async -> ProbeReport {
        var report = ProbeReport(dialect: configuration.dialect)
        await askForToken(&report)
        let bank = await askForBanks(&report)
        if let customer = await askForCustomer(&report), let bank { await enroll(customer, at: bank, &report) }
        if let enrollment = means.enrollment, let opened = await openIntent(with: enrollment, &report) {
            await askForIdempotency(opened, &report)
        }
        return report
    }

    /// Puts what the recorder has kept into the report.
    func conclude(_ report: inout ProbeReport) {
        report.exchanges = recorder.exchanges
        report.rateFields = recorder.rateFields
        report.facts[.rateLimit] =
            report.rateFields.isEmpty
            ? nil : "fields seen: \(report.rateFields.sorted().joined(separator: ", "))"
    }

    func client(_ dialect: Dialect) -> Belvo.Client {
        var configuration = configuration
        configuration.dialect = dialect
        return Belvo.Client(carry: recorder.carry, configuration: configuration)
    }

    /// Tries readings in order until Belvo takes one. Gives the reading and the answer, or why none was taken.
    private func settle<Choice: RawRepresentable & Equatable, Answer>(
        _ name: String, _ path: WritableKeyPath<Dialect, Choice>, _ choices: [Choice], _ report: inout ProbeReport,
        unless isOfAnother: (BelvoError) -> Bool = { _ in false },
        _ ask: (Belvo.Client) async throws(BelvoError) -> Answer
    ) async -> Answer? where Choice.RawValue == String {
        let preferred = report.dialect[keyPath: path]
        var refusals: [String] = []
        for choice in [preferred] + choices.filter({ $0 != preferred }) {
            var dialect = report.dialect
            dialect[keyPath: path] = choice
            do throws(BelvoError) {
                let answer = try await ask(client(dialect))
                report.dialect = dialect
                let before = refusals.isEmpty ? "" : ", after \(refusals.joined(separator: ", "))"
                report.reasons[name] = "\(choice.rawValue) was taken\(before)"
                return answer
            } catch {
                noteUnreadable(error)
                refusals.append("\(choice.rawValue) got \(recorder.last.status.map(String.init) ?? "no answer")")
                guard error.isOfTheContent, !isOfAnother(error) else { break }
            }
        }
        report.reasons[name] = "not decided: \(refusals.joined(separator: ", "))"
        return nil
    }
}

// The steps.
extension Probe {
    private func askForToken(_ report: inout ProbeReport) async {
        let token = await settle(
            "widget_token_body", \.widgetTokenBody, Dialect.WidgetTokenBody.allCases, &report
        ) { client throws(BelvoError) in try await client.mintWidgetToken() }
        guard token != nil, let body = try? JSONDocument(parsing: recorder.last.body).root else { return }
        let life = { (name: String) in body[name]?.string.flatMap(TokenLife.init) }
        var parts = ["body: \(report.dialect.widgetTokenBody.rawValue)"]
        if let access = life("access") { parts.append("access lives \(access.text)") }
        if let refresh = life("refresh") { parts.append("refresh lives \(refresh.text)") }
        if let scopes = life("access")?.scopes, !scopes.isEmpty {
            parts.append("scopes \(scopes.joined(separator: " "))")
        }
        report.facts[.widgetToken] = parts.joined(separator: "; ") + "; the refresh path stays unknown"
    }

    /// A bank to enroll at.
    private func askForBanks(_ report: inout ProbeReport) async -> Belvo.Institution? {
        do throws(BelvoError) {
            let banks = try await client(report.dialect).listInstitutions()
            if banks.unreadable > 0 { recorder.noteUnreadable("\(banks.unreadable) institutions") }
            let offers = banks.institutions.compactMap(\.biometricPix)
            let words = Set(offers.map { "\($0.status) \($0.phase ?? "without a phase")" })
            if !words.isEmpty { report.facts[.methodWords] = "seen: \(words.sorted().joined(separator: ", "))" }
            return banks.institutions.first { $0.offersBiometricPix }
        } catch {
            note(error, &report, "the list of banks")
            return nil
        }
    }

    private func askForCustomer(_ report: inout ProbeReport) async -> Belvo.Customer? {
        guard let person = means.person else { return nil }
        let wanted = NewCustomer(
            externalID: "probe-\(UUID().uuidString.lowercased())", identifier: person.identifier, name: person.name)
        let customer = await settle(
            "customer_version", \.customerVersion, Dialect.CustomerVersion.allCases, &report
        ) { client throws(BelvoError) in try await client.createCustomer(wanted) }
        guard let customer else { return nil }
        _ = try? await client(report.dialect).readCustomer(customer.id)
        _ = try? await client(report.dialect).findCustomers(externalID: wanted.externalID)
        if means.repeatsCustomer {
            var again = wanted
            again.externalID += "-again"
            let second = try? await client(report.dialect).createCustomer(again)
            let same = second.map { $0.id == customer.id ? "the same customer" : "another customer" }
            report.facts[.duplicateCustomers] =
                "\(recorder.last.status.map(String.init) ?? "no answer")\(same.map { ", \($0)" } ?? "")"
        }
        return customer
    }

    private func enroll(_ customer: Belvo.Customer, at bank: Belvo.Institution, _ report: inout ProbeReport) async {
        let device = "probe-\(UUID().uuidString.lowercased())"
        guard let signals = try? RawJSON(parsing: RiskSignalsOfNobody.json(device, since: customer.createdAt)) else {
            return
        }
        let client = client(report.dialect)
        do throws(BelvoError) {
            let enrollment = try await client.createEnrollment(
                NewEnrollment(
                    externalID: device, customer: customer.id, institution: bank.id, name: "Probe", platform: .ios,
                    callbackURL: callbackURL, riskSignals: signals))
            _ = try await client.readEnrollment(enrollment.id)
            do throws(BelvoError) {
                _ = try await client.readRegistrationOptions(of: enrollment.id)
            } catch {
                note(error, &report, "the options before they are there")
            }
            report.facts[.optionsBeforeReady] = recorder.lastExchange?.summary
            let listed = try? await client.listEnrollments(deviceID: device)
            let ids = listed?.map(\.id) ?? []
            report.facts[.deviceFilter] =
                ids == [enrollment.id]
                ? "heeded" : "\(recorder.last.status.map(String.init) ?? "no answer") with \(ids.count) enrollments"
        } catch {
            note(error, &report, "an enrollment")
        }
    }

    /// An intent of the probe's own, and what it was asked for with.
    struct OpenedIntent: Sendable {
        let wanted: NewPaymentIntent
        let made: Belvo.PaymentIntent
    }

    /// Opens an intent of R$ 0.01 that is never signed, and learns from it how Belvo wants intents and signatures.
    func openIntent(
        with enrollment: ProbeMeans.Enrollment, _ report: inout ProbeReport
    ) async -> OpenedIntent? {
        if let known = try? await client(report.dialect).readEnrollment(Belvo.Enrollment.ID(enrollment.id)) {
            report.facts[.enrollmentEnd] = known.details.expiresAt.map { "expires_at is \($0)" } ?? "expires_at is null"
        }
        let wanted = intent(with: enrollment)
        // Which of the two switches a refusal is about is said by its `field`.
        let isOfTheCustomer: (BelvoError) -> Bool = { $0.names("customer") && !$0.names("amount") }
        var made = await settle(
            "amount", \.amount, Dialect.AmountSpelling.allCases, &report, unless: isOfTheCustomer
        ) { client throws(BelvoError) in try await client.createPaymentIntent(wanted) }
        if made == nil {
            made = await settle(
                "intent_customer", \.intentCustomer, Dialect.IntentCustomer.allCases, &report
            ) { client throws(BelvoError) in try await client.createPaymentIntent(wanted) }
            if made != nil { report.reasons["amount"] = "\(report.dialect.amount.rawValue) was taken" }
        } else {
            report.reasons["intent_customer"] = "\(report.dialect.intentCustomer.rawValue) was taken"
        }
        guard let made else { return nil }
        let client = client(report.dialect)
        do throws(BelvoError) {
            _ = try await client.readPaymentIntent(made.id)
        } catch {
            noteUnreadable(error)
        }
        _ = try? await client.findPaymentIntents(externalID: wanted.externalID)
        await askForPlatform(made, &report)
        return OpenedIntent(wanted: wanted, made: made)
    }

    private func intent(with enrollment: ProbeMeans.Enrollment) -> NewPaymentIntent {
        NewPaymentIntent(
            externalID: "probe-\(UUID().uuidString.lowercased())", idempotencyKey: UUID(),
            amountCentavos: Self.amountCentavos, customer: Belvo.Customer.ID(enrollment.customer),
            enrollment: Belvo.Enrollment.ID(enrollment.id), beneficiaryBankAccount: Belvo.BankAccount.ID(beneficiary),
            purpose: "Probe", statementDescription: "Probe")
    }

    /// Asks for the same intent again, for another one under its key, and for one beside it.
    func askForIdempotency(_ opened: OpenedIntent, _ report: inout ProbeReport) async {
        let (wanted, made) = (opened.wanted, opened.made)
        let client = client(report.dialect)
        let again = try? await client.createPaymentIntent(wanted)
        let same = again.map { $0.id == made.id ? "the same intent" : "another intent" } ?? status
        var other = wanted
        other.purpose = "Another probe"
        let changed = try? await client.createPaymentIntent(other)
        let different = changed.map { $0.id == made.id ? "the first intent" : "another intent" } ?? status
        report.facts[.idempotency] =
            "the same key and body get \(same), the same key with another body gets \(different); how long keys are "
            + "kept, and other calls, stay unknown"
        var second = wanted
        second.externalID += "-beside"
        second.idempotencyKey = UUID()
        let beside = try? await client.createPaymentIntent(second)
        report.facts[.openIntents] =
            beside == nil ? "a second open intent gets \(status)" : "a second intent was opened beside the first"
    }

    /// Sends authorize what is no signature, and learns from the refusal whether `platform` belongs there.
    private func askForPlatform(_ intent: Belvo.PaymentIntent, _ report: inout ProbeReport) async {
        guard let signals = try? RawJSON(parsing: RiskSignalsOfNobody.json("probe", since: nil)),
            let assertion = try? RawJSON(parsing: Array("{}".utf8))
        else { return }
        let handed = Authorization(riskSignals: signals, assertion: assertion, platform: .ios)
        var seen: [String] = []
        let present = report.dialect.authorizePlatform
        for choice in [present] + Dialect.AuthorizePlatform.allCases.filter({ $0 != present }) {
            var dialect = report.dialect
            dialect.authorizePlatform = choice
            do throws(BelvoError) {
                try await client(dialect).authorizePaymentIntent(intent.id, handed)
                seen.append("\(choice.rawValue) got \(status), without a complaint")
            } catch {
                seen.append("\(choice.rawValue) got \(status)\(error.names("platform") ? " about platform" : "")")
                // The firewall refuses what does not fit the schema, with a page that names nothing.
                guard !error.names("platform"), error.isRefusalOfContent, error.namesSomething else { continue }
            }
            report.dialect.authorizePlatform = choice
            report.reasons["authorize_platform"] =
                "\(choice.rawValue) raises no complaint: \(seen.joined(separator: ", "))"
            report.facts[.authorizePlatform] = seen.joined(separator: ", ")
            return
        }
        report.reasons["authorize_platform"] = "not decided: \(seen.joined(separator: ", "))"
    }

    var status: String { recorder.last.status.map(String.init) ?? "no answer" }

    /// Keeps that the client could not read the last answer, where that is the error.
    func noteUnreadable(_ error: BelvoError) {
        if case .malformedAnswer(let reason, _) = error { recorder.noteUnreadable(reason) }
        if case .outcomeUnknown(.malformedAnswer(let reason)) = error { recorder.noteUnreadable(reason) }
    }

    func note(_ error: BelvoError, _ report: inout ProbeReport, _ step: String) {
        noteUnreadable(error)
        report.notTried.append("what follows \(step), which got \(status)")
    }
}

/// For how long a token is good, by its own claims.
private struct TokenLife {
    let seconds: Int64
    let scopes: [String]

    init?(_ token: String) {
        let parts = token.split(separator: ".")
        guard parts.count == 3 else { return nil }
        var text = parts[1].replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let bytes = Data(base64Encoded: String(text)),
            let claims = try? JSONDocument(parsing: Array(bytes)).root,
            let begin = claims["iat"]?.int64, let end = claims["exp"]?.int64
        else { return nil }
        seconds = end - begin
        scopes = claims["scopes"]?.elements.compactMap(\.string) ?? []
    }

    var text: String { "\(seconds) s" }
}

/// Risk signals in the form that phones send, of no phone.
private enum RiskSignalsOfNobody {
    static func json(_ device: String, since day: String?) -> [UInt8] {
        JSONWriter.object {
            $0.member("deviceId", device)
            $0.member("osVersion", "18.6")
            $0.member("userTimeZoneOffset", "-03:00")
            $0.member("language", "pt")
            $0.member("screenBrightness", 64)
            $0.member("elapsedTimeSinceBoot", Int64(266_400_000))
            $0.memberObject("screenDimensions") {
                $0.member("height", 2556)
                $0.member("width", 1179)
            }
            $0.member("accountTenure", day.map { String($0.prefix(10)) } ?? "2026-01-01")
            $0.member("isRootedDevice", false)
            $0.member("isCallInProgress", false)
            $0.member("isDevModeEnabled", false)
            $0.member("isMockGPS", false)
            $0.member("isEmulated", false)
            $0.member("isMonkeyRunner", false)
            $0.member("isCharging", true)
            $0.member("isUsbConnected", false)
        }
    }
}
