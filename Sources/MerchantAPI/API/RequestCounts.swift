import HTTP
import MerchantModel
import Synchronization
import Transport

/// Every answer of the API, by route, class of status and the time that it took.
///
/// All loops count in the same place, each answer with three additions and no lock: as many as operations have places
/// of their own, and what two loops count at once costs less than finding each loop's own place would.
package final class RequestCounts: Sendable {

    package init() {}
    /// How far a request came.
    package enum Route: Sendable, Hashable, CaseIterable {
        case operation(Operation)
        /// A browser asks which methods a known path has.
        case preflight
        /// The path or the method is unknown.
        case unmatched
        /// The label of bytes that were no request, or of a request that was answered in its handler's place.
        case unreadable

        package static let allCases: [Route] =
            Operation.allCases.map(Route.operation) + [.preflight, .unmatched, .unreadable]

        init(_ match: Router.Match, _ method: HTTP.Method) {
            switch match {
            case .operation(let operation, _): self = .operation(operation)
            case .otherMethod: self = method == .options ? .preflight : .unmatched
            case .nothing: self = .unmatched
            }
        }

        /// The value of the label `operation`.
        package var name: String {
            switch self {
            case .operation(let operation): "\(operation)"
            case .preflight: "preflight"
            case .unmatched: "unmatched"
            case .unreadable: "unreadable"
            }
        }

        /// Its place in `allCases`.
        fileprivate var index: Int {
            switch self {
            case .operation(let operation): operation.rawValue
            case .preflight: Operation.allCases.count
            case .unmatched: Operation.allCases.count + 1
            case .unreadable: Operation.allCases.count + 2
            }
        }
    }

    /// The values of the label `status`.
    package static let statusClasses = ["2xx", "3xx", "4xx", "5xx"]

    private final class Place: Sendable {
        let statuses = InlineArray<4, Atomic<UInt64>> { _ in Atomic(0) }
        let latencies = LatencyHistogram()
    }

    private let places = Route.allCases.map { _ in Place() }

    /// Counts an answer that took so long to make.
    func count(_ route: Route, _ status: HTTP.Status, nanoseconds: Int64) {
        count(route, status)
        places[route.index].latencies.record(nanoseconds: UInt64(max(0, nanoseconds)))
    }

    /// Counts an answer to what was no request: it has no moment of arrival.
    package func countUnreadable(_ status: HTTP.Status) {
        count(.unreadable, status)
    }

    private func count(_ route: Route, _ status: HTTP.Status) {
        // A final status is 200 to 599; what is none of them would be our own mistake, and is counted as such.
        let place = min(max(status.code / 100 - 2, 0), Self.statusClasses.count - 1)
        places[route.index].statuses[place].wrappingAdd(1, ordering: .relaxed)
    }

    /// Answers so far; the class of their status by its place in `statusClasses`.
    package func answers(to route: Route, statusClass place: Int) -> UInt64 {
        places[route.index].statuses[place].load(ordering: .relaxed)
    }

    /// How long the answers took.
    package func latencies(of route: Route) -> LatencyHistogram.Reading {
        places[route.index].latencies.reading
    }
}
