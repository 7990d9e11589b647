import Glibc
import JSON
import Synchronization

/// The browser's DevTools protocol on a pair of descriptors: JSON messages, each ended by a NUL.
final class DevTools: Sendable {
    /// Something that the browser tells by itself.
    struct Event: Sendable {
        let name: String
        /// The page that it is about; empty for the browser as a whole.
        let session: String
        let values: JSONValue
    }

    private struct Wait {
        let matches: @Sendable (Event) -> Bool
        let continuation: CheckedContinuation<Event, any Error>
    }

    private struct State {
        var count: Int64 = 0
        var answers: [Int64: CheckedContinuation<JSONValue, any Error>] = [:]
        var waits: [Int64: Wait] = [:]
        var events: [Event] = []
        var isOver = false

        mutating func number() -> Int64 {
            count += 1
            return count
        }
    }

    private let state = Mutex(State())
    private let input: Int32
    private let output: Int32

    init(reading input: Int32, writing output: Int32) {
        self.input = input
        self.output = output
    }

    deinit {
        close(input)
        close(output)
    }

    /// Everything that the browser has told so far.
    var events: [Event] { state.withLock { $0.events } }

    /// Whether the browser has ended.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Calls a method, and gives its result. Throws what the browser says against it.
    @discardableResult
    func call(
        _ method: String, session: String = "", _ parameters: (inout JSONWriter) -> Void = { _ in }
    ) async throws -> JSONValue {
        let number = state.withLock { $0.number() }
        let message = DevTools.message(number, method, session, parameters)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if !state.isOver { state.answers[number] = continuation }
                    return state.isOver
                }
                if isOver { return continuation.resume(throwing: BrowserFailure("the browser has ended")) }
                write(message)
            }
        } onCancel: {
            let continuation = state.withLock { $0.answers.removeValue(forKey: number) }
            continuation?.resume(throwing: CancellationError())
        }
    }

    /// Calls a method whose answer is not waited for.
    func post(_ method: String) {
        write(DevTools.message(state.withLock { $0.number() }, method, "") { _ in })
    }

    /// The first event after the first `start` ones that matches, as soon as it is told.
    func event(after start: Int, _ matches: @escaping @Sendable (Event) -> Bool) async throws -> Event {
        let number = state.withLock { $0.number() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Event, any Error>? in
                    if let event = state.events.dropFirst(start).first(where: matches) { return .success(event) }
                    guard !state.isOver else { return .failure(BrowserFailure("the browser has ended")) }
                    state.waits[number] = Wait(matches: matches, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let wait = state.withLock { $0.waits.removeValue(forKey: number) }
            wait?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Hears the browser out, to its end. Blocks.
    func readAll() {
        var pending: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(input, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            for byte in buffer[..<count] {
                if byte == 0 {
                    take(pending)
                    pending.removeAll(keepingCapacity: true)
                } else {
                    pending.append(byte)
                }
            }
        }
        end()
    }

    private func take(_ message: [UInt8]) {
        var limits = JSONLimits()
        // A picture of a page is one string.
        limits.bytesMax = 64 * 1_048_576
        limits.depthMax = 512
        limits.replacesWhatIsNoText = true
        guard let root = try? JSONDocument(parsing: message, limits: limits).root else { return }
        if let number = root["id"]?.int64 {
            let continuation = state.withLock { $0.answers.removeValue(forKey: number) }
            if let result = root["result"] {
                continuation?.resume(returning: result)
            } else {
                continuation?.resume(throwing: BrowserFailure(root["error"]?["message"]?.string ?? "no result"))
            }
        } else if let name = root["method"]?.string, let values = root["params"] {
            tell(Event(name: name, session: root["sessionId"]?.string ?? "", values: values))
        }
    }

    private func tell(_ event: Event) {
        let heard = state.withLock { state -> [Wait] in
            state.events.append(event)
            let numbers = state.waits.filter { $0.value.matches(event) }.map(\.key)
            return numbers.compactMap { state.waits.removeValue(forKey: $0) }
        }
        for wait in heard { wait.continuation.resume(returning: event) }
    }

    private func end() {
        let (answers, waits) = state.withLock { state in
            defer { (state.answers, state.waits, state.isOver) = ([:], [:], true) }
            return (state.answers.values, state.waits.values)
        }
        let failure = BrowserFailure("the browser has ended")
        for continuation in answers { continuation.resume(throwing: failure) }
        for wait in waits { wait.continuation.resume(throwing: failure) }
    }

    private static func message(
        _ number: Int64, _ method: String, _ session: String, _ parameters: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        JSONWriter.object { message in
            message.member("id", number)
            message.member("method", method)
            if !session.isEmpty { message.member("sessionId", session) }
            message.memberObject("params", parameters)
        } + [0]
    }

    /// Messages are small against the socket's buffer, so this blocks only when the browser hangs.
    private func write(_ message: [UInt8]) {
        var rest = message[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(output, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            // The browser has ended: the waiting callers get it from the reader.
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
