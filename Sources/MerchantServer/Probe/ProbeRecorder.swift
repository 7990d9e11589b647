import Belvo
import FoundationEssentials
import HTTP
import JSON
import Synchronization

/// Keeps the shape of each answer of Belvo's: of those to the probe's own calls, which it carries, and of others that
/// it is shown.
final class ProbeRecorder: Sendable {
    private struct State {
        var exchanges: [ProbeReport.Exchange] = []
        var rateFields: Set<String> = []
        var lastBody: [UInt8] = []
        var lastStatus: Int?
        /// Where the exchange is that the probe's own last call belongs to.
        var lastPlace: Int?

        /// Adds an exchange, or one more to those that are alike. Gives its place.
        mutating func add(_ exchange: ProbeReport.Exchange) -> Int {
            guard let place = exchanges.firstIndex(where: { $0.isLike(exchange) }) else {
                exchanges.append(exchange)
                return exchanges.count - 1
            }
            exchanges[place].times += 1
            return place
        }
    }

    private let state = Mutex(State())
    private let send: Belvo.Client.Send

    init(_ send: @escaping Belvo.Client.Send) {
        self.send = send
    }

    /// Carries a call of the probe's own, and keeps its shape under the call's name.
    func carry(_ call: Call, _ request: Request, _ limit: Duration) async throws -> Response {
        do {
            let response = try await send(request, limit)
            let place = observe(call.rawValue, response)
            state.withLock {
                $0.lastStatus = response.status.code
                $0.lastBody = response.body
                $0.lastPlace = place
            }
            return response
        } catch {
            let place = observe(call.rawValue, error)
            state.withLock {
                $0.lastStatus = nil
                $0.lastBody = []
                $0.lastPlace = place
            }
            throw error
        }
    }

    /// Keeps the shape of an answer. Gives where it is.
    @discardableResult
    func observe(_ call: String, _ response: Response) -> Int {
        let exchange = Self.exchange(call, response)
        let fields = response.headers.names { name in
            name.contains("ratelimit") || name.contains("rate-limit") || name == "retry-after"
        }
        return state.withLock {
            $0.rateFields.formUnion(fields)
            return $0.add(exchange)
        }
    }

    /// An answer by its shape alone.
    static func exchange(_ call: String, _ response: Response) -> ProbeReport.Exchange {
        ProbeReport.Exchange(
            call: call, status: response.status.code,
            mediaType: String((response.headers["content-type"] ?? "no type").prefix { $0 != ";" }),
            shape: (try? JSONDocument(parsing: response.body)).map { AnswerShape($0.root) })
    }

    /// Keeps that no answer came.
    @discardableResult
    func observe(_ call: String, _ failure: any Error) -> Int {
        state.withLock {
            $0.add(
                ProbeReport.Exchange(
                    call: call, status: nil, mediaType: "", shape: nil, problem: "no answer: \(failure)"))
        }
    }

    var exchanges: [ProbeReport.Exchange] { state.withLock { $0.exchanges } }
    var rateFields: Set<String> { state.withLock { $0.rateFields } }
    /// The answer to the probe's own last call, for what its shape does not show; it is not kept beyond the probe.
    var last: (status: Int?, body: [UInt8]) { state.withLock { ($0.lastStatus, $0.lastBody) } }
    /// Where that answer belongs.
    var lastExchange: ProbeReport.Exchange? {
        state.withLock { state in state.lastPlace.map { state.exchanges[$0] } }
    }

    /// The client could not read the last answer.
    func noteUnreadable(_ reason: String) {
        state.withLock { state in
            guard let place = state.lastPlace else { return }
            state.exchanges[place].problem = "the client cannot read it: \(reason)"
        }
    }
}

extension Headers {
    /// The names of fields that are wanted, in lower case.
    func names(_ isWanted: (String) -> Bool) -> Set<String> {
        var names: Set<String> = []
        func collect(_ name: ArraySlice<UInt8>, _: ArraySlice<UInt8>) {
            let name = String(decoding: name, as: UTF8.self).lowercased()
            if isWanted(name) { names.insert(name) }
        }
        forEach(collect)
        return names
    }
}
