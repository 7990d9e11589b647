/// The maker of a record.
public enum Origin: String, Sendable, CaseIterable {
    /// This server: remembered here before Belvo was asked.
    case own
    /// Another program, at Belvo: an app's SDK with a token of its own, for example (belvo-api.md §2.1). It was
    /// imported when a webhook named it. Nothing is done with it from here; it only follows Belvo's status.
    case foreign = "observed"
}
