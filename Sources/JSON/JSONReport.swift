/// What the readers of one document have found and asked so far.
///
/// It holds the objects that are read, not their readers, so that nothing refers in a circle.
final class JSONReport {
    private(set) var faults: [JSONFault] = []
    let root: Object
    /// The objects below the root that were asked for, in that order, and by their positions.
    private var inner: [Object] = []
    private var innerByPosition: [Int: Object] = [:]

    init(_ root: JSONValue) {
        self.root = Object(root, "")
        if root.kind != .object { add(.wrongType("an object"), at: "") }
    }

    /// One object that is being read, or something else that stands in its place.
    final class Object {
        let value: JSONValue
        let pointer: String
        var asked = AskedMembers()
        var allowsRest = false
        fileprivate var isChecked = false

        fileprivate init(_ value: JSONValue, _ pointer: String) {
            self.value = value
            self.pointer = pointer
        }
    }

    /// What is known of an object below the root: the same for each of its readers, so that they remember together.
    func object(_ value: JSONValue, pointer: String) -> Object {
        if let known = innerByPosition[value.position] { return known }
        let object = Object(value, pointer)
        inner.append(object)
        innerByPosition[value.position] = object
        return object
    }

    /// Keeps a fault, unless it is kept already or the list is full.
    func add(_ fault: JSONFault, at pointer: String) {
        let placed = JSONFault(pointer: pointer, code: fault.code, message: fault.message)
        guard faults.count < JSONReader.faultsMax, !faults.contains(placed) else { return }
        faults.append(placed)
    }

    /// Adds a fault for each member that nobody asked for, once for each object.
    func noteUnknownMembers() {
        noteUnknownMembers(of: root)
        for object in inner { noteUnknownMembers(of: object) }
    }

    private func noteUnknownMembers(of object: Object) {
        guard !object.isChecked else { return }
        object.isChecked = true
        if object.allowsRest { return }
        let value = object.value
        for (ordinal, name) in value.index.names(of: value.position).enumerated()
        where !object.asked.contains(ordinal) {
            guard faults.count < JSONReader.faultsMax else { return }
            add(.unknownMember, at: object.pointer.appendingToken(value.index.text(value.index.entries[name])))
        }
    }
}

/// Which members of an object were asked for, by their places in it. Costs nothing for the usual small object.
struct AskedMembers {
    private var first64: UInt64 = 0
    private var others: Set<Int> = []

    mutating func insert(_ ordinal: Int) {
        if ordinal < 64 { first64 |= 1 << UInt64(ordinal) } else { others.insert(ordinal) }
    }

    func contains(_ ordinal: Int) -> Bool {
        ordinal < 64 ? first64 >> UInt64(ordinal) & 1 == 1 : others.contains(ordinal)
    }
}
