import MerchantAPI
import MerchantWorkflows
import Payments

extension RequestCounts {
    /// Writes what was counted. Every series is there from the start, so that its first step can be seen.
    func write(to text: inout MetricsText) {
        text.write(.requests) { samples in
            for route in Route.allCases {
                for (place, name) in Self.statusClasses.enumerated() {
                    let count = answers(to: route, statusClass: place)
                    samples.add([route.name, name], .whole(Int64(clamping: count)))
                }
            }
        }
        text.write(.requestSeconds) { samples in
            for route in Route.allCases where route != .unreadable {
                samples.add([route.name], latencies(of: route))
            }
        }
    }
}

extension FunnelCounts {
    /// Writes what was counted. Every series is there from the start, so that its first step can be seen.
    func write(to text: inout MetricsText) {
        text.write(.stateEntries) { samples in
            for kind in Kind.allCases {
                for state in kind.states {
                    samples.add([kind.rawValue, state], .whole(Int64(clamping: entries(kind, into: state))))
                }
            }
        }
        text.write(.failures) { samples in
            for kind in Kind.allCases {
                for (code, reason, count) in failures(kind) {
                    samples.add([kind.rawValue, code, reason.rawValue], .whole(Int64(clamping: count)))
                }
            }
        }
    }
}
