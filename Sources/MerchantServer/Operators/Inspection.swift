import FoundationEssentials
import JSON
import MerchantModel
import MerchantStore
import Payments

/// One record's life: what it is now, and what happened to it.
package struct Inspection: Sendable {
    let kind: InspectedKind
    let facts: [(name: String, value: String)]
    let timeline: [TimelineEntry]

    /// For a person at a terminal.
    package var text: String {
        let width = facts.map(\.name.count).max() ?? 0
        var lines = [kind.rawValue]
        for fact in facts {
            lines.append("  \(fact.name)\(String(repeating: " ", count: width - fact.name.count))  \(fact.value)")
        }
        if !timeline.isEmpty { lines.append("  what happened") }
        for entry in timeline {
            let request = entry.requestID.map { "  [request \($0)]" } ?? ""
            lines.append("    \(entry.moment)  \(padded(entry.who))  \(entry.what)\(request)")
        }
        return lines.joined(separator: "\n")
    }

    /// For a script.
    func write(to record: inout JSONWriter) {
        record.member("kind", kind.rawValue)
        record.memberObject("facts") { object in
            for fact in facts { object.member(fact.name, fact.value) }
        }
        record.memberArray("timeline") { list in
            for entry in timeline {
                list.object {
                    $0.member("at", entry.moment)
                    $0.member("who", entry.who)
                    $0.member("what", entry.what)
                    $0.member("request_id", entry.requestID)
                }
            }
        }
    }

    private func padded(_ who: String) -> String {
        who + String(repeating: " ", count: max(0, 8 - who.count))
    }
}

extension [Inspection] {
    /// All of them as one JSON text.
    package var json: String {
        let bytes = JSONWriter.object { answer in
            answer.memberArray("records") { list in
                for inspection in self { list.object { inspection.write(to: &$0) } }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension [Difference] {
    /// All of them as one JSON text.
    package func json(of day: UTCDay) -> String {
        let bytes = JSONWriter.object { answer in
            answer.member("day", day.description)
            answer.memberArray("differences") { list in
                for difference in self {
                    list.object {
                        $0.member("kind", difference.kind.rawValue)
                        $0.member("payment_intent", difference.payment.map { $0.uuidString.lowercased() })
                        $0.member("belvo_id", difference.intent.map { $0.uuidString.lowercased() })
                        $0.member("ours", difference.ours)
                        $0.member("theirs", difference.theirs)
                    }
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Difference: CustomStringConvertible {
    /// For a person at a terminal.
    package var description: String {
        let payment = payment.map { "payment \($0.uuidString.lowercased())" } ?? "no payment of ours"
        let intent = intent.map { "intent \($0.uuidString.lowercased())" } ?? "no intent at Belvo"
        return "\(kind.rawValue): \(payment), \(intent): here \(ours ?? "nothing"), at Belvo \(theirs ?? "nothing")"
    }
}
