extension JSONReader {
    /// A required text. The length is in Unicode scalars.
    public func string(_ name: String, length: ClosedRange<Int>? = nil) -> String? {
        requiredMember(name).flatMap { string($0, name, length) }
    }

    /// A text that may be missing: then nil without a fault.
    public func optionalString(_ name: String, length: ClosedRange<Int>? = nil) -> String? {
        member(name).flatMap { string($0, name, length) }
    }

    /// A required true or false.
    public func bool(_ name: String) -> Bool? {
        requiredMember(name).flatMap { bool($0, name) }
    }

    /// A true or false that may be missing.
    public func optionalBool(_ name: String) -> Bool? {
        member(name).flatMap { bool($0, name) }
    }

    /// A required number, written as an integer that fits.
    public func int64(_ name: String) -> Int64? {
        requiredMember(name).flatMap { int64($0, name) }
    }

    /// An integer that may be missing.
    public func optionalInt64(_ name: String) -> Int64? {
        member(name).flatMap { int64($0, name) }
    }

    /// A required text that is one of a closed set of words; else `not_allowed`, with the words in the message.
    public func oneOf<T: RawRepresentable & CaseIterable>(_ name: String, _: T.Type) -> T? where T.RawValue == String {
        requiredMember(name).flatMap { oneOf($0, name) }
    }

    /// A text of a closed set that may be missing.
    public func optionalOneOf<T: RawRepresentable & CaseIterable>(_ name: String, _: T.Type) -> T?
    where T.RawValue == String {
        member(name).flatMap { oneOf($0, name) }
    }

    private func string(_ value: JSONValue, _ name: String, _ length: ClosedRange<Int>?) -> String? {
        guard let text = value.string else { return refuse(name, .wrongType("a string")) }
        guard let length, let fault = length.fault(of: text) else { return text }
        return refuse(name, fault)
    }

    private func bool(_ value: JSONValue, _ name: String) -> Bool? {
        value.bool ?? refuse(name, .wrongType("true or false"))
    }

    private func int64(_ value: JSONValue, _ name: String) -> Int64? {
        value.int64 ?? refuse(name, .wrongType("an integer of at most 64 bits, without fraction or exponent"))
    }

    private func oneOf<T: RawRepresentable & CaseIterable>(_ value: JSONValue, _ name: String) -> T?
    where T.RawValue == String {
        guard let text = value.string else { return refuse(name, .wrongType("a string")) }
        // Not `T(rawValue:)`, which compares as Swift does: for it U+212A, the Kelvin sign, is a K.
        let found = T.allCases.first { $0.rawValue.utf8.elementsEqual(text.utf8) }
        return found ?? refuse(name, .notAllowed(T.allCases.map(\.rawValue)))
    }

    /// Notes a fault at a member and answers nil, as its reader then does.
    func refuse<T>(_ name: String, _ fault: JSONFault) -> T? {
        report.add(fault, at: pointer(name))
        return nil
    }
}

extension ClosedRange<Int> {
    /// What is wrong with a text that is to have so many Unicode scalars.
    fileprivate func fault(of text: String) -> JSONFault? {
        // Scalars have one to four bytes, so that most texts need not be counted.
        let bytes = text.utf8.count
        if contains(bytes), contains((bytes + 3) / 4) { return nil }
        let count = text.unicodeScalars.count
        if count > upperBound { return .tooLong(max: upperBound) }
        return count < lowerBound ? .tooShort(min: lowerBound) : nil
    }
}
