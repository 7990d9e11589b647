import HTTP
import Invariants
import JSON
import Transport

/// The sandbox in Belvo's place, in a process of its own, with what it has seen.
final class BelvoStandIn: Sendable {
    let port: UInt16
    private let child: Child
    private let client: Client
    /// What has been read of its log.
    let seen = LockedBox(CallBook())

    /// Starts it. What waits for the bank settles by itself after a while.
    init(of tools: Tools, log: String, settleAfter: Duration, webhooksTo door: UInt16) throws {
        port = try Port.free()
        child = try Child(
            "belvo-sandbox",
            [
                tools.program("belvo-sandbox"), "serve", "--mode", "demo", "--settle-after-ms",
                "\(settleAfter.wholeNanoseconds / 1_000_000)", "--listen", "127.0.0.1:\(port)",
                "--webhook-url", "http://127.0.0.1:\(door)/webhooks/belvo", "--webhook-token", Secrets.webhookToken,
                "--webhook-retry-ms", "1000",
            ], log: log)
        guard let url = URL("http://127.0.0.1:\(port)/") else { preconditionFailure("a URL made of a port") }
        client = Client(origin: url.origin)
    }

    func waitUntilReady() async throws {
        let isReady = await eventually(within: .seconds(20), every: .milliseconds(20)) {
            await Probe.status(of: "/sandbox/state", at: port) == 200
        }
        guard isReady else { throw CommandFailed(description: "belvo-sandbox did not start") }
    }

    func stop() { child.kill() }

    /// A call of the control API. Throws unless it was done.
    @discardableResult
    func control(_ method: HTTP.Method, _ target: Target, _ body: [UInt8] = []) async throws -> JSONValue? {
        let request = Request(method, target, headers: ["content-type": "application/json"], body: body)
        let response = try await client.send(request, deadline: .seconds(20))
        guard response.status.isSuccess else {
            throw CommandFailed(
                description: "\(method) \(target): \(response.status) \(String(decoding: response.body, as: UTF8.self))"
            )
        }
        return response.body.isEmpty ? nil : try JSONDocument(parsing: response.body).root
    }

    func setVariants(_ switches: [String: String]) async throws {
        try await control(
            .patch, "/sandbox/variants",
            JSONWriter.object {
                for (name, value) in switches.sorted(by: { $0.key < $1.key }) { $0.member(name, value) }
            })
    }

    /// Puts its clock forward: what waits for time has it.
    func pass(_ time: Duration) async throws {
        try await control(
            .post, "/sandbox/advance",
            JSONWriter.object { $0.member("seconds", time.wholeNanoseconds / 1_000_000_000) })
    }

    /// What its log holds that has not been read yet is added to what has been read. The log forgets.
    func readCalls() async throws {
        let after = seen.value.last
        let answer = try await control(.get, Target(path: "/sandbox/calls", query: "after=\(after)"))
        guard let calls = answer?["results"] else { return }
        seen.update { book in
            for call in calls.elements { book.take(call) }
        }
    }

    /// The number of the last call that came in.
    func lastCall() async throws -> Int {
        try await readCalls()
        return seen.value.last
    }

    /// Every call that was read.
    var calls: CallBook { seen.value }

    /// Intents by the `external_id` under which they were made.
    func intents() async throws -> [IntentsOfPayment] {
        guard let results = try await control(.get, "/sandbox/intent-counts")?["results"] else { return [] }
        return results.elements.compactMap { entry in
            guard let external = entry["external_id"]?.string, let succeeded = entry["succeeded"]?.int64,
                let authorized = entry["authorized"]?.int64
            else { return nil }
            return IntentsOfPayment(
                externalID: external, ids: entry["ids"]?.elements.compactMap(\.string) ?? [],
                authorized: Int(authorized), paid: Int(succeeded))
        }
    }
}

/// The calls that came in at Belvo.
struct CallBook: Sendable {
    private(set) var last = 0
    /// Calls that the sandbox forgot before they were read.
    private(set) var missing = 0
    private(set) var calls: [Call] = []

    struct Call: Sendable {
        let number: Int
        /// Seconds since the day began.
        let second: Double
        let endpoint: String
        let path: String
        let externalID: String?
        let isProcessed: Bool
    }

    mutating func take(_ call: JSONValue) {
        guard let number = call["number"]?.int64, Int(number) > last else { return }
        missing += Int(number) - last - 1
        last = Int(number)
        calls.append(
            Call(
                number: Int(number), second: Self.second(of: call["at"]?.string ?? ""),
                endpoint: call["endpoint"]?.string ?? "",
                path: call["path"]?.string ?? "", externalID: call["external_id"]?.string,
                isProcessed: call["processed"]?.bool ?? false))
    }

    /// `2026-11-21T21:48:00.123456Z`.
    private static func second(of moment: String) -> Double {
        let time = moment.split(separator: "T").last?.split(separator: "Z").first ?? ""
        return time.split(separator: ":").reduce(0) { $0 * 60 + (Double($1) ?? 0) }
    }

    /// The polls of each of these intents, in seconds since the day began, among the calls of a span.
    func looks(between begin: Int, and end: Int, at intents: Set<String>) -> [String: [Double]] {
        var looks: [String: [Double]] = [:]
        for call in calls where call.endpoint == "get_payment_intent" && call.number > begin && call.number <= end {
            guard let id = call.path.split(separator: "/").last.map(String.init), intents.contains(id) else { continue }
            looks[id, default: []].append(call.second)
        }
        return looks
    }

    /// How many seconds lay between two polls of the same of these intents, among the calls of a span.
    func gaps(between begin: Int, and end: Int, of intents: Set<String>) -> [Double] {
        looks(between: begin, and: end, at: intents).values.flatMap { moments in
            // Over midnight the day begins anew.
            zip(moments, moments.dropFirst()).map { $1 >= $0 ? $1 - $0 : $1 - $0 + 86_400 }
        }
    }

    /// How often each path of an endpoint was called.
    func counts(of endpoint: String, by key: (Call) -> String?) -> [String: Int] {
        var counts: [String: Int] = [:]
        for call in calls where call.endpoint == endpoint {
            if let key = key(call) { counts[key, default: 0] += 1 }
        }
        return counts
    }
}

/// What a merchant keeps secret. These protect nothing: the site is gone in a minute.
enum Secrets {
    static let webhookToken = "the-webhook-token-of-the-chaos"
    static let app = "a-secret-of-the-chaos-that-is-long-enough"
    static let beneficiary = "5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10"
    /// 32 bytes of 1, in base64.
    static let key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
}
