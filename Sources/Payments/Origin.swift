/// Who made a record.
public enum Origin: String, Sendable, CaseIterable {
    /// This server: remembered here before Belvo was asked.
    case own
    /// Somebody else, at Belvo: an app's SDK with a token of its own, say (belvo-api.md §2.1). It was imported when
    /// Belvo told of it. Nothing is done with it from here; it only follows what Belvo says.
    case foreign = "observed"
}
