import HTTP

/// What the parser of requests promises about any bytes.
enum RequestPromises {
    static func check(_ bytes: [UInt8]) throws(BrokenPromise) {
        for limits in [MessageLimits(), .tight] {
            let whole = try RequestReading(of: [bytes[...]], limits: limits)
            for pieces in Cuts.of(bytes) {
                let reading = try RequestReading(of: pieces, limits: limits)
                try promise(
                    "cut into \(pieces.map(\.count)) the bytes are \(reading), and whole \(whole)", reading == whole)
            }
            for exchange in whole.exchanges { try check(exchange, limits: limits) }
        }
    }

    private static func check(_ exchange: RequestReading.Exchange, limits: MessageLimits) throws(BrokenPromise) {
        let request = exchange.request
        try request.headers.checkPromises()
        try promise("there is one host at most", request.headers.values("host").count <= 1)
        try promise("a body has no more bytes than allowed", request.body.count <= limits.bodyBytesMax)
        try promise("there are no more fields than allowed", request.headers.count <= limits.headerCountMax)
        try promise("nobody is given a tunnel", request.method != .connect)
        if let length = request.headers["content-length"] {
            try promise("a body is as long as is said", Int(length) == request.body.count)
        }
        if request.headers.lists("connection", token: "close") {
            try promise("a connection that is to be closed is", !exchange.keepAlive)
        }
        try promise("what is announced to stay open stays open", exchange.keepAlive || !exchange.announcesKeepAlive)
        try checkTarget(request.target)
        try checkTags(request.headers)
        try checkRoundTrip(request)
    }

    private static func checkTarget(_ target: Target) throws(BrokenPromise) {
        try promise("a path begins with a slash", target.path.utf8.first == UInt8(ascii: "/") || target == "*")
        let text = target.description.utf8
        try promise("a target is visible ASCII", text.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
        for segment in target.path.split(separator: "/") {
            // A segment that stands for no text is refused, and that is all there is to promise about it.
            guard let text = try? Target.unescaped(segment) else { continue }
            try promise("a segment holds no NUL", !text.utf8.contains(0))
        }
        if let query = target.query { try QueryPromises.checkForm(Array(query.utf8)) }
    }

    private static func checkTags(_ headers: Headers) throws(BrokenPromise) {
        guard case .tags(let tags)? = IfNoneMatch(headers) else { return }
        let written = Headers(["if-none-match": tags.map(\.description).joined(separator: ", ")])
        try promise("tags can be read as they were written", IfNoneMatch(written) == .tags(tags))
    }

    private static func checkRoundTrip(_ request: Request) throws(BrokenPromise) {
        let ours: Set = ["host", "connection", "content-length", "transfer-encoding"]
        let host = request.headers["host"] ?? "a"
        var bytes: [UInt8] = []
        MessageSerializer.append(request, host: host, to: &bytes)
        let reading = try RequestReading(of: [bytes[...]], limits: .ample)
        guard reading.fault == nil, reading.exchanges.count == 1, let again = reading.exchanges.first?.request else {
            throw BrokenPromise("a request that is written is one request: \(reading)")
        }
        let isSame =
            again.method == request.method && again.target == request.target && again.body == request.body
            && again.headers["host"] == host
            && again.headers.fields(without: ours) == request.headers.fields(without: ours)
        try promise("a request is read as it was written: \(reading)", isSame)
    }
}

/// What a stream of requests came to.
struct RequestReading: Equatable, CustomStringConvertible {
    struct Exchange {
        let request: Request
        let keepAlive: Bool
        let announcesKeepAlive: Bool
    }

    private(set) var exchanges: [Exchange] = []
    private(set) var fault: MessageFault?
    private(set) var isBetweenMessages = true
    private(set) var unfinishedBodyBytes = 0

    init(of pieces: [ArraySlice<UInt8>], limits: MessageLimits) throws(BrokenPromise) {
        var parser = RequestParser(limits: limits)
        for piece in pieces where fault == nil { try feed(piece, to: &parser) }
        guard fault == nil else { return }
        isBetweenMessages = parser.isBetweenMessages
        unfinishedBodyBytes = parser.bodyBytesReceived
        try promise("no more of a body is held than allowed", unfinishedBodyBytes <= limits.bodyBytesMax)
    }

    private mutating func feed(_ piece: ArraySlice<UInt8>, to parser: inout RequestParser) throws(BrokenPromise) {
        let bytes = Array(piece)
        var left = 0
        var waits = 0
        bytes.withUnsafeBytes { bytes in
            var input = bytes
            do throws(MessageFault) {
                reading: while true {
                    switch try parser.next(from: &input) {
                    case .needsMore: break reading
                    case .expectsContinue: waits += 1
                    case .request(let request, let keepAlive):
                        let exchange = Exchange(
                            request: request, keepAlive: keepAlive, announcesKeepAlive: parser.announcesKeepAlive)
                        exchanges.append(exchange)
                    }
                }
            } catch {
                fault = error
            }
            left = input.count
        }
        try promise("what is not a whole request yet is taken", fault != nil || left == 0)
        try promise("whoever waits is told to go on once", waits <= 1)
    }

    static func == (one: RequestReading, other: RequestReading) -> Bool {
        one.fault == other.fault && one.isBetweenMessages == other.isBetweenMessages
            && one.unfinishedBodyBytes == other.unfinishedBodyBytes
            && one.exchanges.elementsEqual(other.exchanges, by: RequestReading.areSame)
    }

    private static func areSame(_ one: Exchange, _ other: Exchange) -> Bool {
        one.keepAlive == other.keepAlive && one.announcesKeepAlive == other.announcesKeepAlive
            && one.request.method == other.request.method && one.request.target == other.request.target
            && one.request.body == other.request.body
            && one.request.headers.fields() == other.request.headers.fields()
    }

    var description: String {
        let requests = exchanges.map { exchange in
            let request = exchange.request
            let fields = request.headers.fields().map { "\(text($0.name)): \(text($0.value))" }
            return "\(request.method) \(request.target) \(fields) \(text(request.body)) "
                + (exchange.keepAlive ? "open" : "close")
        }
        return "\(requests), \(fault.map(\.description) ?? (isBetweenMessages ? "whole" : "…"))"
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self).debugDescription }
}

extension MessageLimits {
    /// So narrow that short messages meet every one of them.
    static let tight: MessageLimits = {
        var limits = MessageLimits()
        limits.startLineBytesMax = 40
        limits.headerBytesMax = 96
        limits.headerCountMax = 4
        limits.bodyBytesMax = 16
        limits.chunkOverheadBytesMax = 24
        return limits
    }()

    /// Wide enough for whatever came through the usual ones and was written anew.
    static let ample: MessageLimits = {
        var limits = MessageLimits()
        limits.startLineBytesMax *= 2
        limits.headerBytesMax *= 4
        limits.headerCountMax += 4
        return limits
    }()
}
