import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantModel
import Payments
import Postgres
import TestSupport
import Testing
import Transport

@testable import Belvo
@testable import BelvoGate
@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// The calls of workers to Belvo are known to be about an institution, so that one that hangs leaves places to others.
@Suite struct InstitutionOfWorkTests {
    @Test func `what workers read of a payment or an enrollment is known to be about its institution`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            let begun = try await client.startEnrollment()
            let institution: UUID = try #require(
                try await harness.database.rows("SELECT DISTINCT institution_id FROM enrollments").first?.decode(
                    "institution_id"))
            let origins = Box<[String: UInt64]>([:])
            var dependencies = harness.merchant.dependencies
            let carry = dependencies.belvo.carry
            dependencies.belvo = Belvo.Client(
                carry: { call, request, limit in
                    origins.update { $0[call.rawValue] = CallOrigin.current?.institution }
                    return try await carry(call, request, limit)
                }, configuration: dependencies.belvo.configuration)
            let expected = CallOrigin.user(try UserSubject("ana")).about(institution).institution

            let store = dependencies.store
            try await harness.advance(by: .seconds(3))
            let due = try #require(try await store.claimDuePayments(limit: 8, lease: .seconds(25)).first)
            _ = try await PaymentWorkflow(dependencies: dependencies).poll(due)
            #expect(origins.value == ["readPaymentIntent": expected])
            origins.update { $0 = [:] }
            let id = try #require(Enrollment.ID(begun.id))
            let stored = try #require(try await store.enrollment(id))
            _ = try await EnrollmentWorkflow(dependencies: dependencies).poll(stored)
            #expect(origins.value == ["readEnrollment": expected, "readRegistrationOptions": expected])

            origins.update { $0 = [:] }
            let intent = try #require(UUID(uuidString: payment.belvoID))
            let enrolled = try #require(UUID(uuidString: enrollment.belvoID))
            let owners = try await store.owners(ofObjects: [intent, enrolled, UUID()])
            #expect(owners.count == 2)
            let webhooks = WebhookWorkflow(dependencies: dependencies)
            for target in [WebhookWorkflow.Target(kind: .intent, id: intent), .init(kind: .enrollment, id: enrolled)] {
                _ = await webhooks.read(target, of: owners[target.id], after: .zero, lag: .zero)
            }
            #expect(origins.value == ["readPaymentIntent": expected, "readEnrollment": expected])
        }
    }
}
