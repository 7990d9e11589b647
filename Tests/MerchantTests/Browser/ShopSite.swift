import BelvoSandbox
import HTTP
import JSON
import TestSupport
import Testing
import Transport

/// A shop's page in a real browser, which enrolls the browser itself and pays with it: served from an origin of its
/// own, and for a relying party that a page on this machine may act for.
struct ShopSite: Sendable {
    let harness: TestHarness
    let tab: Tab

    /// How the page speaks to the authenticator.
    enum Dialect: String, Sendable, CaseIterable {
        /// By what browsers have of their own: `parseCreationOptionsFromJSON` and `toJSON()`.
        case native
        /// Member by member as Belvo's web SDK does it (belvo-api.md §14).
        case sdk
    }

    /// The authenticator that is built into the browser's machine.
    struct Authenticator: Sendable {
        var keepsKeys = true
    }

    /// Plays the body with the page opened.
    static func open(
        _ dialect: Dialect, _ authenticator: Authenticator = Authenticator(), variants: Variants = Variants(),
        _ body: @escaping @Sendable (ShopSite) async throws -> Void
    ) async throws {
        let listener = try Listener(at: try #require(SocketAddress(numericHost: "127.0.0.1", port: 0)))
        let origin = "http://localhost:\(listener.address.port)"
        var sandbox = SandboxConfiguration.test()
        sandbox.relyingParty = "localhost"
        sandbox.origins = [origin]
        sandbox.variants = variants
        let environment = ["CORS_ORIGINS": origin, "WEB_RETURN_URL": "\(origin)/?from=bank"]
        try await TestHarness.open(environment: environment, sandbox: sandbox) { harness in
            let token = try #require(try await harness.app(of: "ana").token)
            let page = page(dialect, api: harness.origin, token: token)
            let site = HTTP.Server(
                configuration: .prompt, refusal: { Response($0.status) },
                handler: { _, _ in
                    .response(Response(.ok, headers: ["content-type": "text/html; charset=utf-8"], body: page))
                })
            try await site.listen(to: listener, on: [harness.loop])
            let result: Result<Void, any Error>
            do {
                try await Chromium.open { chromium in
                    let tab = try await Tab(chromium)
                    try await tab.plug(in: authenticator)
                    try await tab.open("\(origin)/")
                    try await body(ShopSite(harness: harness, tab: tab))
                }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            await site.drain(loops: [harness.loop], within: .seconds(1))
            try result.get()
        }
    }

    /// A text that a step of the page gives. Throws what the page says against it.
    func text(_ step: String) async throws -> String { try await tab.text(step) }

    private static func page(_ dialect: Dialect, api: String, token: String) -> [UInt8] {
        let html = """
            <!DOCTYPE html>
            <meta charset="utf-8">
            <title>The shop</title>
            <link rel="icon" href="data:,">
            <script>
            const api = "\(api)", token = "\(token)";
            \(steps)
            \(dialect == .native ? native : sdk)
            </script>
            """
        return Array(html.utf8)
    }

    /// The page's calls of the merchant's API, without those of the authenticator.
    private static let steps = #"""
        const call = async (method, path, body) => {
          const headers = {authorization: "Bearer " + token, "idempotency-key": "tap"};
          if (body) headers["content-type"] = "application/json";
          const answer = await fetch(api + path, {method, headers, body: body && JSON.stringify(body)});
          const text = await answer.text();
          if (!answer.ok) throw new Error(answer.status + " " + text);
          return {status: answer.status, body: text ? JSON.parse(text) : null};
        };
        let tenure, signed;
        // What Belvo's web SDK collects, with the id that its getDevice() gives merged in.
        const signals = () => ({
          osVersion: "Linux undefined", userTimeZoneOffset: "+05.5", language: navigator.language.substring(0, 2),
          screenDimensions: {height: screen.height, width: screen.width}, accountTenure: tenure, deviceId: "visitor-1",
        });
        const enroll = async bank => {
          const person = {name: "Ana Souza", identifier: "529.982.247-25"};
          tenure = (await call("PUT", "/v1/customer", person)).body.account_tenure;
          const wish = {institution: bank, platform: "BROWSER", risk_signals: signals()};
          return (await call("POST", "/v1/enrollments", wish)).body;
        };
        const register = async id => {
          const options = (await call("GET", `/v1/enrollments/${id}/fido-registration-options`)).body;
          const made = await create(options);
          const answer = await call("POST", `/v1/enrollments/${id}/confirm`, {confirmation_data: made.json});
          return {status: answer.status, algorithm: made.algorithm, sent: JSON.parse(JSON.stringify(made.json))};
        };
        const pay = async id => {
          tenure = (await call("GET", "/v1/customer")).body.account_tenure;
          const wish = {enrollment: id, reference: "order-1", amount: "19.90", description: "Two coffees"};
          const intent = (await call("POST", "/v1/payment-intents", wish)).body;
          const assertion = await get(intent.next_action.fido_options);
          const body = {risk_signals: signals(), assertion};
          const answer = await call("POST", `/v1/payment-intents/${intent.id}/authorize`, body);
          return {status: answer.status, intent, sent: JSON.parse(JSON.stringify(assertion))};
        };
        """#

    private static let native = #"""
        const create = async options => {
          const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
          const made = await navigator.credentials.create({publicKey});
          return {json: made.toJSON(), algorithm: made.response.getPublicKeyAlgorithm()};
        };
        const get = async options => {
          const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
          return (await navigator.credentials.get({publicKey})).toJSON();
        };
        """#

    private static let sdk = #"""
        const bytes = text => {
          const padded = text.replace(/-/g, "+").replace(/_/g, "/") + "==".slice(0, (4 - text.length % 4) % 4);
          return Uint8Array.from(atob(padded), letter => letter.charCodeAt(0));
        };
        const text = buffer => btoa(String.fromCharCode(...new Uint8Array(buffer)))
          .replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
        const some = (value, names) =>
          Object.fromEntries(names.filter(name => name in value).map(name => [name, value[name]]));
        const envelope = (made, response) => ({
          type: made.type, id: made.id, rawId: text(made.rawId), authenticatorAttachment: made.authenticatorAttachment,
          clientExtensionResults: some(made.getClientExtensionResults(), ["appid", "appidExclude", "credProps"]),
          response,
        });
        const create = async options => {
          const publicKey = {
            rp: options.rp, user: {...options.user, id: bytes(options.user.id)}, challenge: bytes(options.challenge),
            pubKeyCredParams: options.pubKeyCredParams,
            authenticatorSelection: {
              authenticatorAttachment: "platform", residentKey: "discouraged", requireResidentKey: false,
              userVerification: "required",
            },
            ...some(options, ["timeout", "attestation", "extensions"]),
          };
          const made = await navigator.credentials.create({publicKey});
          const json = envelope(made, {
            clientDataJSON: text(made.response.clientDataJSON),
            attestationObject: text(made.response.attestationObject), transports: made.response.getTransports(),
          });
          return {json, algorithm: made.response.getPublicKeyAlgorithm()};
        };
        const get = async options => {
          const publicKey = {
            challenge: bytes(options.challenge), userVerification: "required",
            allowCredentials: options.allowCredentials.map(one => ({...one, id: bytes(one.id)})),
            ...some(options, ["timeout", "rpId", "extensions"]),
          };
          const made = await navigator.credentials.get({publicKey});
          const handle = made.response.userHandle;
          return envelope(made, {
            clientDataJSON: text(made.response.clientDataJSON),
            authenticatorData: text(made.response.authenticatorData), signature: text(made.response.signature),
            userHandle: handle ? text(handle) : "",
          });
        };
        """#
}

extension Tab {
    /// Gives the browser an authenticator of its machine's own, which knows the user and asks for no touch.
    func plug(in authenticator: ShopSite.Authenticator) async throws {
        // Without a window no page has the focus, and without the focus no credential is made.
        try await call("Emulation.setFocusEmulationEnabled") { $0.member("enabled", true) }
        try await call("WebAuthn.enable")
        try await call("WebAuthn.addVirtualAuthenticator") { parameters in
            parameters.memberObject("options") {
                $0.member("protocol", "ctap2")
                $0.member("transport", "internal")
                $0.member("hasResidentKey", authenticator.keepsKeys)
                $0.member("hasUserVerification", true)
                $0.member("isUserVerified", true)
                $0.member("automaticPresenceSimulation", true)
            }
        }
    }
}
