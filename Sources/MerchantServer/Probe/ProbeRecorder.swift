import Belvo
import FoundationEssentials
import HTTP
import JSON
import Synchronization

/// Stands between the client and the wire, and keeps the shape of each answer.
final class ProbeRecorder: Sendable {
    private struct State {
        var exchanges: [ProbeReport.Exchange] = []
        var rateFields: Set<String> = []
        var lastBody: [UInt8] = []
        var lastStatus: Int?
    }

    private let state = Mutex(State())
    private let send: Belvo.Client.Send

    init(_ send: @escaping Belvo.Client.Send) {
        self.send = send
    }

    /// Carries a call, and keeps its shape under the call's name.
    func carry(_ call: Call, _ request: Request, _ limit: Duration) async throws -> Response {
        do {
            let response = try await send(request, limit)
            note(call, response)
            return response
        } catch {
            state.withLock {
                $0.lastStatus = nil
                $0.exchanges.append(
                    ProbeReport.Exchange(
                        call: call.rawValue, status: nil, mediaType: "", shape: nil, problem: "no answer: \(error)"))
            }
            throw error
        }
    }

    private func note(_ call: Call, _ response: Response) {
        let type = String((response.headers["content-type"] ?? "no type").prefix { $0 != ";" })
        let shape = (try? JSONDocument(parsing: response.body)).map { AnswerShape($0.root) }
        var fields: Set<String> = []
        func collect(_ name: ArraySlice<UInt8>, _: ArraySlice<UInt8>) {
            let name = String(decoding: name, as: UTF8.self).lowercased()
            if name.contains("ratelimit") || name.contains("rate-limit") || name == "retry-after" {
                fields.insert(name)
            }
        }
        response.headers.forEach(collect)
        state.withLock {
            $0.lastStatus = response.status.code
            $0.lastBody = response.body
            $0.rateFields.formUnion(fields)
            $0.exchanges.append(
                ProbeReport.Exchange(
                    call: call.rawValue, status: response.status.code, mediaType: type, shape: shape, problem: nil))
        }
    }

    var exchanges: [ProbeReport.Exchange] { state.withLock { $0.exchanges } }
    var rateFields: Set<String> { state.withLock { $0.rateFields } }
    /// The last answer, for what its shape does not show; it is not kept beyond the probe.
    var last: (status: Int?, body: [UInt8]) { state.withLock { ($0.lastStatus, $0.lastBody) } }

    /// The client could not read the last answer.
    func noteUnreadable(_ reason: String) {
        state.withLock { state in
            guard let place = state.exchanges.indices.last else { return }
            state.exchanges[place].problem = "the client cannot read it: \(reason)"
        }
    }
}
