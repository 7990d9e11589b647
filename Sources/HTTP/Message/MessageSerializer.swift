/// Writes messages, behind whatever an array holds already: answers to pipelined requests leave together.
///
/// The fields that frame a message and speak of the connection are written here and nowhere else:
/// among a message's own fields they are left out, so that no message can be framed twice.
public enum MessageSerializer {
    /// The message's statement about keeping its connection (RFC 9112 §9.3, §9.6).
    public enum ConnectionOption: Sendable {
        /// Nothing: it stays open, as HTTP/1.1 connections do.
        case unstated
        case close
        /// It stays open, said for HTTP/1.0 (`RequestParser.announcesKeepAlive`).
        case keepAlive
    }

    /// The interim answer to `Expect: 100-continue` (RFC 9110 §15.2.1).
    public static let continueResponse = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// Writes a response to a request of that method.
    ///
    /// `date` is the value of the Date field (RFC 9110 §6.6.1), which the caller makes once a second;
    /// without one the field is left out. The answer to HEAD tells the length of the body and ends
    /// before it; 204 and 304 have neither (RFC 9110 §8.6).
    public static func append(
        _ response: Response, answering method: Method, date: [UInt8] = [],
        connection: ConnectionOption = .unstated, to bytes: inout [UInt8]
    ) {
        let isFramed = !response.status.forbidsBody
        let phrase = response.status.phrase
        let room =
            fixedBytesMax + phrase.utf8CodeUnitCount + date.count + response.headers.lineBytesMax + response.body.count
        bytes.append(addingCapacity: room) { output in
            output.append("HTTP/1.1 ")
            output.append(decimal: response.status.code)
            output.append(" ")
            output.append(phrase)
            if !date.isEmpty {
                output.append("\r\ndate: ")
                output.append(date)
            }
            write(connection, to: &output)
            if isFramed { write(contentLength: response.body.count, to: &output) }
            output.append("\r\n")
            response.headers.write(to: &output) { isOurs($0, $1) || $1.equals("date", in: $0) }
            output.append("\r\n")
            if isFramed && method != .head { output.append(response.body) }
        }
    }

    /// Writes a request to a host, `name` or `name:port` (`URL.Origin.authority`).
    ///
    /// Methods that are defined with a body tell its length also when it is empty (RFC 9110 §8.6).
    public static func append(
        _ request: Request, host: String, connection: ConnectionOption = .unstated, to bytes: inout [UInt8]
    ) {
        precondition(HeaderName(request.method.rawValue) != nil, "a method is a token")
        precondition(Headers.isValidValue(host) && !host.isEmpty, "a request names its host")
        let method = request.method.rawValue
        let target = request.target.description
        let room =
            fixedBytesMax + method.utf8.count + target.utf8.count + host.utf8.count
            + request.headers.lineBytesMax + request.body.count
        bytes.append(addingCapacity: room) { output in
            output.append(string: method)
            output.append(" ")
            output.append(string: target)
            output.append(" HTTP/1.1\r\nhost: ")
            output.append(string: host)
            write(connection, to: &output)
            if !request.body.isEmpty || request.method.expectsBody {
                write(contentLength: request.body.count, to: &output)
            }
            output.append("\r\n")
            request.headers.write(to: &output) { isOurs($0, $1) || $1.equals("host", in: $0) }
            output.append("\r\n")
            output.append(request.body)
        }
    }

    /// More than what is written around the variable parts takes: every literal here and two numbers.
    private static let fixedBytesMax = 160

    private static func write(_ connection: ConnectionOption, to output: inout OutputSpan<UInt8>) {
        switch connection {
        case .unstated: break
        case .close: output.append("\r\nconnection: close")
        case .keepAlive: output.append("\r\nconnection: keep-alive")
        }
    }

    private static func write(contentLength: Int, to output: inout OutputSpan<UInt8>) {
        output.append("\r\ncontent-length: ")
        output.append(decimal: contentLength)
    }

    /// Whether a field frames a message or speaks of its connection.
    private static func isOurs(_ name: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
        bytes.equals("connection", in: name) || bytes.equals("content-length", in: name)
            || bytes.equals("transfer-encoding", in: name)
    }
}

extension Method {
    /// Whether a request of the method without Content-Length may be one whose body was forgotten.
    fileprivate var expectsBody: Bool { self == .post || self == .put || self == .patch }
}
