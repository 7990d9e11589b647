import Belvo
import MerchantModel

extension SettingForm<Dialect> {
    /// Some of the choices in which Belvo's documents contradict each other, the rest as they are by default:
    /// `amount=string,customer_version=v2`.
    static let dialect = SettingForm(
        "choices such as amount=string, separated by commas: "
            + choices.map { "\($0.name)=\($0.words.joined(separator: "|"))" }.joined(separator: ", ")
    ) { text in
        var dialect = Dialect()
        var seen: Set<String> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.trimmingBlanks().split(separator: "=", omittingEmptySubsequences: false).map(String.init)
            guard words.count == 2, let choice = choices.first(where: { $0.name == words[0] }),
                seen.insert(choice.name).inserted, choice.apply(words[1], &dialect)
            else { return nil }
        }
        return dialect
    }

    private static let choices: [DialectChoice] = [
        DialectChoice("amount", \.amount),
        DialectChoice("authorize_platform", \.authorizePlatform),
        DialectChoice("intent_customer", \.intentCustomer),
        DialectChoice("widget_token_body", \.widgetTokenBody),
        DialectChoice("customer_version", \.customerVersion),
    ]
}

/// One member of the dialect, by the name and words that choose it.
private struct DialectChoice: Sendable {
    let name: String
    let words: [String]
    /// Puts the word into effect; false when it is none of this choice's.
    let apply: @Sendable (_ word: String, inout Dialect) -> Bool

    init<Choice: RawRepresentable<String> & CaseIterable & SendableMetatype>(
        _ name: String, _ member: any WritableKeyPath<Dialect, Choice> & Sendable
    ) {
        self.name = name
        words = Choice.allCases.map(\.rawValue)
        apply = { word, dialect in
            guard let choice = Choice(rawValue: word) else { return false }
            dialect[keyPath: member] = choice
            return true
        }
    }
}
