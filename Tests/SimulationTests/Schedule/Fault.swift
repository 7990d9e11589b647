/// What goes wrong in a simulation (reliability.md, "Faults under which they hold").
enum Fault: String, CaseIterable, Sendable {
    // Between a server and the database.
    case statementNotSent = "database: the statement was never sent"
    case writeLost = "database: sent, not done, and the answer lost"
    case commitAnswerLost = "database: done, and the answer lost"
    case lockTimeout = "database: a lock was held for too long"

    // Between a server and Belvo.
    case belvoRefusesConnection = "Belvo: connection refused"
    case belvoRequestLost = "Belvo: the request was lost on its way"
    case belvoAnswerLost = "Belvo: done, and the answer lost"
    case belvoNeverAnswers = "Belvo: not done, and never answered"
    case belvoAnswersTooLate = "Belvo: done, and answered after the deadline"
    case belvoWorksLate = "Belvo: never answered, and done long after"
    case belvo400 = "Belvo: 400"
    case belvo401 = "Belvo: 401"
    case belvo403 = "Belvo: the firewall's 403"
    case belvo404 = "Belvo: 404"
    case belvo408 = "Belvo: 408"
    case belvo409 = "Belvo: 409"
    case belvo429 = "Belvo: 429"
    case belvo500 = "Belvo: 500, not done"
    case belvo500After = "Belvo: 500, and done"
    case belvo4xxAfter = "Belvo: done, and answered 400 to 429"
    case signatureTakenAndRefused = "Belvo: a signature is taken, and answered 400 to 429"
    case belvoFailedOfAnother = "Belvo: FAILED, of another payment"
    case belvoTruncated = "Belvo: the answer breaks off"
    case belvoMalformedAnswer = "Belvo: 200 with nonsense"
    case belvoWithoutID = "Belvo: the id is missing"
    case belvoNewWord = "Belvo: an unknown status"
    case belvoAway = "Belvo: away for minutes"
    case belvoAwayAfterLoss = "Belvo: away for minutes from a lost answer on"
    case belvoDiffers = "Belvo: another amount or party than asked for, for good"
    case belvoPaidElsewhere = "Belvo: a payment is authorized without us"

    case belvoCollectsAhead = "Belvo: a charge collects while its intent stays as it is"
    case belvoTakesBack = "Belvo: says its last word, and then the opposite"
    case bankRevokes = "Belvo: the bank takes an enrollment back"

    // Between apps, Belvo's webhooks and servers.
    case requestLost = "app: the request was lost"
    case answerLost = "app: the answer was lost"
    case webhookLost = "webhook: lost"
    case webhookDoubled = "webhook: sent twice"
    case widgetToken = "app: has a token for Belvo's SDK"
    case tokenAfterGivingUp = "app: gives up an attempt, and gets a token before it signs the next one"
    case signedElsewhere = "app: signs with a token, and comes back without it when it has ended"
    case manyAttempts = "app: gives up twenty-five attempts for one reference"
    case erasure = "operator: erases a person"
    case priceChangesMeanwhile = "shop: changes prices while a payment begins"

    // What becomes of servers and clocks.
    case crash = "server: killed"
    case freeze = "server: paused"
    case heldUpAfterRefusal = "server: held up after a refusal, and paid without us meanwhile"
    case leap = "clock: leaps"
}

extension Fault {
    static let beforeRead: [Fault] = [.statementNotSent]
    static let beforeWrite: [Fault] = [.statementNotSent, .writeLost, .lockTimeout]
    static let afterWrite: [Fault] = [.commitAnswerLost]
    /// Of one call; the others are of an intent.
    static let atBelvo = allCases.filter {
        $0.rawValue.hasPrefix("Belvo")
            && ![
                .belvoAway, .belvoAwayAfterLoss, .belvoDiffers, .belvoPaidElsewhere, .belvoTakesBack, .bankRevokes,
                .belvoCollectsAhead, .signatureTakenAndRefused,
            ].contains($0)
    }
}

/// Which faults there are in one simulation, and how often each: not all at once, since one hides another.
struct Weather: Sendable {
    /// Of a thousand.
    private var rates: [Fault: Int] = [:]

    init(using random: inout SeededGenerator) {
        let worst = [10, 40, 120].randomElement(using: &random) ?? 40
        for fault in Fault.allCases where Bool.random(using: &random) {
            rates[fault] = Int.random(in: 1...worst, using: &random)
        }
        for fault in [Fault.webhookLost, .webhookDoubled] where rates[fault] != nil {
            rates[fault] = Int.random(in: 50...500, using: &random)
        }
        // These are asked for rarely.
        let rare: [Fault] = [
            .crash, .freeze, .leap, .belvoAway, .belvoAwayAfterLoss, .belvoDiffers, .belvoPaidElsewhere,
            .heldUpAfterRefusal, .priceChangesMeanwhile, .belvoTakesBack, .widgetToken, .erasure,
            .signatureTakenAndRefused, .tokenAfterGivingUp, .signedElsewhere, .belvoCollectsAhead,
        ]
        for fault in rare where rates[fault] != nil {
            rates[fault] = Int.random(in: 50...400, using: &random)
        }
    }

    func fault(among kinds: [Fault], using random: inout SeededGenerator) -> Fault? {
        var place = Int.random(in: 0..<1_000, using: &random)
        for kind in kinds {
            place -= rates[kind] ?? 0
            if place < 0 { return kind }
        }
        return nil
    }
}
