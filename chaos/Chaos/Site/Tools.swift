import Transport

/// What chaos is played with: the programs, and how much of everything.
public struct Tools: Sendable {
    /// The directory of `merchant` and `belvo-sandbox`.
    public var programs: String
    /// A directory that PostgreSQL's user may enter, for everything that is written.
    public var scratch: String
    /// How many purchases the sweep of kills makes at least.
    public var purchases = 500
    /// For how long each of the other scenarios has its load.
    public var load = Duration.seconds(20)
    /// How many users buy at the same time.
    public var users = 8
    /// How long everything may take to come to its end when nothing is wrong any more.
    public var healing = Duration.seconds(150)
    /// How long apps may have to wait at first until time is made to pass.
    public var timeouts = Duration.seconds(25)
    /// Whether PostgreSQL waits until the disk has what it writes. No machine fails here, so that it may do without.
    public var waitsForDisk = true
    /// Settings of the server in place of the scenario's.
    public var settings: [String: String] = [:]
    /// Hears how far it is.
    public var say: @Sendable (String) -> Void = { _ in }

    public init(programs: String, scratch: String) {
        self.programs = programs
        self.scratch = scratch
    }

    /// A program that is built beside the others.
    func program(_ name: String) -> String { "\(programs)/\(name)" }
}
