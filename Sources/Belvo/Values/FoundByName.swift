/// The result of asking a list for the objects with one `external_id`.
public struct FoundByName<Noun: Sendable>: Sendable {
    /// The objects that have it: none, one, or, since Belvo does not promise that it is unique, several.
    public let named: [Noun]
    /// Objects with another `external_id`, as far as they can be read: a filter that Belvo ignores returns them too.
    public let others: [Noun]
}
