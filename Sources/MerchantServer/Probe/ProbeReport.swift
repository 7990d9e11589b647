import Belvo
import JSON

/// What a probe of Belvo's API has found: no secret and nothing personal.
package struct ProbeReport: Sendable {
    /// One call and the shape of its answer.
    struct Exchange: Sendable {
        let call: String
        /// Nothing where no answer came.
        let status: Int?
        let mediaType: String
        let shape: AnswerShape?
        /// The client's word on it: nothing where it can be read.
        var problem: String?
    }

    var exchanges: [Exchange] = []
    var facts: [ProbeQuestion: String] = [:]
    var dialect = Dialect()
    /// Why a switch is set as it is, by its name.
    var reasons: [String: String] = [:]
    /// What could not be tried, and what it would have needed.
    var notTried: [String] = []
    /// Fields of answers that may name a rate limit.
    var rateFields: Set<String> = []

    /// What to put into `BELVO_DIALECT`; nothing where all is as the defaults have it.
    package var proposal: String? {
        let changed = [
            dialect.amount == .number ? nil : "amount=\(dialect.amount.rawValue)",
            dialect.authorizePlatform == .omitted ? nil : "authorize_platform=\(dialect.authorizePlatform.rawValue)",
            dialect.intentCustomer == .id ? nil : "intent_customer=\(dialect.intentCustomer.rawValue)",
            dialect.widgetTokenBody == .none ? nil : "widget_token_body=\(dialect.widgetTokenBody.rawValue)",
            dialect.customerVersion == .v1 ? nil : "customer_version=\(dialect.customerVersion.rawValue)",
        ].compactMap(\.self)
        return changed.isEmpty ? nil : changed.joined(separator: ",")
    }

    /// What differs from what the client can read or the sandbox answers.
    package var differences: [String] {
        exchanges.flatMap { exchange -> [String] in
            var found = exchange.problem.map { ["\(exchange.call): \($0)"] } ?? []
            guard let shape = exchange.shape, let status = exchange.status, (200..<300).contains(status),
                let known = KnownShapes.members[exchange.call]
            else { return found }
            let seen = Set(shape.members.keys)
            found += seen.subtracting(known.all).sorted().map { "\(exchange.call): \($0) is new" }
            found += known.always.subtracting(seen).sorted().map { "\(exchange.call): \($0) is missing" }
            return found
        }
    }

    /// For a person at a terminal.
    package var text: String {
        var lines: [String] = []
        for exchange in exchanges {
            let status = exchange.status.map(String.init) ?? "no answer"
            lines.append("\(exchange.call)  \(status)  \(exchange.mediaType)")
            lines += exchange.shape?.lines.map { "    \($0)" } ?? []
        }
        lines += ["", "Different from what the client and the sandbox expect:"]
        lines += differences.isEmpty ? ["    nothing"] : differences.map { "    \($0)" }
        lines += ["", "Unknown before (docs/belvo-api.md, section 12):"]
        for question in ProbeQuestion.allCases {
            lines.append("    \(question.rawValue). \(question.text)")
            lines.append("        \(facts[question] ?? "not known")")
        }
        if !notTried.isEmpty { lines += ["", "Not tried:"] + notTried.map { "    \($0)" } }
        lines += ["", "BELVO_DIALECT:"]
        lines += reasons.sorted { $0.key < $1.key }.map { "    \($0.key): \($0.value)" }
        lines.append(proposal.map { "    set BELVO_DIALECT=\($0)" } ?? "    the defaults fit")
        return lines.joined(separator: "\n")
    }

    /// For a script, and for the record.
    package var json: String {
        let bytes = JSONWriter.object { report in
            report.member("belvo_dialect", proposal)
            report.memberObject("reasons") { object in
                for (name, reason) in reasons.sorted(by: { $0.key < $1.key }) { object.member(name, reason) }
            }
            report.memberArray("unknown") { list in
                for question in ProbeQuestion.allCases {
                    list.object {
                        $0.member("number", question.rawValue)
                        $0.member("question", question.text)
                        $0.member("fact", facts[question])
                    }
                }
            }
            report.memberArray("differences") { list in
                for difference in differences { list.element(difference) }
            }
            report.memberArray("not_tried") { list in
                for step in notTried { list.element(step) }
            }
            report.memberArray("answers") { list in
                for exchange in exchanges {
                    list.object {
                        $0.member("call", exchange.call)
                        $0.member("status", exchange.status.map(String.init))
                        $0.member("media_type", exchange.mediaType)
                        $0.memberArray("shape") { shape in
                            for line in exchange.shape?.lines ?? [] { shape.element(line) }
                        }
                    }
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
