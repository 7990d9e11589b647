import MerchantModel

/// How one kind of setting is written: the message for a wrong value, and how to read it.
struct SettingForm<Value>: Sendable {
    /// The text behind "expected": a noun phrase without a full stop.
    let expectation: String
    let parse: @Sendable (String) -> Value?

    init(_ expectation: String, _ parse: @escaping @Sendable (String) -> Value?) {
        self.expectation = expectation
        self.parse = parse
    }

    /// Several of a kind, separated by commas and perhaps blanks; at least one, none of them empty.
    static func list<Element>(of form: SettingForm<Element>) -> SettingForm<[Element]> where Value == [Element] {
        SettingForm("\(form.expectation), or several of them separated by commas") { text in
            let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingBlanks() }
            let elements = parts.compactMap { $0.isEmpty ? nil : form.parse(String($0)) }
            return elements.count == parts.count ? elements : nil
        }
    }
}

extension SettingForm where Value: RawRepresentable<String> & CaseIterable & SendableMetatype {
    /// One of the words of an enum.
    static var word: SettingForm {
        SettingForm(Value.allCases.map(\.rawValue).joined(separator: ", ")) { Value(rawValue: $0) }
    }
}

extension SettingForm<Bool> {
    static let onOrOff = SettingForm("on or off") { ["on": true, "off": false][$0] }
}

extension SettingForm<Int> {
    /// A whole number written in digits and nothing else.
    static func number(_ range: ClosedRange<Int>) -> SettingForm {
        SettingForm("a whole number from \(range.lowerBound) to \(range.upperBound)") { text in
            guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
            return Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension SettingForm<Duration> {
    /// Milliseconds, up to a day: longer than that is a slip of the keyboard.
    static let milliseconds = SettingForm("a whole number of milliseconds from 1 to 86400000") { text in
        SettingForm<Int>.number(1...86_400_000).parse(text).map { .milliseconds($0) }
    }
}
