import HTTP
import JSON

/// The control API below `/sandbox/`: what tests and demos in another process use to move the sandbox.
///
/// It asks for no credentials, since a sandbox holds nothing worth having; it is not to be exposed.
extension Sandbox {
    func control(_ request: Request) async -> Response {
        do throws(ControlFault) {
            return try await answer(request)
        } catch {
            return Answer.object(error.status) { body in
                body.member("code", error.code)
                body.member("message", error.message)
            }
        }
    }

    private func answer(_ request: Request) async throws(ControlFault) -> Response {
        let path = request.target.path.split(separator: "/").dropFirst().map(String.init)
        switch (request.method, path.first ?? "", path.count) {
        case (.get, "state", 1): return describeState()
        case (.post, "reset", 1): return done { reset() }
        case (.post, "advance", 1): return try advanceClock(request)
        case (.get, "variants", 1): return describeVariants()
        case (.patch, "variants", 1), (.post, "variants", 1): return try changeVariants(request)
        case (.get, "faults", 1): return describeFaults()
        case (.post, "faults", 1): return try addFault(request)
        case (.delete, "faults", 1): return done { clearFaults() }
        case (.get, "calls", 1): return describeCalls(request)
        case (.delete, "calls", 1): return done { change { $0.calls.clear() } }
        case (.get, "intent-counts", 1): return describeCounts(request)
        case (.get, "webhooks", 1): return describeWebhooks()
        case (.post, "webhooks", 2): return try await steerWebhooks(path[1], request)
        case (.post, "enrollments", 3): return try steerEnrollment(path[1], path[2], request)
        case (.post, "payment-intents", 3): return try steerIntent(path[1], path[2], request)
        default: throw .unknownPath
        }
    }

    /// Does something that has nothing to tell.
    func done(_ body: () -> Void) -> Response {
        body()
        return Answer.noContent
    }
}

/// Why a control call was not done.
struct ControlFault: Error {
    let status: Status
    let code: String
    let message: String

    static let unknownPath = ControlFault(status: .notFound, code: "unknown_path", message: "No such control.")

    static func malformed(_ message: String) -> ControlFault {
        ControlFault(status: .badRequest, code: "malformed", message: message)
    }

    init(status: Status, code: String, message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    init(_ fault: SteeringFault) {
        switch fault {
        case .unknownObject: self.init(status: .notFound, code: "unknown_object", message: "No such object.")
        case .wrongState:
            self.init(status: .conflict, code: "wrong_state", message: "The object's state does not allow this.")
        }
    }
}

extension Request {
    /// The body of a control call as an object's reader; an empty body is an empty object.
    func controlReader() throws(ControlFault) -> JSONReader {
        let bytes = body.isEmpty ? Array("{}".utf8) : body
        do { return JSONReader(try JSONDocument(parsing: bytes).root) } catch {
            throw .malformed("The body is not JSON: \(error)")
        }
    }
}

extension JSONReader {
    /// Throws what was wrong with a control call's body; the last question to the reader.
    func finish() throws(ControlFault) {
        guard isFaultless else {
            throw .malformed(faults.all.map { "\($0.pointer): \($0.message)" }.joined(separator: " "))
        }
    }
}
