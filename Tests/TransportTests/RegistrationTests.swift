import CLinux
import Glibc
import TestSupport
import Testing

@testable import Transport

@Suite(.timeLimit(.minutes(1))) struct RegistrationTests {
    @Test func `an event of a descriptor that another's handler gave back in the same round is dropped`() async throws {
        try await withLoop { loop in
            let (one, two) = (try WakeEvent(), try WakeEvent())
            let signaled = Box<[String]>([])
            // Whichever is heard first gives the other back.
            try one.listen(on: loop) {
                signaled.update { $0.append("one") }
                two.stopListening()
            }
            try two.listen(on: loop) {
                signaled.update { $0.append("two") }
                one.stopListening()
            }
            one.signal()
            two.signal()
            // The next round of the loop has heard all that there is.
            try await loop.sleep(for: .milliseconds(1))
            #expect(signaled.value.count == 1)
            #expect(loop.registrationCount == 1)
        }
    }

    @Test func `an event of a place's former owner is not taken for its new owner's`() async throws {
        try await withLoop { loop in
            let (one, two, silent) = (try WakeEvent(), try WakeEvent(), try WakeEvent())
            let heard = Box(false)
            let exchange: (WakeEvent) throws -> Void = { other in
                other.stopListening()
                try silent.listen(on: loop) { heard.update { $0 = true } }
            }
            try one.listen(on: loop) { try? exchange(two) }
            try two.listen(on: loop) { try? exchange(one) }
            one.signal()
            two.signal()
            // The next round of the loop has heard all that there is.
            try await loop.sleep(for: .milliseconds(1))
            #expect(!heard.value)
            #expect(loop.registrationCount == 2)
        }
    }

    @Test func `a handler hears again as long as something is there`() async throws {
        try await withLoop { loop in
            let wakeEvent = try WakeEvent()
            let count = Box(0)
            let isHeardThrice = Gate()
            try wakeEvent.listen(on: loop, answering: false) {
                count.update { $0 += 1 }
                guard count.value == 3 else { return }
                wakeEvent.stopListening()
                isHeardThrice.open()
            }
            wakeEvent.signal()
            await isHeardThrice.pass()
        }
    }

    @Test func `who does not read is not woken by a peer that has finished, but once by one that is gone`() async throws
    {
        try await withLoop { loop in
            let pair = try SocketPair()
            let heard = Box<[Readiness]>([])
            let watcher = Watcher(pair.ours, on: loop) { readiness in heard.update { $0.append(readiness) } }
            try watcher.watch([])
            shutdown(pair.theirs.raw, Int32(SHUT_WR))
            // Several rounds of the loop, in which nothing may be heard.
            try await loop.sleep(for: .milliseconds(5))
            #expect(heard.value.isEmpty)
            try watcher.change(to: .readable)
            // The next round of the loop has heard all that there is.
            try await loop.sleep(for: .milliseconds(1))
            #expect(heard.value.first == [.readable, .peerFinished])
            watcher.stop()
        }
    }
}

/// An eventfd with a handler.
private final class WakeEvent: EventHandler {
    private let descriptor: Descriptor
    private var loop: EventLoop?
    private var registration: Registration?
    private var answersByReading = true
    private var body: () -> Void = {}

    init() throws {
        descriptor = Descriptor(owning: eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC)))
    }

    func listen(on loop: EventLoop, answering: Bool = true, _ body: @escaping () -> Void) throws {
        self.loop = loop
        self.body = body
        answersByReading = answering
        registration = try loop.register(descriptor.raw, for: .readable, handler: self)
    }

    func signal() {
        var one: UInt64 = 1
        _ = write(descriptor.raw, &one, 8)
    }

    func handle(_ readiness: Readiness) {
        var count: UInt64 = 0
        if answersByReading { _ = read(descriptor.raw, &count, 8) }
        body()
    }

    func stopListening() {
        if let registration { loop?.deregister(registration) }
        registration = nil
        body = {}
    }
}

private final class Watcher: EventHandler {
    private let descriptor: Int32
    private let loop: EventLoop
    private let body: (Readiness) -> Void
    private var registration: Registration?

    init(_ descriptor: borrowing Descriptor, on loop: EventLoop, _ body: @escaping (Readiness) -> Void) {
        self.descriptor = descriptor.raw
        self.loop = loop
        self.body = body
    }

    func watch(_ interest: Interest) throws {
        registration = try loop.register(descriptor, for: interest, handler: self)
    }

    func change(to interest: Interest) throws {
        if let registration { try loop.setInterest(interest, of: registration) }
    }

    func stop() {
        if let registration { loop.deregister(registration) }
        registration = nil
    }

    func handle(_ readiness: Readiness) { body(readiness) }
}

private struct SocketPair: ~Copyable {
    let ours: Descriptor
    let theirs: Descriptor

    init() throws {
        var descriptors: [Int32] = [-1, -1]
        _ = try retryingInterrupts("socketpair") {
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &descriptors)
        }
        ours = Descriptor(owning: descriptors[0])
        theirs = Descriptor(owning: descriptors[1])
    }
}
