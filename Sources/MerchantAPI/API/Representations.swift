import FoundationEssentials
import JSON
import MerchantModel
import MerchantStore
import Payments

// What apps see of the merchant's records.

/// The next action of the app, so that it needs no state machine of its own.
enum NextAction {
    case redirect(url: String)
    case poll(after: Duration)
    case register(options: [UInt8])
    case sign(options: [UInt8])
    case retry(RetryReason)
    case nothing

    func write(to writer: inout JSONWriter) {
        if case .nothing = self { return writer.memberNull("next_action") }
        writer.memberObject("next_action") { action in
            switch self {
            case .redirect(let url):
                action.member("type", "redirect")
                action.member("url", url)
            case .poll(let pause):
                action.member("type", "poll")
                action.member("after_ms", pause.wholeMicroseconds / 1_000)
            case .register(let options):
                action.member("type", "register")
                action.memberRaw("fido_registration_options", options)
            case .sign(let options):
                action.member("type", "sign")
                action.memberRaw("fido_options", options)
            case .retry(let reason):
                action.member("type", "retry")
                action.member("reason", reason.rawValue)
            case .nothing: break
            }
        }
    }
}

extension Stored<Customer> {
    func json(pollAfter: Duration) -> [UInt8] {
        JSONWriter.object { body in
            body.member("id", record.id.description)
            body.member("belvo_id", record.belvoID.map { $0.uuidString.lowercased() })
            body.member("name", record.person.name.text)
            body.member("identifier", record.person.taxID.masked)
            body.member("account_tenure", record.accountTenure?.description)
            (record.state == .creating ? NextAction.poll(after: pollAfter) : .nothing).write(to: &body)
            body.member("created_at", record.createdAt)
        }
    }
}

extension Stored<Enrollment> {
    func json(pollAfter: Duration) -> [UInt8] {
        JSONWriter.object { write(to: &$0, pollAfter: pollAfter) }
    }

    func write(to body: inout JSONWriter, pollAfter: Duration) {
        body.member("id", record.id.description)
        body.member("belvo_id", record.belvoID.map { $0.uuidString.lowercased() })
        body.member("type", "open_finance_biometric_pix")
        body.member("status", record.status.rawValue)
        body.memberObject("details") { details in
            details.member("status", record.providerDetailsStatus)
            details.memberObject("institution") { institution in
                institution.member("id", record.institution.id.uuidString.lowercased())
                institution.member("display_name", record.institution.displayName)
                institution.member("icon_logo", record.institution.iconLogo)
            }
            details.member("platform", record.platform?.rawValue)
            details.member("name", record.name?.text)
            details.member("callback_url", record.callbackURL)
            details.member("redirect_url", record.redirectURL)
            details.member("expires_at", record.expiresAt)
            details.memberRaw("payer_information", json: record.payerInformation)
        }
        body.member("status_reason_code", record.failure?.code)
        body.member("status_reason_message", record.failure?.message)
        body.memberRaw("metadata", json: record.metadata?.json)
        nextAction(pollAfter: pollAfter).write(to: &body)
        body.member("created_at", record.createdAt)
        body.member("updated_at", updatedAt)
    }

    func nextAction(pollAfter: Duration) -> NextAction {
        switch record.state {
        case .creating, .completing, .awaitingOptions, .confirming: .poll(after: pollAfter)
        case .atBank: record.redirectURL.map(NextAction.redirect(url:)) ?? .poll(after: pollAfter)
        case .awaitingFingerprint:
            record.registrationOptions.map(NextAction.register(options:)) ?? .poll(after: pollAfter)
        case .foreign: .poll(after: pollAfter)
        case .succeeded: .nothing
        case .failed where record.isRevoked: .retry(.enrollAgain)
        case .failed where record.isConfirmationRefused:
            .retry(.afterRefusedConfirmation(failureCode: record.failure?.code))
        case .failed: .retry(RetryReason(failureCode: record.failure?.code))
        }
    }
}

extension Stored<Payment> {
    func json(pollAfter: Duration) -> [UInt8] {
        JSONWriter.object { write(to: &$0, pollAfter: pollAfter) }
    }

    func write(to body: inout JSONWriter, pollAfter: Duration) {
        body.member("id", record.id.description)
        body.member("belvo_id", record.belvoID.map { $0.uuidString.lowercased() })
        body.member("status", record.status.rawValue)
        body.member("provider_status", record.providerStatus)
        body.member("in_doubt", record.isInDoubt)
        body.member("amount", record.amount.description)
        body.member("currency", Money.currency)
        body.member("enrollment", record.enrollment?.description)
        body.member("description", record.description?.text)
        body.member("statement_description", record.statementDescription?.text)
        body.member("reference", record.reference?.text)
        body.memberRaw("metadata", json: record.metadata?.json)
        body.memberObject("payment_method_information") { information in
            information.memberObject("open_finance_biometric_pix") { pix in
                pix.member("provider", record.facts.provider)
                pix.member("consent_id", record.facts.consentID)
                pix.memberRaw("fido_options", json: record.fidoOptions)
                pix.member("end_to_end_id", record.facts.endToEndID?.description)
                pix.member("external_payment_id", record.facts.externalPaymentID)
                pix.member("provider_request_id", record.facts.providerRequestID)
            }
        }
        body.member("failure_code", record.failure?.code)
        body.member("failure_message", record.failure?.message)
        nextAction(pollAfter: pollAfter).write(to: &body)
        body.member("created_at", record.createdAt)
        body.member("updated_at", updatedAt)
    }

    func nextAction(pollAfter: Duration) -> NextAction {
        switch record.state {
        case .creating, .awaitingOptions, .authorizing, .foreign: .poll(after: pollAfter)
        // Given up, and authorized at Belvo from elsewhere: it is polled until its end.
        case .awaitingSignature
        where record.isCancelRequested || record.wasSeenSigned || record.isInDoubt || isOverdue:
            .poll(after: pollAfter)
        case .awaitingSignature: record.fidoOptions.map(NextAction.sign(options:)) ?? .poll(after: pollAfter)
        case .succeeded: .nothing
        // Belvo may still pay it, so that another one for its reference would be refused.
        case .failed where record.mayBelvoStillPay: .poll(after: pollAfter)
        case .failed: .retry(RetryReason(failureCode: record.failure?.code))
        }
    }
}
