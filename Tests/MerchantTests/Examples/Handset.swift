import BelvoSandbox
import Foundation
import HTTP
import JSON
import SoftwareAuthenticator
import Testing

@testable import ExamplePix

/// `HTTP` has a `URL` of its own.
typealias Address = Foundation.URL

/// A phone with the example app on it, and its user: the authenticator is software, the user's browser goes to
/// the mock bank over HTTP, and what the app shows the user is kept.
@MainActor final class Handset: Device {
    private let harness: TestHarness
    private let fate: Fate
    /// The button that the user presses at the bank: `approve` or `refuse`.
    private let decision: String
    /// Whether the user is still at the bank when its page has been opened.
    private let takesTime: Bool
    /// The keys in the phone's hardware, which outlive the app.
    private(set) var hardware: Phone
    /// The status of each record that was shown.
    private(set) var shown: [String] = []
    private(set) var pagesOpened = 0
    private var openedPage: Address?
    /// Takes the address that the bank leads back to, where the app opens in place of the server's page.
    var takeLink: (@MainActor (Address) async throws -> Void)?
    private(set) var fingerprints = 0

    init(
        _ harness: TestHarness, hardware: Phone = Phone(), fate: Fate = Fate(), decision: String = "approve",
        takesTime: Bool = false
    ) {
        self.harness = harness
        self.hardware = hardware
        self.fate = fate
        self.decision = decision
        self.takesTime = takesTime
    }

    func openBank(_ page: Address) async throws {
        try fate.step()
        pagesOpened += 1
        openedPage = page
        if !takesTime { try await decide() }
        try fate.step()
    }

    /// The user presses the button at the bank, and is led back.
    func decide() async throws {
        let page = try #require(openedPage)
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
            if let takeLink { return try await takeLink(#require(Address(string: address))) }
            let callback = try #require(address.firstRange(of: Browser.path))
            _ = try await get(harness.client, String(address[callback.lowerBound...]))
        }
    }

    func register(_ options: [String: Any]) async throws -> [String: Any] {
        try fate.step()
        fingerprints += 1
        let confirmation = try hardware.register(JSONDocument(parsing: Array(options.data)).root)
        try fate.step()
        return try Dictionary(Data(confirmation))
    }

    func sign(_ options: [String: Any]) async throws -> [String: Any] {
        try fate.step()
        fingerprints += 1
        let assertion = try hardware.sign(JSONDocument(parsing: Array(options.data)).root)
        try fate.step()
        return try Dictionary(Data(assertion))
    }

    func riskSignals(_ accountTenure: String) async throws -> [String: Any] {
        try Dictionary(Data(hardware.riskSignals(accountTenure: accountTenure)))
    }

    func show(_ record: [String: Any]) {
        shown.append(record.text("status"))
    }

    private func get(_ client: HTTP.Client, _ target: String) async throws -> String {
        let request = Request(.get, Target(stringLiteral: target), headers: ["accept-language": "pt-BR"])
        return String(decoding: try await client.send(request, deadline: .seconds(20)).body, as: UTF8.self)
    }
}
