import Belvo
import JSON

/// The findings of a probe of Belvo's API: no secret and nothing personal.
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
        /// How often an answer of this shape came.
        var times = 1

        /// Whether both are answers of one shape to one call.
        func isLike(_ other: Exchange) -> Bool {
            call == other.call && status == other.status && mediaType == other.mediaType && shape == other.shape
        }

        /// The status, and the first line of the shape or what stands in its place.
        var summary: String {
            "\(status.map(String.init) ?? "no answer"), \(shape?.lines.first ?? mediaType)"
        }
    }

    var exchanges: [Exchange] = []
    var facts: [ProbeQuestion: String] = [:]
    /// The dialect of the settings.
    let present: Dialect
    /// The dialect that Belvo was found to want.
    var dialect: Dialect
    /// Why a switch is set as it is, by its name.
    var reasons: [String: String] = [:]
    /// The steps that could not be tried, and what they would have needed.
    var notTried: [String] = []
    /// Fields of answers that may name a rate limit.
    var rateFields: Set<String> = []
    /// Whether a person has paid through the shop's page; nothing where none was waited for.
    var wasPaid: Bool?

    init(dialect: Dialect) {
        present = dialect
        self.dialect = dialect
    }

    /// Takes over what further questions have found.
    mutating func add(_ other: ProbeReport) {
        dialect = other.dialect
        facts.merge(other.facts) { $1 }
        reasons.merge(other.reasons) { $1 }
        notTried += other.notTried
    }

    /// Whether all was tried that was to be, all answers are as expected, and the settings fit.
    package var isInOrder: Bool { differences.isEmpty && dialect == present && wasPaid != false }

    /// The value for `BELVO_DIALECT`; nothing where all is as the defaults have it.
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

    /// The differences from what the client can read or the sandbox answers.
    package var differences: [String] {
        var known: Set<String> = []
        return exchanges.flatMap(differences).filter { known.insert($0).inserted }
    }

    private func differences(_ exchange: Exchange) -> [String] {
        var found = exchange.problem.map { ["\(exchange.call): \($0)"] } ?? []
        guard let status = exchange.status, (200..<300).contains(status) else { return found }
        if KnownShapes.empty.contains(exchange.call), status != 204 {
            found.append("\(exchange.call): \(status) came, and not 204")
        }
        guard let shape = exchange.shape, let known = KnownShapes.members[exchange.call] else { return found }
        let seen = Set(shape.members.keys)
        found += seen.subtracting(known.all).sorted().map { "\(exchange.call): \($0) is new" }
        // What stands in the entries of a list is not missing where the list is empty.
        let missing = known.always.subtracting(seen).filter { path in
            path.ranges(of: "[].").allSatisfy { end in seen.contains { $0.hasPrefix(path[..<end.upperBound]) } }
        }
        found += missing.sorted().map { "\(exchange.call): \($0) is missing" }
        return found
    }

    /// For a person at a terminal.
    package var text: String {
        var lines: [String] = []
        for exchange in exchanges {
            let status = exchange.status.map(String.init) ?? "no answer"
            let times = exchange.times == 1 ? "" : "  \(exchange.times) times"
            lines.append("\(exchange.call)  \(status)  \(exchange.mediaType)\(times)")
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
        if dialect == present {
            lines.append(proposal.map { "    BELVO_DIALECT=\($0) fits" } ?? "    the defaults fit")
        } else {
            lines.append(proposal.map { "    set BELVO_DIALECT=\($0)" } ?? "    leave BELVO_DIALECT out")
        }
        return lines.joined(separator: "\n")
    }

    /// For a script, and for the record.
    package var json: String {
        let bytes = JSONWriter.object { report in
            report.member("belvo_dialect", proposal)
            if let wasPaid { report.member("paid", wasPaid) }
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
                        $0.member("times", exchange.times)
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
