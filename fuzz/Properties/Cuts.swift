/// The ways in which a network may cut a message.
enum Cuts {
    /// Whole, byte by byte, and in two at about 24 places, which for short messages is everywhere.
    static func of(_ bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
        [[bytes[...]], bytes.indices.map { bytes[$0...$0] }]
            + places(in: bytes.count).map { [bytes[..<$0], bytes[$0...]] }
    }

    /// Places within a message of that length, spread evenly.
    static func places(in count: Int) -> [Int] {
        guard count > 1 else { return [] }
        // Odd, so that the places fall on every part of a repeated pattern.
        let step = count <= 24 ? 1 : (count / 24) | 1
        return Array(stride(from: 1, to: count, by: step))
    }
}
