import HTTP
import JSON

/// How requests leave and answers are judged: the part that all calls share.
extension Client {
    /// Sends a request once and returns the answer if its status is 2xx.
    func exchange(_ call: Call, _ request: Request, within limit: Duration) async throws(BelvoError) -> Response {
        let response: Response
        do {
            response = try await carry(call, request, limit)
        } catch {
            throw BelvoError(Outcome(error), to: call)
        }
        guard response.status.isSuccess else { throw BelvoError(.status(ErrorBody.refusal(response)), to: call) }
        return response
    }

    /// Sends a request once that is answered by its status alone.
    ///
    /// A body that comes all the same has to be JSON: a page of something in between does not speak for Belvo.
    func acknowledgement(_ call: Call, _ request: Request) async throws(BelvoError) {
        let response = try await exchange(call, request, within: configuration.timeout)
        guard !response.body.isEmpty else { return }
        try judge(call) { () throws(MalformedAnswer) in _ = try root(response) }
    }

    /// Sends a request once and reads the object that it is answered with.
    func object<Noun>(
        _ call: Call,
        _ request: Request,
        reading read: (Answer) throws(MalformedAnswer) -> Noun
    ) async throws(BelvoError) -> Noun {
        let response = try await exchange(call, request, within: configuration.timeout)
        return try judge(call) { () throws(MalformedAnswer) in try read(Answer(root(response))) }
    }

    /// The JSON value that a body consists of.
    func root(_ response: Response) throws(MalformedAnswer) -> JSONValue {
        // One text that is none, such as another payment's in a list, hides no status.
        var limits = JSONLimits.tolerant
        limits.bytesMax = configuration.answerBytesMax
        do {
            return try JSONDocument(parsing: response.body, limits: limits).root
        } catch {
            throw MalformedAnswer(reason: "the answer is no JSON: \(error.reason)", isJSON: false)
        }
    }

    /// Turns what is wrong with an answer into what that means for the call.
    func judge<Value>(_ call: Call, _ read: () throws(MalformedAnswer) -> Value) throws(BelvoError) -> Value {
        do {
            return try read()
        } catch {
            throw BelvoError(.unusable(reason: error.reason, isJSON: error.isJSON), to: call)
        }
    }
}
