import HTTP
import JSON

extension Fault {
    /// How the fault is called in the log and by the control API.
    var name: String {
        switch self {
        case .status: "status"
        case .statusAfter: "status_after"
        case .dropRequest: "drop_request"
        case .dropAnswer: "drop_answer"
        case .delayRequest: "delay_request"
        case .delayAnswer: "delay_answer"
        case .truncated: "truncated"
        case .contentLength: "content_length"
        case .garbage: "garbage"
        case .garbageBody: "garbage_body"
        case .huge: "huge"
        case .slow: "slow"
        case .altered: "altered"
        }
    }

    /// The answer to a call that is not worked on; nil when it is.
    var answerInstead: SandboxAnswer? {
        switch self {
        case .status(let code, let body, let contentType, let extra):
            var headers = Headers(["content-type": contentType])
            for (name, value) in extra.sorted(by: { $0.key < $1.key }) {
                if let name = HeaderName(name), Headers.isValidValue(value) { headers.append(name, value) }
            }
            return SandboxAnswer(
                Response(Status(parsed: code) ?? .internalServerError, headers: headers, body: Array(body.utf8)))
        case .dropRequest:
            return SandboxAnswer(Response(.badGateway), delivery: .drop)
        default:
            return nil
        }
    }

    /// The bytes sent for the answer of a call that was processed.
    func spoil(_ response: Response) -> SandboxAnswer {
        switch self {
        case .status, .dropRequest, .delayRequest, .delayAnswer:
            SandboxAnswer(response)
        case .statusAfter(let code):
            SandboxAnswer(Response(Status(parsed: code) ?? .internalServerError))
        case .dropAnswer:
            SandboxAnswer(response, delivery: .drop)
        case .truncated(let count):
            SandboxAnswer(response, delivery: .truncated(count))
        case .contentLength(let difference):
            SandboxAnswer(response, delivery: .contentLength(max(0, response.body.count + difference)))
        case .garbage:
            SandboxAnswer(
                response, delivery: .raw([0x16, 0x03, 0x01, 0x00, 0xFF, 0x00] + Array("nonsense\r\n\r\n".utf8)))
        case .garbageBody:
            SandboxAnswer(Answer.json(.ok, Array(#"{"id": tru"#.utf8)))
        case .huge(let count):
            SandboxAnswer(Answer.json(.ok, Fault.padded(count)))
        case .slow(let rate):
            SandboxAnswer(response, delivery: .slow(bytesPerSecond: max(1, rate)))
        case .altered(let alterations):
            SandboxAnswer(
                Response(
                    response.status, headers: response.headers,
                    body: alterations.reduce(response.body) { $1.apply(to: $0) }))
        }
    }

    /// A JSON text of that many bytes.
    private static func padded(_ count: Int) -> [UInt8] {
        let frame = #"{"padding":""}"#.utf8.count
        let padding = String(repeating: "x", count: max(0, count - frame))
        return JSONWriter.object { $0.member("padding", padding) }
    }
}
