import FoundationEssentials
import JSON
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments

extension Operators {
    /// Everything that is kept about a person, readable (LGPD, article 18: confirmation, access, portability).
    /// Nothing comes back when there is no such user.
    ///
    /// What is a secret of the server's or of Belvo's, such as digests and tokens for the SDK, is none of it.
    package func export(_ subject: UserSubject) async throws -> String? {
        let store = dependencies.store
        let customer = try await store.customer(of: subject)
        let enrollments = try await store.personalEnrollments(of: subject)
        let payments = try await store.personalPayments(of: subject)
        let orders = try await store.personalRows(.orders, of: subject)
        guard customer != nil || !enrollments.isEmpty || !payments.isEmpty || !orders.isEmpty else { return nil }
        let history = try await store.personalRows(.history, of: subject)
        let events = try await store.personalRows(.events, of: subject)
        let webhooks = try await store.personalWebhooks(of: subject)
        let others = try await store.personalRows(.others, of: subject)
        let bytes = JSONWriter.object { person in
            person.member("subject", subject.text)
            if let customer { person.memberObject("customer") { write(customer.record, to: &$0) } }
            person.memberArray("enrollments") { list in
                for enrollment in enrollments { list.object { enrollment.write(to: &$0) } }
            }
            person.memberArray("payments") { list in
                for payment in payments {
                    list.object {
                        $0.memberRaw("facts", payment.facts)
                        $0.member("failure_message", payment.failureMessage)
                    }
                }
            }
            for (name, rows) in [
                ("orders", orders), ("history", history), ("events", events),
                ("webhooks_of_belvo", webhooks), ("also_kept", others),
            ] {
                person.memberArray(name) { list in
                    for row in rows { list.elementRaw(row) }
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func write(_ customer: Payments.Customer, to object: inout JSONWriter) {
        object.member("id", customer.id.description)
        object.member("belvo_id", customer.belvoID.map { $0.uuidString.lowercased() })
        object.member("name", customer.person.name.text)
        object.member("identifier", customer.person.taxID.text)
        object.member("email", customer.person.email?.text)
        object.member("phone", customer.person.phone?.text)
        object.member("created_at", customer.createdAt)
    }
}

extension PersonalEnrollment {
    fileprivate func write(to object: inout JSONWriter) {
        object.memberRaw("facts", facts)
        object.member("name", name)
        object.member("failure_message", failureMessage)
        object.member("device_id", deviceID)
        object.memberRaw("payer_information", json: payer)
        object.memberRaw("fido_registration_options", json: registrationOptions)
    }
}
