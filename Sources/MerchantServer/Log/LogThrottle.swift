import Logging
import Synchronization
import Transport

/// How many lines of each kind of event are written: a burst, then so many a second. The others are counted.
///
/// A line costs disk and attention, and whatever is logged may one day be logged for every request of
/// an attacker. So there is no kind without a bound.
final class LogThrottle: Sendable {
    /// Lines of one event in a second, and in a burst.
    static let rate = (perSecond: Int64(10), burst: Int64(100))
    /// Events with buckets of their own; further names share one bucket.
    static let eventsMax = 1_024

    /// Events of which every line is written: an operator who switches them on wants all of them.
    static let unbounded: Set<String> = ["request.answered"]

    private struct Event {
        /// When its bucket of lines will be full, in nanoseconds.
        var fullAt: Int64
        /// Lines since the last one that was written.
        var leftOut = 0
    }

    private struct State {
        var events: [String: Event] = [:]
        var leftOut = 0
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> Monotonic

    init(now: @escaping @Sendable () -> Monotonic) {
        self.now = now
    }

    /// Lines left out since the start.
    var leftOut: Int { state.withLock { $0.leftOut } }

    /// Counts a line: nil where it is to be left out, else how many of the same event were left out before it.
    func admit(_ name: String) -> Int? {
        let now = now().nanoseconds
        let interval = 1_000_000_000 / Self.rate.perSecond
        return state.withLock { state in
            let isNew = state.events[name] == nil
            let name = isNew && state.events.count >= Self.eventsMax ? "" : name
            var event = state.events[name] ?? Event(fullAt: now)
            defer { state.events[name] = event }
            let full = max(event.fullAt, now) + interval
            guard full - now <= Self.rate.burst * interval else {
                event.leftOut += 1
                state.leftOut += 1
                return nil
            }
            event.fullAt = full
            defer { event.leftOut = 0 }
            return event.leftOut
        }
    }

    /// The numbers of lines left out and not reported yet, by event; from now on they count as reported.
    func takeLeftOut() -> [(event: String, lines: Int)] {
        state.withLock { state in
            let told = state.events.filter { $0.value.leftOut > 0 }.map { (event: $0.key, lines: $0.value.leftOut) }
            for (event, _) in told { state.events[event]?.leftOut = 0 }
            return told.sorted { $0.event < $1.event }
        }
    }
}

/// Writes lines by another handler, as many as the throttle lets through, with the number of those left out before.
///
/// What is below `info` is only written for who asks for all of it.
struct ThrottledLogHandler: LogHandler {
    private var base: any LogHandler
    private let throttle: LogThrottle

    init(_ base: any LogHandler, _ throttle: LogThrottle) {
        self.base = base
        self.throttle = throttle
    }

    var logLevel: Logger.Level {
        get { base.logLevel }
        set { base.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { base.metadataProvider }
        set { base.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        guard event.level >= .info, !LogThrottle.unbounded.contains(event.message.description) else {
            return base.log(event: event)
        }
        guard let leftOut = throttle.admit(event.message.description) else { return }
        guard leftOut > 0 else { return base.log(event: event) }
        var event = event
        event.metadata = (event.metadata ?? [:]).merging(["lines_left_out": .stringConvertible(leftOut)]) { $1 }
        base.log(event: event)
    }
}

extension Logger {
    /// The same logger, with no more lines of each event than the throttle lets through.
    func throttled(by throttle: LogThrottle) -> Logger {
        let handler = ThrottledLogHandler(handler, throttle)
        return Logger(label: label, factory: { (_: String) in handler })
    }
}
