/// Reads one object's members, remembering which were asked for and every fault with its place.
///
/// ```swift
/// let reader = JSONReader(document.root)
/// let institution = reader.string("institution", length: 1...64)
/// let platform = reader.oneOf("platform", Platform.self)
/// let name = reader.optionalString("name", length: 1...140)
/// guard let institution, let platform, reader.isFaultless else { throw reader.faults }
/// ```
/// Nothing stops at the first fault, so that the sender learns all of them at once. A member that is null counts as
/// missing throughout. Child readers share the list, and each object that was read may hold only what was asked for,
/// unless `ignoreRest()` was called on its reader.
///
/// At most `faultsMax` faults are kept, lest a small request with thousands of wrong members become a big answer.
/// A reader is a cursor like `JSONValue`: a copy of it, and its children, remember together. All of them belong to
/// one task.
public struct JSONReader {
    /// The most faults that are kept of one document; those past it are found and forgotten.
    public static let faultsMax = 50

    let report: JSONReport
    /// The position of the object, or of something else that stands in its place.
    let object: Int

    /// Reads a document's root; not an object: fault `wrong_type` at `""`, and every member answers nil.
    public init(_ value: JSONValue) {
        report = JSONReport(value)
        object = value.position
    }

    /// Reads an object that the report knows.
    init(report: JSONReport, object: Int) {
        self.report = report
        self.object = object
    }

    /// This object's other members are allowed, whatever they are.
    public func ignoreRest() {
        report.allowRest(ofObjectAt: object)
    }

    /// Notes the caller's own fault at a member, be it there or not.
    public func refuse(_ name: String, code: String, _ message: String) {
        _ = member(name)
        report.add(JSONFault(code: code, message: message), at: name, ofObjectAt: object)
    }

    /// Whether no fault was found, here or in any other object of the document that is read.
    ///
    /// Before it answers it notes, once for each of these objects, the unread members; so it comes
    /// after the last question.
    public var isFaultless: Bool {
        report.noteUnknownMembers()
        return report.faults.isEmpty
    }

    /// Every fault found, to be thrown. It notes unknown members as `isFaultless` does.
    public var faults: JSONFaults {
        report.noteUnknownMembers()
        // Asked for without reason, the error must still say something rather than end the program.
        let first = report.faults.first ?? JSONFault(code: JSONFault.Code.notAllowed, message: "This is not allowed.")
        return JSONFaults(first, Array(report.faults.dropFirst()))
    }

    /// The position of a member's value if it is there and not null. From now on the member counts as asked for.
    func member(_ name: String) -> Int? {
        guard let found = report.storage.index.name(name, of: object) else { return nil }
        report.noteAsked(nameAt: found)
        return report.storage.index.entries[found + 1].kind == .null ? nil : found + 1
    }

    /// The same, or a fault `required`; none for a member of something that is no object, which has its fault.
    func requiredMember(_ name: String) -> Int? {
        if let member = member(name) { return member }
        if report.storage.index.entries[object].kind == .object {
            report.add(.required, at: name, ofObjectAt: object)
        }
        return nil
    }
}
