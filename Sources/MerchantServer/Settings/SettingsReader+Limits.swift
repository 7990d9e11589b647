import HTTP
import MerchantAPI
import MerchantWorkflows
import Payments

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
        limits.handshakeRatePerAddress = optional(
            .handshakeRatePerAddress, .number(0...1_000_000), default: 20)
        limits.unsentBytesMax = optional(
            .unsentBytesMax, bytes, default: limits.unsentBytesMax)
        limits.unsentBytesPerOwnerMax = optional(
            .unsentBytesPerOwnerMax, bytes, default: limits.unsentBytesPerOwnerMax)
        limits.unfinishedBytesMax = optional(
            .unfinishedBytesMax, bytes, default: limits.unfinishedBytesMax)
        limits.unfinishedBytesPerOwnerMax = optional(
            .unfinishedBytesPerOwnerMax, bytes, default: limits.unfinishedBytesPerOwnerMax)
        if limits.handlerDeadline < timeouts.callDeadline {
            add(.handlerDeadline, .contradictory, "contradicts BELVO_TIMEOUT_MS: expected at least that")
        }
        return limits
    }

    /// Bounds of what one user may have open, beside requests.
    func userBounds() -> UserBounds {
        var bounds = UserBounds()
        let count = SettingForm<Int>.number(0...1_000_000)
        bounds.openEnrollmentsMax = optional(.openEnrollmentsMax, count, default: bounds.openEnrollmentsMax)
        bounds.enrollmentsPerDayMax = optional(.enrollmentsPerDayMax, count, default: bounds.enrollmentsPerDayMax)
        bounds.openPaymentsMax = optional(.openPaymentsMax, count, default: bounds.openPaymentsMax)
        bounds.paymentsPerDayMax = optional(.paymentsPerDayMax, count, default: bounds.paymentsPerDayMax)
        return bounds
    }

    /// The limits of all that is in flight.
    func inFlightLimits() -> InFlightLimits {
        var limits = InFlightLimits()
        limits.requestsMax = optional(.requestsMax, .number(1...1_000_000_000), default: limits.requestsMax)
        limits.requestsPerUserMax = optional(
            .requestsPerUserMax, .number(0...1_000_000_000), default: limits.requestsPerUserMax)
        limits.longPollsMax = optional(.longPollsMax, .number(0...1_000_000_000), default: limits.longPollsMax)
        return limits
    }
}
