import Synchronization

/// Ends the app at one of its steps, the first being number 0.
final class Fate: Sendable {
    /// Nothing of the app runs from here on.
    struct Killed: Error {}

    private let fatalStep: Int?
    private let steps = Mutex(0)

    init(killingAt fatalStep: Int? = nil) {
        self.fatalStep = fatalStep
    }

    /// Something is about to happen to the app that it may not live to see.
    func step() throws {
        let step = steps.withLock { steps in
            defer { steps += 1 }
            return steps
        }
        if let fatalStep, step >= fatalStep { throw Killed() }
    }
}
