/// Ends the app at one of its steps, the first being number 0.
@MainActor final class Fate {
    /// Nothing of the app runs from here on.
    struct Killed: Error {}

    private let fatalStep: Int?
    private var steps = 0

    init(killingAt fatalStep: Int? = nil) {
        self.fatalStep = fatalStep
    }

    var hasKilled: Bool { fatalStep.map { steps > $0 } ?? false }

    /// Something is about to happen to the app that it may not live to see.
    func step() throws {
        steps += 1
        if hasKilled { throw Killed() }
    }
}
