import AppLoop
import BelvoSandbox
import Foundation
import HTTP
import JSON
import SoftwareAuthenticator
import Testing

/// `HTTP` has a `URL` of its own.
typealias Address = Foundation.URL

/// A phone with the example app on it, and its user: the authenticator is software, the user's browser goes to
/// the mock bank over HTTP, and what the app tells the user is kept.
actor Handset: Device {
    private let harness: TestHarness
    private let fate: Fate
    private let accountTenure: String
    private var phone: Phone
    private(set) var told: [RetryReason] = []
    private(set) var pagesOpened = 0
    private(set) var fingerprints = 0
    /// The button that the user presses at the bank: `approve` or `refuse`.
    private let decision: String
    /// Whether the bank leads back into the app, which then gets the address.
    private let returnsToApp: Bool

    init(
        _ harness: TestHarness, accountTenure: String, phone: Phone = Phone(), fate: Fate = Fate(),
        decision: String = "approve",
        returnsToApp: Bool = false
    ) {
        self.harness = harness
        self.fate = fate
        self.accountTenure = accountTenure
        self.phone = phone
        self.decision = decision
        self.returnsToApp = returnsToApp
    }

    /// The keys in the phone's hardware, which outlive the app.
    var hardware: Phone { phone }

    func openBank(_ page: Address) async throws -> Address? {
        try fate.step()
        pagesOpened += 1
        let query = try #require(page.absoluteString.firstIndex(of: "?").map { page.absoluteString[$0...] })
        let question = try await get(harness.bank, "/bank/authorize\(query)")
        // Who comes back to a page that was answered finds a notice without a button.
        if let form = question.firstMatch(of: /name="request_uri" value="([^"]+)"/) {
            var fields = FormFields()
            fields.append("request_uri", String(form.output.1))
            fields.append("decision", decision)
            let request = Request(
                .post, "/bank/authorize", headers: ["content-type": "application/x-www-form-urlencoded"],
                body: Array(fields.encoded.utf8))
            let answer = try await harness.bank.send(request, deadline: .seconds(20))
            let address = try #require(answer.headers["location"])
            if returnsToApp {
                try fate.step()
                return Address(string: address)
            }
            let callback = try #require(address.firstRange(of: Browser.path))
            _ = try await get(harness.client, String(address[callback.lowerBound...]))
        }
        try fate.step()
        return nil
    }

    func register(_ options: String) async throws -> String {
        try fate.step()
        fingerprints += 1
        let confirmation = try phone.register(JSONDocument(parsing: Array(options.utf8)).root)
        try fate.step()
        return String(decoding: confirmation, as: UTF8.self)
    }

    func sign(_ options: String) async throws -> String {
        try fate.step()
        fingerprints += 1
        let assertion = try phone.sign(JSONDocument(parsing: Array(options.utf8)).root)
        try fate.step()
        return String(decoding: assertion, as: UTF8.self)
    }

    func riskSignals() async throws -> String {
        String(decoding: phone.riskSignals(accountTenure: accountTenure), as: UTF8.self)
    }

    func tell(_ reason: RetryReason) {
        told.append(reason)
    }

    private func get(_ client: HTTP.Client, _ target: String) async throws -> String {
        let request = Request(.get, Target(stringLiteral: target), headers: ["accept-language": "pt-BR"])
        return String(decoding: try await client.send(request, deadline: .seconds(20)).body, as: UTF8.self)
    }
}
