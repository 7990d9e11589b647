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

    private func string(_ position: Int, _ name: String, _ length: ClosedRange<Int>?) -> String? {
        guard let text = report.storage.index.string(report.storage.index.entries[position]) else {
            return refuse(name, .wrongType("a string"))
        }
        guard let length, let fault = length.fault(of: text) else { return text }
        return refuse(name, fault)
    }

    private func bool(_ position: Int, _ name: String) -> Bool? {
        report.storage.index.bool(report.storage.index.entries[position]) ?? refuse(name, .wrongType("true or false"))
    }

    private func int64(_ position: Int, _ name: String) -> Int64? {
        report.storage.index.int64(report.storage.index.entries[position])
            ?? refuse(name, .wrongType("an integer of at most 64 bits, without fraction or exponent"))
    }

    private func oneOf<T: RawRepresentable & CaseIterable>(_ position: Int, _ name: String) -> T?
    where T.RawValue == String {
        guard let text = string(position, name, nil) else { return nil }
        // Not `T(rawValue:)`, which compares as Swift does.
        let found = T.allCases.first { $0.rawValue.isSameBytes(as: text) }
        return found ?? refuse(name, .notAllowed(T.allCases.map(\.rawValue)))
    }

    /// Notes a fault at a member and answers nil, as its reader then does.
    func refuse<T>(_ name: String, _ fault: JSONFault) -> T? {
        report.add(fault, at: name, ofObjectAt: object)
        return nil
    }
}

extension ClosedRange<Int> {
    /// The fault of a text that has too few or too many Unicode scalars.
    fileprivate func fault(of text: String) -> JSONFault? {
        // Scalars have one to four bytes, so that most texts need not be counted.
        let bytes = text.utf8.count
        if contains(bytes), contains((bytes + 3) / 4) { return nil }
        let count = text.utf8.span.scalarCount
        if count > upperBound { return .tooLong(max: upperBound) }
        return count < lowerBound ? .tooShort(min: lowerBound) : nil
    }
}

extension Span<UInt8> {
    /// The Unicode scalars of valid UTF-8: each has one byte that does not continue another (RFC 3629 §3).
    fileprivate var scalarCount: Int {
        var count = 0
        for place in indices where self[place] & 0xC0 != 0x80 { count &+= 1 }
        return count
    }
}
