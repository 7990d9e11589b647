import HTTP
import JSON

/// The webhooks to the subscriptions when an object changes (belvo-api.md §8, V1 payloads).
extension SandboxState {
    mutating func announce(_ enrollment: Enrollment) {
        announce("ENROLLMENTS", "STATUS_UPDATE", enrollment.id, enrollment.externalID) { [variants] data in
            data.member("status", enrollment.status.rawValue)
            data.memberRaw("metadata", enrollment.metadata)
            data.member("status_reason_code", enrollment.reason.map { variants.failureCodes.apply($0.code) })
            data.member("status_reason_message", enrollment.reason?.message)
        }
    }

    mutating func announce(_ intent: PaymentIntent) {
        announce("PAYMENT_INTENTS", "STATUS_UPDATE", intent.id, intent.externalID) { [variants] data in
            data.member("status", intent.status.rawValue)
            data.memberRaw("metadata", intent.metadata)
            data.member("failure_code", intent.failure.map { variants.failureCodes.apply($0.code) })
            data.member("failure_message", intent.failure?.message)
            data.member("end_to_end_id", intent.endToEndID)
        }
    }

    /// Charges and transactions have no `external_id` of their own: null always.
    mutating func announce(_ charge: Charge) {
        let intent = intents[charge.paymentIntent]
        announce("CHARGES", "STATUS_UPDATE", charge.id, nil) { [variants] data in
            data.member("status", charge.status.rawValue)
            data.memberRaw("metadata", intent?.metadata ?? Array("{}".utf8))
            data.member("failure_code", charge.failure.map { variants.failureCodes.apply($0.code) })
            data.member("failure_message", charge.failure?.message)
            data.member("end_to_end_id", intent?.endToEndID)
        }
    }

    mutating func announce(_ transaction: Transaction) {
        let intent = intents[transaction.paymentIntent]
        announce("TRANSACTIONS", "OBJECT_CREATED", transaction.id, nil) { data in
            data.member("transaction_type", "INFLOW")
            data.member("amount", intent?.amount.text)
            data.member("currency", "BRL")
            data.member("payment_intent", transaction.paymentIntent)
            data.member("end_to_end_id", intent?.endToEndID)
        }
    }

    private mutating func announce(
        _ type: String, _ code: String, _ objectID: String, _ externalID: String?,
        data: (inout JSONWriter) -> Void
    ) {
        let event = entropy.hexadecimal(16)
        let body = JSONWriter.object { body in
            body.member("webhook_id", event)
            body.member("webhook_type", type)
            body.member("webhook_code", code)
            body.member("object_id", objectID)
            if variants.webhookExternalID == .present { body.member("external_id", externalID) }
            body.memberObject("data", data)
        }
        enqueue(type, code, objectID, body, copies: variants.webhookCopies)
    }

    /// Puts a body on its way to every subscription; without copies it is noted as lost.
    mutating func enqueue(_ type: String, _ code: String, _ objectID: String, _ body: [UInt8], copies: Int) {
        for subscription in configuration.webhookSubscriptions.indices {
            for _ in 0..<max(1, copies) {
                outbox.add(
                    Webhook(
                        id: entropy.uuid(), subscription: subscription, type: type, code: code,
                        objectID: objectID, body: body, dueAt: now, state: copies == 0 ? .lost : .waiting))
            }
        }
    }

    /// When something is to be done next without a call; nil for never.
    var nextDue: Timestamp? {
        let webhook = variants.webhookFlow == .running ? outbox.next : nil
        return [agenda.next, webhook].compactMap { $0 }.min()
    }

    /// The webhooks to be sent now.
    mutating func takeDueWebhooks() -> [Webhook] {
        variants.webhookFlow == .running ? outbox.takeDue(now) : []
    }

    /// The request that carries a webhook.
    func request(_ webhook: Webhook) -> Request {
        let subscription = configuration.webhookSubscriptions[webhook.subscription]
        var headers = Headers(["content-type": "application/json", "user-agent": "belvo-sandbox"])
        if let token = subscription.token {
            headers.append("authorization", variants.webhookToken == .bearer ? "Bearer \(token)" : token)
        }
        return Request(.post, subscription.url.target, headers: headers, body: webhook.body)
    }

    /// Notes how an attempt ended, and when the next one is (belvo-api.md §8: three more, a minute apart).
    mutating func finish(_ webhook: Webhook, _ status: Status?) {
        let isReceipt =
            variants.webhookReceipt == .exactly200 ? status == .ok : status?.isSuccess ?? false
        let attempts = outbox.webhooks[webhook.id]?.attempts ?? 0
        let mayRetry = attempts <= configuration.webhookRetriesMax
        outbox.finish(
            webhook.id, status: status?.code, isReceipt: isReceipt,
            retryAt: mayRetry ? now + configuration.webhookRetryInterval : nil)
    }
}
