import HTTP
import Payments

/// How much may be under way at a time: what `ServerConfiguration` does not know, because it knows neither users nor
/// long polls. docs/limits.md has it all in one table.
public struct InFlightLimits: Sendable, Equatable {
    /// Requests in all, long polls that wait and probes of `/livez` and `/readyz` not counted: 503 past it.
    ///
    /// Each holds memory and a place in the lines for the database and Belvo. Who gets no place is told at once, while
    /// those that have one are answered in time.
    public var requestsMax = 2_048

    /// Requests of one user, long polls that wait included, each until its answer has left; 0 is no limit: 429 past it.
    ///
    /// An app asks for a few things at a time. Whoever asks for hundreds shall not keep others waiting.
    public var requestsPerUserMax = 32

    /// Long polls that wait: 503 past it, before anything is read for them.
    ///
    /// They cost little, at most 2 KiB each, but all of them may be woken at one stroke.
    public var longPollsMax = 10_000

    public init() {}
}

extension SettingsReader {
    /// The bounds of a connection and of what comes on it. How long Belvo may take bounds from below how long a
    /// handler may.
    func connectionLimits(timeouts: Timeouts) -> ServerConfiguration {
        var limits = ServerConfiguration()
        let bytes = SettingForm<Int>.number(1...1 << 30)
        let count = SettingForm<Int>.number(1...1_000_000_000)
        limits.message.startLineBytesMax = optional(
            .requestLineBytesMax, bytes, default: limits.message.startLineBytesMax)
        limits.message.headerBytesMax = optional(.headerBytesMax, bytes, default: limits.message.headerBytesMax)
        limits.message.headerCountMax = optional(.headerCountMax, count, default: limits.message.headerCountMax)
        limits.message.bodyBytesMax = optional(.bodyBytesMax, bytes, default: limits.message.bodyBytesMax)
        limits.headerDeadline = optional(.headerDeadline, .milliseconds, default: limits.headerDeadline)
        limits.bodyBytesPerSecondMin = optional(.bodyBytesPerSecondMin, bytes, default: limits.bodyBytesPerSecondMin)
        // Belvo may be asked, asked again what became of it, and waited for in line.
        limits.handlerDeadline = optional(
            .handlerDeadline, .milliseconds, default: max(limits.handlerDeadline, timeouts.callDeadline * 3))
        limits.writeDeadline = optional(.writeDeadline, .milliseconds, default: limits.writeDeadline)
        limits.idleDeadline = optional(.idleDeadline, .milliseconds, default: limits.idleDeadline)
        limits.lingerDeadline = optional(.lingerDeadline, .milliseconds, default: limits.lingerDeadline)
        limits.requestsPerConnectionMax = optional(
            .requestsPerConnectionMax, count, default: limits.requestsPerConnectionMax)
        limits.connectionsMax = optional(.connectionsMax, count, default: limits.connectionsMax)
        limits.connectionsPerAddressMax = optional(
            .connectionsPerAddressMax, .number(0...1_000_000_000), default: limits.connectionsPerAddressMax)
        limits.unsentBytesMax = optional(
            .unsentBytesMax, bytes, default: limits.unsentBytesMax)
        limits.unsentBytesPerOwnerMax = optional(
            .unsentBytesPerOwnerMax, bytes, default: limits.unsentBytesPerOwnerMax)
        if limits.handlerDeadline < timeouts.callDeadline {
            add(.handlerDeadline, .contradictory, "contradicts BELVO_TIMEOUT_MS: expected at least that")
        }
        return limits
    }

    /// What one user may have under way, beside his requests.
    func userBounds() -> UserBounds {
        var bounds = UserBounds()
        let count = SettingForm<Int>.number(0...1_000_000)
        bounds.openEnrollmentsMax = optional(.openEnrollmentsMax, count, default: bounds.openEnrollmentsMax)
        bounds.enrollmentsPerDayMax = optional(.enrollmentsPerDayMax, count, default: bounds.enrollmentsPerDayMax)
        bounds.openPaymentsMax = optional(.openPaymentsMax, count, default: bounds.openPaymentsMax)
        return bounds
    }

    /// The bounds of all that is under way.
    func inFlightLimits() -> InFlightLimits {
        var limits = InFlightLimits()
        limits.requestsMax = optional(.requestsMax, .number(1...1_000_000_000), default: limits.requestsMax)
        limits.requestsPerUserMax = optional(
            .requestsPerUserMax, .number(0...1_000_000_000), default: limits.requestsPerUserMax)
        limits.longPollsMax = optional(.longPollsMax, .number(0...1_000_000_000), default: limits.longPollsMax)
        return limits
    }
}
