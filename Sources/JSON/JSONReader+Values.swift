extension JSONReader {
    /// A required member of any kind but null.
    public func value(_ name: String) -> JSONValue? {
        requiredMember(name)
    }

    /// A member of any kind that may be missing.
    public func optionalValue(_ name: String) -> JSONValue? {
        member(name)
    }

    /// A required member through a parser of the caller's. The place of the fault it throws is the member's,
    /// whatever pointer stands in it.
    public func read<T>(_ name: String, _ parse: (JSONValue) throws(JSONFault) -> T) -> T? {
        requiredMember(name).flatMap { read($0, name, parse) }
    }

    /// The same for a member that may be missing: then nil, and the parser is not asked.
    public func readOptional<T>(_ name: String, _ parse: (JSONValue) throws(JSONFault) -> T) -> T? {
        member(name).flatMap { read($0, name, parse) }
    }

    /// A required member that is an object, to be read the same way.
    public func object(_ name: String) -> JSONReader? {
        requiredMember(name).flatMap { object($0, name) }
    }

    /// An object that may be missing.
    public func optionalObject(_ name: String) -> JSONReader? {
        member(name).flatMap { object($0, name) }
    }

    /// A required array of objects. Elements of another kind are faults, and left out.
    public func objects(_ name: String) -> [JSONReader]? {
        requiredMember(name).flatMap { objects($0, name) }
    }

    /// An array of objects that may be missing.
    public func optionalObjects(_ name: String) -> [JSONReader]? {
        member(name).flatMap { objects($0, name) }
    }

    private func read<T>(_ value: JSONValue, _ name: String, _ parse: (JSONValue) throws(JSONFault) -> T) -> T? {
        do throws(JSONFault) {
            return try parse(value)
        } catch {
            return refuse(name, error)
        }
    }

    private func object(_ value: JSONValue, _ name: String, element: Int? = nil) -> JSONReader? {
        guard value.kind == .object else {
            let member = pointer(name)
            report.add(.wrongType("an object"), at: element.map { "\(member)/\($0)" } ?? member)
            return nil
        }
        return reader(of: value, name, element: element)
    }

    private func objects(_ value: JSONValue, _ name: String) -> [JSONReader]? {
        guard value.kind == .array else { return refuse(name, .wrongType("an array")) }
        return value.elements.enumerated().compactMap { object($1, name, element: $0) }
    }
}
