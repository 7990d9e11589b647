/// What the readers of one document have found and asked so far.
///
/// It holds the objects that are read, not their readers, so that nothing refers in a circle.
final class JSONReport {
    private(set) var faults: [JSONFault] = []
    let root: Object
    /// The objects below the root that were asked for, in that order.
    @exclusivity(unchecked)
    private var inner: [Object] = []
    /// The same by their positions, once they are too many to be looked through.
    private var innerByPosition: [Int: Object] = [:]

    private static let lookedThroughMax = 16

    init(_ root: JSONValue) {
        self.root = Object(root, in: nil)
        if root.kind != .object { add(.wrongType("an object"), at: "") }
    }

    /// One object that is being read, or something else that stands in its place.
    ///
    /// It is a reader's, which belongs to one task, and no change of a field calls anything that comes back here; so
    /// the fields that every question changes are not looked after at run time (`@exclusivity(unchecked)`).
    final class Object {
        let value: JSONValue
        @exclusivity(unchecked)
        var asked = AskedMembers()
        @exclusivity(unchecked)
        var allowsRest = false
        @exclusivity(unchecked)
        fileprivate var isChecked = false
        private let place: Place?

        /// Where an object stands: in which other one, under which name, and in which element if that is an array.
        struct Place {
            let parent: Object
            let name: String
            var element: Int?
        }

        fileprivate init(_ value: JSONValue, in place: Place?) {
            self.value = value
            self.place = place
        }

        /// Made when somebody asks: only a fault has to say where it is.
        var pointer: String {
            guard let place else { return "" }
            let member = place.parent.pointer.appendingToken(place.name)
            return place.element.map { "\(member)/\($0)" } ?? member
        }
    }

    /// What is known of an object below the root: the same for each of its readers, so that they remember together.
    func object(_ value: JSONValue, in place: Object.Place) -> Object {
        if let known = known(at: value.position) { return known }
        let object = Object(value, in: place)
        inner.append(object)
        if inner.count > Self.lookedThroughMax {
            if innerByPosition.isEmpty {
                for object in inner { innerByPosition[object.value.position] = object }
            } else {
                innerByPosition[value.position] = object
            }
        }
        return object
    }

    private func known(at position: Int) -> Object? {
        inner.count > Self.lookedThroughMax
            ? innerByPosition[position] : inner.first { $0.value.position == position }
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
