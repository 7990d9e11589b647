import HTTP
import JSON
import Synchronization
import Transport

/// What has happened, in order, for the page's live view. Kept in memory, the last 2000.
final class Journal: Sendable {
    private struct State {
        var lines: [[UInt8]] = []
        var count = 0
        var signals: [LoopBound<WakeSignal>] = []
    }

    /// Tells the page that another shop has taken over, which counts from 1 again.
    let run = Int64.random(in: 1...(1 << 52))
    private let state = Mutex(State())

    /// Adds a line, and wakes the pages that wait for one. On the server's loop.
    func add(_ kind: String, at moment: String? = nil, _ members: (inout JSONWriter) -> Void) {
        let signals = state.withLock { state in
            state.count += 1
            state.lines.append(
                JSONWriter.object {
                    $0.member("number", state.count)
                    $0.member("kind", kind)
                    if let moment { $0.member("at", moment) } else { $0.member("at", Clock.milliseconds) }
                    members(&$0)
                })
            if state.lines.count > 4000 { state.lines.removeFirst(2000) }
            defer { state.signals = [] }
            return state.signals
        }
        for signal in signals { signal.value.wake() }
    }

    /// The lines behind a number; nil when there are none yet, and then the signal is given once there are.
    func lines(after number: Int, orWake signal: LoopBound<WakeSignal>) -> [UInt8]? {
        state.withLock { state in
            guard state.count != number else {
                state.signals.append(signal)
                return nil
            }
            return answer(state, after: number)
        }
    }

    /// The lines behind a number, which may be none.
    func lines(after number: Int) -> [UInt8] {
        state.withLock { answer($0, after: number) }
    }

    private func answer(_ state: State, after number: Int) -> [UInt8] {
        let fresh = number > state.count ? state.lines.count : min(state.count - number, state.lines.count)
        return JSONWriter.object { body in
            body.member("run", run)
            body.member("last", state.count)
            body.memberArray("lines") { lines in
                for line in state.lines.suffix(fresh) { lines.elementRaw(line) }
            }
        }
    }
}
