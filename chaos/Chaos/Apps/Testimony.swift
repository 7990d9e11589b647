import HTTP
import Invariants
import JSON
import Transport

/// What apps were told, and when: what the rows have to agree with afterwards.
final class Testimony: Sendable {
    private let state = LockedBox(State())

    private struct State: Sendable {
        var answers: [ToldAnswer] = []
        var successes: [Monotonic] = []
        var failures: [Int: Int] = [:]
        var serverErrors: [String: Int] = [:]
        var purchases: [String: Bool] = [:]
        var complaints: [String] = []
    }

    /// An app has an answer, or nil.
    func hear(_ response: Response?, to request: Request, of subject: String) {
        state.update { state in
            guard let response, response.status.isSuccess else {
                state.failures[response?.status.code ?? 0, default: 0] += 1
                if let response, response.status.code >= 500 {
                    state.serverErrors[Self.line(on: response, to: request), default: 0] += 1
                }
                return
            }
            state.successes.append(.now())
            guard request.method != .get else { return }
            state.answers.append(
                ToldAnswer(
                    subject: subject, path: request.target.path, key: request.headers["idempotency-key"],
                    status: response.status.code, isReplayed: response.headers["idempotent-replayed"] != nil,
                    request: request.body, body: response.body))
        }
    }

    /// A purchase has begun, or has come to its good end.
    func note(_ reference: String, isPaid: Bool) {
        state.update { $0.purchases[reference] = isPaid }
    }

    /// An app got an answer that no app should get.
    func complain(_ text: String) {
        state.update { $0.complaints.append(text) }
    }

    var answers: [ToldAnswer] { state.value.answers }
    var complaints: [String] { state.value.complaints }
    /// How often there was which answer other than a success; under 0 how often there was none.
    var failures: [Int: Int] { state.value.failures }
    /// How often which answer of 500 and above was given to which kind of request: by a server, as its problem
    /// document says, or by the balancer before it.
    var serverErrors: [String: Int] { state.value.serverErrors }
    static let byBalancer = "by the balancer"

    private static func line(on response: Response, to request: Request) -> String {
        let code = (try? JSONDocument(parsing: response.body))?.root["code"]?.string
        let place = request.target.path.split(separator: "/").prefix(2).joined(separator: "/")
        return "\(request.method) /\(place): \(response.status.code) \(code ?? byBalancer)"
    }

    /// Purchases that were begun.
    var begun: Int { state.value.purchases.count }
    /// Purchases that apps know to be paid.
    var paid: Int { state.value.purchases.values.count { $0 } }
    /// Purchases that apps do not know to be paid.
    var unpaid: [String] { state.value.purchases.filter { !$0.value }.keys.sorted() }

    /// The longest time within a span in which no app got a success.
    func longestGap(from start: Monotonic, to end: Monotonic) -> Duration {
        let moments = [start] + state.value.successes.filter { $0 > start && $0 < end } + [end]
        return zip(moments, moments.dropFirst()).map { $1 - $0 }.max() ?? .zero
    }
}
