/// Objects in the order in which they were made, found by their id.
struct Register<Item: Identifiable & Sendable>: Sendable where Item.ID == String {
    private(set) var all: [Item] = []
    private var places: [String: Int] = [:]

    subscript(id: String) -> Item? { places[id].map { all[$0] } }

    mutating func add(_ item: Item) {
        precondition(places[item.id] == nil, "an id is given once")
        places[item.id] = all.count
        all.append(item)
    }

    /// Changes one object in place; nothing happens for an id that is not there.
    mutating func change(_ id: String, _ body: (inout Item) -> Void) {
        guard let place = places[id] else { return }
        body(&all[place])
    }
}
