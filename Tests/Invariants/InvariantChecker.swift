import JSON

/// Holds what Belvo has, what apps were told and what the rows say of payments against each other, when everything has
/// come to its end: the one place where simulation and chaos have these rules (docs/reliability.md).
public struct InvariantChecker: Sendable {
    public let payments: [String: PaymentRow]
    public let intents: [IntentsOfPayment]

    public init(_ payments: [PaymentRow], intents: [IntentsOfPayment]) {
        self.payments = Dictionary(uniqueKeysWithValues: payments.map { ($0.id, $0) })
        self.intents = intents
    }

    private var paidElsewhere: Set<String> { Set(intents.filter { $0.paidElsewhere > 0 }.map(\.externalID)) }

    /// Every intent is one payment of ours, and of those for one reference one is paid.
    public func judgeIntents() -> [Violation] {
        var found: [Violation] = []
        var paid: [String: Int] = [:]
        for intent in intents {
            let id = intent.externalID
            if intent.ids.count > 1 {
                found.append(Violation(.double, "\(intent.ids.count) intents for payment \(id)"))
            }
            guard let payment = payments[id] else {
                found.append(
                    Violation(.lost, "intent \(intent.ids.joined(separator: " ")) was opened and never remembered"))
                continue
            }
            if intent.authorized > 0, !payment.wasAuthorizeSent {
                found.append(Violation(.lost, "payment \(id) was authorized, and its signature is not remembered"))
            }
            if intent.isContradicted { continue }
            paid[payment.purchase, default: 0] += intent.paid
            let isPaid = intent.paid + intent.paidElsewhere > 0
            if isPaid, payment.state != "succeeded" {
                found.append(Violation(.lost, "payment \(id) is paid at Belvo and \(payment.state) here"))
            }
            if !isPaid, payment.state == "succeeded" {
                found.append(Violation(.wrong, "payment \(id) counts as paid here and is not"))
            }
        }
        found += paid.filter { $0.value > 1 }.map { Violation(.double, "\($0.key) was paid \($0.value) times") }
        let known = Set(intents.map(\.externalID))
        for payment in payments.values where payment.state != "failed" && !known.contains(payment.id) {
            found.append(Violation(.wrong, "payment \(payment.id) is \(payment.state) and unknown to Belvo"))
        }
        return found
    }

    /// Each line begins where the one before ended, the last one is the present, no end was left, and nothing was
    /// authorized for what had been paid. What was paid elsewhere may be so after it had been given up.
    public func judgeHistory(_ lines: [HistoryLine]) -> [Violation] {
        var found: [Violation] = []
        var present: [String: String] = [:]
        var paid: Set<String> = []
        let elsewhere = paidElsewhere
        for line in lines {
            let name = "\(line.recordType) \(line.recordID)"
            if line.before != present[line.recordID] {
                let was = present[line.recordID] ?? ""
                found.append(Violation(.wrong, "\(name) went on from \(line.before ?? "") and was \(was)"))
            }
            present[line.recordID] = line.after
            guard let payment = payments[line.recordID] else { continue }
            let isLate = line.before == "failed" && line.after == "succeeded" && elsewhere.contains(payment.id)
            if line.before == "succeeded" || line.before == "failed" && !isLate {
                found.append(Violation(.wrong, "\(name) left its end: \(line.before ?? "") became \(line.after)"))
            }
            if line.after == "authorizing", paid.contains(payment.purchase) {
                found.append(Violation(.double, "\(name) was authorized when \(payment.purchase) had been paid"))
            }
            if line.after == "succeeded" { paid.insert(payment.purchase) }
        }
        for payment in payments.values where present[payment.id] != payment.historyState {
            let told = present[payment.id] ?? ""
            found.append(Violation(.wrong, "payment \(payment.id) is \(payment.historyState); the history: \(told)"))
        }
        return found
    }

    /// An answer that was given is still true, and one key has one answer.
    public func judgeAnswers(_ answers: [ToldAnswer]) -> [Violation] {
        let elsewhere = paidElsewhere
        var found = judgeKeys(answers)
        var signed: [String: [UInt8]] = [:]
        for told in answers {
            if told.path.hasSuffix("/payment-intents"), let id = told.json?["id"]?.string {
                if payments[id] == nil {
                    found.append(Violation(.lost, "payment \(id) was answered and is not there"))
                }
                let asked = (try? JSONDocument(parsing: told.request).root)?["reference"]?.string
                if told.json?["reference"]?.string != asked {
                    found.append(Violation(.wrong, "payment \(id) was answered, and \(asked ?? "none") was asked for"))
                }
            }
            // What is in doubt may come to nothing.
            guard told.status != 202 else { continue }
            let id = told.record
            if told.path.hasSuffix("/authorize") {
                if payments[id]?.isSigned != true {
                    found.append(Violation(.lost, "payment \(id): the signature was taken and is not there"))
                }
                if let other = signed.updateValue(told.request, forKey: id), other != told.request {
                    found.append(Violation(.double, "payment \(id): two signatures were taken"))
                }
            }
            if told.path.hasSuffix("/cancel"), payments[id]?.state != "failed", !elsewhere.contains(id) {
                found.append(Violation(.lost, "payment \(id): the user's cancelling was confirmed and is forgotten"))
            }
        }
        return found
    }

    /// A key makes one record; once it has an answer, everybody has got it byte for byte, the first one included.
    private func judgeKeys(_ answers: [ToldAnswer]) -> [Violation] {
        var found: [Violation] = []
        var made: [String: String] = [:]
        var bodies: [String: Set<[UInt8]>] = [:]
        var replayed: Set<String> = []
        for told in answers {
            guard let name = told.keyName, let id = told.json?["id"]?.string else { continue }
            if let other = made.updateValue(id, forKey: name), other != id {
                found.append(Violation(.double, "key \(name) made \(other) and \(id)"))
            }
            if told.status == 201 { bodies[name, default: []].insert(told.body) }
            if told.isReplayed { replayed.insert(name) }
        }
        for name in replayed.sorted() {
            let texts = (bodies[name] ?? []).map { String(decoding: $0, as: UTF8.self) }.sorted()
            if texts.count > 1 {
                found.append(
                    Violation(.wrong, "key \(name) was answered in two ways: \(texts.joined(separator: " and "))"))
            }
        }
        return found
    }
}
