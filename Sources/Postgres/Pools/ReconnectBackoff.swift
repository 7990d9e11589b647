import Transport

/// The growing time between attempts that fail.
struct ReconnectBackoff {
    private let least: Duration
    private let most: Duration
    private var next: Duration
    private var timer: LoopTimer?
    private let state = State()

    private final class State {
        var isOn = false
    }

    init(_ configuration: DatabaseConfiguration) {
        least = configuration.reconnectPauseMin
        most = configuration.reconnectPauseMax
        next = configuration.reconnectPauseMin
    }

    var isOn: Bool { state.isOn }

    /// Waits, unless that is being done already, and twice as long the next time.
    mutating func begin(on loop: EventLoop, then body: @escaping () -> Void) {
        guard !state.isOn else { return }
        state.isOn = true
        // Spread, so that the servers that lost a database together do not all come back at the same moment.
        timer = loop.schedule(after: next * Double.random(in: 0.5...1)) { [state] in
            state.isOn = false
            body()
        }
        next = min(next * 2, most)
    }

    /// It worked: the next pause is a short one.
    mutating func reset() {
        next = least
    }

    mutating func cancel() {
        timer?.cancel()
        state.isOn = false
    }
}
