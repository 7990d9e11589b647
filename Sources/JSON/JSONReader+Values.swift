extension JSONReader {
    /// A required member of any kind but null.
    public func value(_ name: String) -> JSONValue? {
        requiredMember(name).map { JSONValue(storage: report.storage, position: $0) }
    }

    /// A member of any kind that may be missing.
    public func optionalValue(_ name: String) -> JSONValue? {
        member(name).map { JSONValue(storage: report.storage, position: $0) }
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

    private func read<T>(_ position: Int, _ name: String, _ parse: (JSONValue) throws(JSONFault) -> T) -> T? {
        do throws(JSONFault) {
            return try parse(JSONValue(storage: report.storage, position: position))
        } catch {
            return refuse(name, error)
        }
    }

    private func object(_ position: Int, _ name: String) -> JSONReader? {
        guard report.storage.index.entries[position].kind == .object else {
            return refuse(name, .wrongType("an object"))
        }
        report.noteRead(JSONReport.Object(position: position, parent: object, name: position - 1))
        return JSONReader(report: report, object: position)
    }

    private func objects(_ array: Int, _ name: String) -> [JSONReader]? {
        guard report.storage.index.entries[array].kind == .array else { return refuse(name, .wrongType("an array")) }
        var readers: [JSONReader] = []
        readers.reserveCapacity(report.storage.index.count(of: array))
        var (position, element) = (array + 1, 0)
        while position < report.storage.index.entries[array].next {
            if report.storage.index.entries[position].kind == .object {
                report.noteRead(
                    JSONReport.Object(position: position, parent: object, name: array - 1, element: element))
                readers.append(JSONReader(report: report, object: position))
            } else {
                report.add(.wrongType("an object"), at: name, element: element, ofObjectAt: object)
            }
            (position, element) = (Int(report.storage.index.entries[position].next), element + 1)
        }
        return readers
    }
}
