import Glibc
import JSON
import Logging
import Payments
import Testing

@testable import MerchantServer

struct JSONLogHandlerTests {
    @Test func `an event is one line with its time, level, label, name and metadata`() throws {
        let pipe = try Pipe()
        var logger = pipe.logger(level: .info)
        logger[metadataKey: "request_id"] = "r1"
        logger.info("payment.succeeded", metadata: ["payment_id": "p1", "amount": "0.13"])
        #expect(
            try pipe.read()
                == #"{"time":"2027-01-15T08:00:00.000000Z","level":"info","label":"test","event":"payment.succeeded","#
                + #""amount":"0.13","payment_id":"p1","request_id":"r1"}"# + "\n")
    }

    @Test func `numbers and booleans stay what they are, and nested values nest`() throws {
        let pipe = try Pipe()
        pipe.logger(level: .info).info(
            "a",
            metadata: [
                "count": .stringConvertible(7), "is": .stringConvertible(true), "took": .stringConvertible(1.5),
                "list": ["x", .stringConvertible(Int64.min)], "map": ["b": "2", "a": "1"],
            ])
        #expect(
            try pipe.read().contains(
                #""count":7,"is":true,"list":["x",-9223372036854775808],"map":{"a":"1","b":"2"},"took":"1.5"}"#))
    }

    @Test func `redacted values stay redacted, however they come`() throws {
        let pipe = try Pipe()
        let name = try PersonName("Maria Secreta")
        struct Failure: Error { let taxID: TaxID }
        let failure = Failure(taxID: try TaxID("529.982.247-25"))
        pipe.logger(level: .info).error(
            "failed: \(name)", error: failure,
            metadata: [
                "a": .stringConvertible(name), "b": "\(name)", "c": [.stringConvertible(name)],
                "d": ["e": "\([name])"],
            ])
        let line = try pipe.read()
        #expect(!line.contains("Secreta") && !line.contains("52998224725"))
        #expect(line.split(separator: "‹redacted›").count == 7)
    }

    @Test func `metadata cannot take the place of what the handler writes`() throws {
        let pipe = try Pipe()
        pipe.logger(level: .info).info("true", metadata: ["event": "forged", "time": "forged", "truncated": "forged"])
        let root = try JSONDocument(parsing: Array(pipe.read().utf8)).root
        #expect(root["event"]?.string == "true" && root["event_"]?.string == "forged")
        #expect(root["time"]?.string == "2027-01-15T08:00:00.000000Z" && root["truncated"] == nil)
    }

    @Test func `the event's metadata wins over the provider's, and that over the logger's`() throws {
        let pipe = try Pipe()
        var handler = pipe.handler(level: .info)
        handler.metadataProvider = Logger.MetadataProvider { ["a": "provider", "b": "provider"] }
        handler.metadata = ["a": "logger", "b": "logger", "c": "logger"]
        Logger(label: "test") { [handler] _ in handler }.info("x", metadata: ["a": "event"])
        #expect(try pipe.read().hasSuffix(#""a":"event","b":"provider","c":"logger"}"# + "\n"))
    }

    @Test(arguments: Logger.Level.allCases)
    func `what is below the level is not written`(level: Logger.Level) throws {
        let pipe = try Pipe()
        let logger = pipe.logger(level: level)
        for other in Logger.Level.allCases { logger.log(level: other, "\(other)") }
        let lines = try pipe.read().split(separator: "\n")
        #expect(lines.count == Logger.Level.allCases.filter { $0 >= level }.count)
    }

    @Test func `lines of many threads are never mixed`() async throws {
        let pipe = try Pipe(capacity: 1 << 20)
        let logger = pipe.logger(level: .info)
        let text = String(repeating: "x", count: 900)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for _ in 0..<20 { logger.info("\(number)", metadata: ["a": "\(text)", "b": "\(text)"]) }
                }
            }
        }
        let lines = try pipe.read().split(separator: "\n")
        #expect(lines.count == 160)
        for line in lines { _ = try JSONDocument(parsing: Array(line.utf8)) }
    }

    @Test func `a reader that stands still stops nobody, and learns how many lines it missed`() throws {
        let pipe = try Pipe()
        let logger = pipe.logger(level: .info)
        let text = String(repeating: "x", count: 900)
        for _ in 0..<1_000 { logger.info("a", metadata: ["a": "\(text)"]) }
        let kept = try pipe.read().split(separator: "\n")
        #expect(kept.count < 100)
        for line in kept { _ = try JSONDocument(parsing: Array(line.utf8)) }
        logger.info("b")
        logger.info("c")
        let after = try pipe.read().split(separator: "\n")
        #expect(after.count == 2)
        #expect(after[0].hasSuffix(#""event":"b","dropped_lines":\#(1_000 - kept.count)}"#))
        #expect(after[1].hasSuffix(#""event":"c"}"#))
    }

    @Test func `a reader that is gone stops nobody either`() throws {
        let pipe = try Pipe()
        let logger = pipe.logger(level: .info)
        pipe.closeReader()
        for _ in 0..<100 { logger.info("a") }
    }
}

/// A pipe whose one end is a log's output.
private final class Pipe: @unchecked Sendable {
    // Unchecked, because only the test's own task closes the reader, after all reads have ended.
    private var reader: Int32
    private let writer: Int32
    /// `F_SETPIPE_SZ`, which Glibc's module leaves out (fcntl(2)).
    private static let setSize: Int32 = 1031

    /// Room for at least so many bytes; a line takes up a whole page.
    init(capacity: Int32 = 65_536) throws {
        var ends: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&ends) == 0)
        (reader, writer) = (ends[0], ends[1])
        try #require(fcntl(writer, Pipe.setSize, capacity) >= capacity)
    }

    deinit {
        if reader >= 0 { close(reader) }
        close(writer)
    }

    func handler(level: Logger.Level) -> JSONLogHandler {
        JSONLogHandler(label: "test", level: level, output: LogOutput(descriptor: writer)) {
            Timestamp(microsecondsSince1970: 1_800_000_000_000_000)
        }
    }

    func logger(level: Logger.Level) -> Logger {
        Logger(label: "test") { [handler = handler(level: level)] _ in handler }
    }

    /// Everything that is in the pipe: at least something.
    func read() throws -> String {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = Glibc.read(reader, &bytes, bytes.count)
        try #require(count > 0)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    func closeReader() {
        close(reader)
        reader = -1
    }
}
