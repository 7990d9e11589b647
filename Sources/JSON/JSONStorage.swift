/// The storage that the values and readers of one document share: its index.
final class JSONStorage: Sendable {
    let index: JSONIndex

    init(_ index: consuming JSONIndex) {
        self.index = index
    }
}
