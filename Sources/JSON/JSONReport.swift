/// The faults and the read members that the readers of one document have noted so far. All of them share it.
///
/// It belongs to one task, and no change of a field calls anything that comes back here; so the fields that every
/// question changes are not checked for exclusive access at run time (`@exclusivity(unchecked)`).
final class JSONReport {
    let storage: JSONStorage
    @exclusivity(unchecked)
    private(set) var faults: [JSONFault] = []
    /// The notes about the root's entry and each entry that it contains. 0: nothing. For a member's name 1: it
    /// was asked for. For an object: its place in `objects`, counted from 1.
    @exclusivity(unchecked)
    private var notes: [UInt32] = []
    private let root: Int
    /// The objects that are read: the root, or what stands in its place, and then in the order in which they were
    /// asked for.
    @exclusivity(unchecked)
    private var objects: [Object] = []
    /// How many of the objects were looked through for unread members.
    @exclusivity(unchecked)
    private var checkedCount = 0

    init(_ root: JSONValue) {
        storage = root.storage
        self.root = root.position
        let count = Int(root.entry.next) - root.position
        notes.append(addingCapacity: count) { $0.append(repeating: 0, count: count) }
        objects.reserveCapacity(8)
        noteRead(Object(position: root.position, parent: root.position, name: nil))
        if root.kind != .object { add(.wrongType("an object"), at: "") }
    }

    /// One object that is being read, and where it stands.
    struct Object {
        let position: Int
        /// The position of the object that it stands in.
        let parent: Int
        /// The position of its name there, or of that of the array that holds it; nil for the root.
        let name: Int?
        var element: Int?
        var allowsRest = false
    }

    /// Notes that an object is read. For each of its readers it is the same, so that they remember together.
    func noteRead(_ object: Object) {
        guard notes[object.position - root] == 0 else { return }
        objects.append(object)
        notes[object.position - root] = UInt32(truncatingIfNeeded: objects.count)
    }

    func noteAsked(nameAt position: Int) {
        notes[position - root] = 1
    }

    func allowRest(ofObjectAt position: Int) {
        objects[place(ofObjectAt: position)].allowsRest = true
    }

    private func place(ofObjectAt position: Int) -> Int { Int(notes[position - root]) - 1 }
}

extension JSONReport {
    /// Keeps a fault at a member of an object, or at an element of that member, unless the list is full.
    @inline(never)
    func add(_ fault: JSONFault, at name: String, element: Int? = nil, ofObjectAt position: Int) {
        guard faults.count < JSONReader.faultsMax else { return }
        let member = pointer(toObjectAt: position).appendingToken(name)
        add(fault, at: element.map { "\(member)/\($0)" } ?? member)
    }

    /// Keeps a fault, unless it is kept already.
    private func add(_ fault: JSONFault, at pointer: String) {
        let placed = JSONFault(pointer: pointer, code: fault.code, message: fault.message)
        if !faults.contains(placed) { faults.append(placed) }
    }

    /// Made on demand: only a fault has to say where it is.
    private func pointer(toObjectAt position: Int) -> String {
        let object = objects[place(ofObjectAt: position)]
        guard let name = object.name else { return "" }
        let member = pointer(toObjectAt: object.parent).appendingToken(storage.index.text(storage.index.entries[name]))
        return object.element.map { "\(member)/\($0)" } ?? member
    }

    /// Adds a fault for each unread member, once for each object.
    func noteUnknownMembers() {
        while checkedCount < objects.count {
            noteUnknownMembers(of: objects[checkedCount])
            checkedCount += 1
        }
    }

    private func noteUnknownMembers(of object: Object) {
        if object.allowsRest { return }
        storage.index.forEachName(of: object.position) { name in
            if notes[name - root] != 0 || faults.count == JSONReader.faultsMax { return }
            add(.unknownMember, at: storage.index.text(storage.index.entries[name]), ofObjectAt: object.position)
        }
    }
}
