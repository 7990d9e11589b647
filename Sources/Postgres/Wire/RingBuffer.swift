/// A queue in one allocation that is used over and over.
struct RingBuffer<Element> {
    private var storage: [Element?] = Array(repeating: nil, count: 8)
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var first: Element? { storage[head] }

    mutating func append(_ element: Element) {
        if count == storage.count { grow() }
        storage[(head + count) & (storage.count - 1)] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = storage[head].take()
        head = (head + 1) & (storage.count - 1)
        count -= 1
        return element
    }

    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        for element in removeAll() where !isUnwanted(element) { append(element) }
    }

    mutating func removeAll() -> [Element] {
        var all: [Element] = []
        while let element = popFirst() { all.append(element) }
        return all
    }

    /// The size stays a power of two, so that an index wraps with a mask.
    private mutating func grow() {
        storage = Array(storage[head...] + storage[..<head]) + Array(repeating: nil, count: storage.count)
        head = 0
    }
}

/// From the oldest to the newest.
extension RingBuffer: Sequence {
    func makeIterator() -> some IteratorProtocol<Element> {
        (0..<count).lazy.compactMap { storage[(head + $0) & (storage.count - 1)] }.makeIterator()
    }
}
