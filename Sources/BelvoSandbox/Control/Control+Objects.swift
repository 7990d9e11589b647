import HTTP
import JSON

extension Sandbox {
    /// `POST /sandbox/enrollments/{id}/{verb}`.
    func steerEnrollment(_ id: String, _ verb: String, _ request: Request) throws(ControlFault) -> Response {
        let reader = try request.controlReader()
        let code = reader.optionalString("code")
        let message = reader.optionalString("message")
        try reader.finish()
        do throws(SteeringFault) {
            switch verb {
            case "approve":
                return describe(try decide(enrollment: id, .approve))
            case "refuse":
                let refusal = BankDecision.refuse(
                    error: code ?? "access_denied", description: message ?? "The resource owner denied the request.")
                return describe(try decide(enrollment: id, refusal))
            case "ready": try makeReady(enrollment: id)
            case "settle": try settle(enrollment: id)
            case "fail": try fail(enrollment: id, code: code ?? "REJECTED_OTHER", message: message ?? "Rejected.")
            case "cancel": try cancel(enrollment: id)
            case "revoke": try revoke(enrollment: id, asCanceled: code == "CANCELED")
            default: throw SteeringFault.wrongState
            }
        } catch {
            throw ControlFault(error)
        }
        return Answer.noContent
    }

    /// `POST /sandbox/payment-intents/{id}/{verb}`.
    func steerIntent(_ id: String, _ verb: String, _ request: Request) throws(ControlFault) -> Response {
        let reader = try request.controlReader()
        let code = reader.optionalString("code")
        let message = reader.optionalString("message")
        let status = reader.optionalString("status")
        try reader.finish()
        do throws(SteeringFault) {
            switch verb {
            case "settle": try settle(intent: id)
            case "fail":
                try fail(intent: id, code: code ?? "insufficient_funds", message: message ?? "Not enough funds.")
            case "cancel": try cancel(intent: id)
            case "turn": try turn(intent: id, to: status ?? "PROCESSING")
            default: throw SteeringFault.wrongState
            }
        } catch {
            throw ControlFault(error)
        }
        return Answer.noContent
    }

    /// `GET /sandbox/intent-counts?external_id=…`.
    func describeCounts(_ request: Request) -> Response {
        // A query that cannot be read asks for nothing that exists.
        let wanted = (try? FormFields(parsing: request.target.query ?? ""))?["external_id"]
        let intents = withState { $0.intents.all }.filter { wanted == nil || $0.externalID == wanted }
        let groups = Dictionary(grouping: intents) { $0.externalID ?? "" }
        return Answer.object(.ok) { body in
            body.memberArray("results") { results in
                for (externalID, members) in groups.sorted(by: { $0.key < $1.key }) {
                    results.object { entry in
                        entry.member("external_id", externalID)
                        entry.member("created", members.count)
                        entry.member("succeeded", members.count { $0.status == .succeeded })
                        entry.member("authorized", members.count { $0.isAuthorized })
                        entry.memberArray("ids") { ids in
                            for intent in members { ids.element(intent.id) }
                        }
                    }
                }
            }
        }
    }

    private func describe(_ reply: BankReply) -> Response {
        Answer.object(.ok) { body in
            body.member("callback_url", reply.callbackURL)
            body.memberObject("parameters") { parameters in
                for (name, value) in reply.parameters { parameters.member(name, value) }
            }
        }
    }
}
