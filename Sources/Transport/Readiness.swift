import CLinux

/// Hears when its descriptor can be read or written. Called on the loop's thread.
public protocol EventHandler: AnyObject {
    /// Something can be done, or the descriptor has failed; a call that then blocks is no error.
    func handle(_ readiness: Readiness)
}

/// The events that a registration waits for.
public struct Interest: OptionSet, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let readable = Interest(rawValue: 1)
    public static let writable = Interest(rawValue: 2)
    /// That the peer has finished sending, and nothing of what it has sent. Heard again and again.
    public static let finished = Interest(rawValue: 4)

    var epoll: UInt32 {
        (contains(.readable) ? EPOLLIN.rawValue : 0) | (contains(.writable) ? EPOLLOUT.rawValue : 0)
            | (contains(.finished) ? EPOLLRDHUP.rawValue : 0)
    }
}

/// The events that a descriptor is ready for.
public struct Readiness: OptionSet, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let readable = Readiness(rawValue: 1)
    public static let writable = Readiness(rawValue: 2)
    /// The peer has finished sending (EPOLLRDHUP); bytes may still be waiting to be read.
    public static let peerFinished = Readiness(rawValue: 4)
    /// The connection is gone in both directions, or failed (EPOLLHUP, EPOLLERR).
    public static let hungUp = Readiness(rawValue: 8)

    init(epoll events: UInt32) {
        var readiness: Readiness = []
        if events & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
        if events & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
        if events & EPOLLRDHUP.rawValue != 0 { readiness.insert(.peerFinished) }
        if events & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { readiness.insert(.hungUp) }
        self = readiness
    }
}

/// A loop's promise to watch one descriptor. Valid until it is given back.
public struct Registration: Sendable {
    let slot: Int32
    let generation: UInt32

    init(slot: Int32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    init(token: UInt64) {
        slot = Int32(truncatingIfNeeded: token & 0xFFFF_FFFF)
        generation = UInt32(truncatingIfNeeded: token >> 32)
    }

    var token: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: slot)) }
}
