import HTTP
import JSON

extension Sandbox {
    /// `GET /sandbox/webhooks`: what was made, and what became of it.
    func describeWebhooks() -> Response {
        let webhooks = withState { $0.outbox.webhooks.all }
        return Answer.object(.ok) { body in
            body.memberArray("results") { results in
                for webhook in webhooks { results.object { webhook.write(to: &$0) } }
            }
        }
    }

    /// `POST /sandbox/webhooks/release` with `{"reversed": true?}`, or `…/send` with
    /// `{"body": {…}, "copies": N?}`.
    func steerWebhooks(_ verb: String, _ request: Request) async throws(ControlFault) -> Response {
        let reader = try request.controlReader()
        switch verb {
        case "release":
            let reversed = reader.optionalBool("reversed") ?? false
            try reader.finish()
            return done { releaseWebhooks(reversed: reversed) }
        case "send":
            let body = reader.value("body").map { Array($0.raw) }
            let copies = reader.optionalInt64("copies") ?? 1
            try reader.finish()
            guard let body, (1...1000).contains(copies) else { throw .malformed("copies: 1 to 1000.") }
            return done { sendWebhook(body: body, copies: Int(copies)) }
        default:
            throw .unknownPath
        }
    }
}
