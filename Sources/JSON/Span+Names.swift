extension Span<UInt8> {
    /// Whether two names are the same text, byte by byte after unescaping (RFC 8259 §8.3).
    func isSameText(_ one: JSONIndex.Entry, _ other: JSONIndex.Entry) -> Bool {
        guard one.hasEscapes || other.hasEscapes else {
            return extracting(one.content).isEqual(to: extracting(other.content))
        }
        return unescaped(one.content) == unescaped(other.content)
    }

    /// Whether a name is this text, byte by byte after unescaping.
    @inline(__always)
    func isText(_ name: JSONIndex.Entry, _ text: Span<UInt8>) -> Bool {
        if name.hasEscapes { return isEscapedText(name, text) }
        return Int(name.end) &- Int(name.start) == text.count &+ 2 && extracting(name.content).isEqual(to: text)
    }

    @inline(never)
    private func isEscapedText(_ name: JSONIndex.Entry, _ text: Span<UInt8>) -> Bool {
        // An escape takes six bytes at most for one of its character's.
        guard (text.count...text.count * 6).contains(name.content.count) else { return false }
        return unescaped(name.content).span.isEqual(to: text)
    }

    /// The first name of an object that stands there for the second time, once the object's content is indexed: its
    /// entries are the last.
    ///
    /// Two parsers that disagree on which of two members counts are a classic way past a check (RFC 8259 §4), hence
    /// the refusal. A handful of plain names is compared directly, behind a filter of one bit per name; anything
    /// else goes through a hash table, lest comparing each with each make a long object quadratic.
    func repeatedName(inObjectAt object: Int, of entries: Span<JSONIndex.Entry>) -> Int? {
        var filter: UInt64 = 0
        var members = 0
        var name = object + 1
        while name < entries.count {
            let entry = entries[name]
            if entry.hasEscapes || members == directlyComparedMax {
                return repeatedNameByHash(inObjectAt: object, of: entries)
            }
            let bit = filterBit(entry)
            if filter & bit != 0, hasEarlierTwin(name, inObjectAt: object, of: entries) { return name }
            filter |= bit
            members += 1
            name = entries.nameAfter(name)
        }
        return nil
    }

    /// One of 64 bits by length and two bytes: names that differ mostly differ in it.
    @inline(__always)
    private func filterBit(_ entry: JSONIndex.Entry) -> UInt64 {
        // Of an empty name they are its quotes.
        let first = UInt32(self[Int(entry.start) + 1])
        let last = UInt32(self[Int(entry.end) - 2])
        return 1 << UInt64((first &* 7 &+ last &* 3 &+ entry.end &- entry.start) & 63)
    }

    @inline(never)
    private func hasEarlierTwin(_ name: Int, inObjectAt object: Int, of entries: Span<JSONIndex.Entry>) -> Bool {
        var earlier = object + 1
        while earlier < name {
            if isSameText(entries[earlier], entries[name]) { return true }
            earlier = entries.nameAfter(earlier)
        }
        return false
    }

    /// The same by a table of open addressing. `Hasher` is seeded at random, so names cannot be chosen to collide.
    @inline(never)
    private func repeatedNameByHash(inObjectAt object: Int, of entries: Span<JSONIndex.Entry>) -> Int? {
        var table = [UInt32](repeating: 0, count: entries.tableSize(forObjectAt: object))
        var name = object + 1
        while name < entries.count {
            var slot = hash(entries[name]) & (table.count - 1)
            // 0 is free: no name has the root's entry.
            while table[slot] != 0 {
                if isSameText(entries[Int(table[slot])], entries[name]) { return name }
                slot = (slot + 1) & (table.count - 1)
            }
            table[slot] = UInt32(truncatingIfNeeded: name)
            name = entries.nameAfter(name)
        }
        return nil
    }

    private func hash(_ name: JSONIndex.Entry) -> Int {
        var hasher = Hasher()
        if name.hasEscapes {
            unescaped(name.content).withUnsafeBytes { hasher.combine(bytes: $0) }
        } else {
            extracting(name.content).withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        return hasher.finalize()
    }
}

/// The names that are compared each with each before a hash table is worth its allocation.
private let directlyComparedMax = 24

extension Span<JSONIndex.Entry> {
    /// A power of two that leaves at least half of the slots free.
    fileprivate func tableSize(forObjectAt object: Int) -> Int {
        var size = 2
        var members = 0
        var name = object + 1
        while name < count {
            members += 1
            if members * 2 > size { size *= 2 }
            name = nameAfter(name)
        }
        return size
    }
}
