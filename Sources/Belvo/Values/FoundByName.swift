/// What a list shows that was asked for by an `external_id`.
public struct LookUp<Noun: Sendable>: Sendable {
    /// What carries it: none, one, or, since Belvo does not promise that it is unique, several.
    public let named: [Noun]
    /// What is listed all the same, as far as it can be read: a filter that Belvo overlooks returns strangers' objects.
    public let others: [Noun]
}
