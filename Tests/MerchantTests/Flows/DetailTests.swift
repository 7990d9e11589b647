import BelvoSandbox
import FoundationEssentials
import HTTP
import JSON
import Testing

@testable import MerchantServer

/// Optional members of an app's request come back, and reach Belvo, as they were sent.
@Suite struct DetailTests {
    @Test func `metadata is kept and passed on as text, to the byte`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let metadata = #"{ "n" : 1.50e+02 ,"big":123456789012345678901234567890,  "é":"\u00e9\/", "z":[ ] }"#
            let answer = try await client.app.send(
                .post, "/v1/enrollments", client.enrollmentBody.dropLast() + #", "metadata": \#(metadata)}"#)
            let id = try answer.string("id")
            #expect(try answer.raw("metadata") == metadata)
            #expect(try await client.app.send(.get, "/v1/enrollments/\(id)").raw("metadata") == metadata)
            let belvos = try await harness.atBelvo("enrollments/\(answer.string("belvo_id"))")
            #expect(try belvos.raw("metadata") == metadata)

            let enrollment = try await client.enroll()
            let payment = try await client.app.send(
                .post, "/v1/payment-intents",
                client.paymentBody(enrollment).dropLast() + #", "metadata": \#(metadata)}"#,
                headers: ["idempotency-key": "tap-1"])
            #expect(try payment.raw("metadata") == metadata)
            #expect(try await client.payment(payment.string("id")).raw("metadata") == metadata)
            let intent = try await harness.atBelvo("payment-intents/\(payment.string("belvo_id"))")
            #expect(try intent.raw("metadata") == metadata)
        }
    }

    @Test func `metadata has at most 4 KiB of text, white space included`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for (count, isTaken) in [(4_096, true), (4_097, false)] {
                let metadata = "{" + String(repeating: " ", count: count - 7) + #""a":1}"#
                #expect(metadata.utf8.count == count)
                let enrolled = try await client.app.send(
                    .post, "/v1/enrollments", client.enrollmentBody.dropLast() + #", "metadata": \#(metadata)}"#)
                let payment = try await client.app.send(
                    .post, "/v1/payment-intents",
                    client.paymentBody(enrollment).dropLast() + #", "metadata": \#(metadata)}"#,
                    headers: ["idempotency-key": "tap-\(count)"])
                for answer in [enrolled, payment] {
                    #expect(answer.status == (isTaken ? 201 : 400), "\(count)")
                    guard !isTaken else { continue }
                    #expect(try answer.each("field", in: "errors") == ["/metadata"])
                    #expect(try answer.each("code", in: "errors") == ["too_large"])
                }
            }
        }
    }

    @Test func `a company may be a customer, also with letters in its number`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "company")
            let body = { (number: String) in #"{"name": "Padaria Boa", "identifier": "\#(number)"}"# }
            let made = try await app.send(.put, "/v1/customer", body("12.ABC.345/01DE-35"))
            #expect(made.status == 201)
            #expect(try made.string("identifier") == "**.***.***/****-35")
            // The same number without its punctuation is the same customer; another one is not.
            #expect(try await app.send(.put, "/v1/customer", body("12ABC34501DE35")).status == 200)
            let other = try await app.send(.put, "/v1/customer", body("11.222.333/0001-81"))
            #expect(try other.string("code") == "identifier_differs")
            let wrong = try await app.send(.put, "/v1/customer", body("12.ABC.345/01DE-36"))
            #expect(try wrong.each("code", in: "errors") == ["wrong_check_digits"])
            #expect(harness.countCalls(.createCustomer) == 1)
        }
    }

    @Test func `the payer's account and the bank are shown as soon as they are known, and stay`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let bank = #"{"id":"\#(AppClient.bank)","display_name":"Mockbank","#
            let before = try await client.enrollment(enrollment)
            #expect(try before.raw("details", "payer_information") == "null")
            #expect(try before.raw("details", "institution").hasPrefix(bank))
            try await client.complete(client.decide(enrollment))
            let account = try await client.enrollment(enrollment).raw("details", "payer_information")
            #expect(account.contains(#""number":"*****6789""#))
            try await client.awaitOptions(of: enrollment)
            try await client.confirm(enrollment)
            try harness.sandbox.settle(enrollment: enrollment.belvoID)
            try await harness.poll()
            let list = try await client.app.send(.get, "/v1/enrollments?status=SUCCEEDED")
            let shown = try #require(try list.json["results"]?.elements.first { _ in true }?["details"])
            #expect(shown["payer_information"].map { String(decoding: $0.raw, as: UTF8.self) } == account)
            let institution = try #require(shown["institution"])
            #expect(String(decoding: institution.raw, as: UTF8.self).hasPrefix(bank))
        }
    }
}

extension TestHarness {
    /// An object as Belvo has it.
    fileprivate func atBelvo(_ path: String) async throws -> Answer {
        let client = HTTP.Client(origin: settings.belvoBaseURL.origin)
        let key = "\(sandbox.configuration.secretID):\(sandbox.configuration.secretPassword)"
        let request = Request(
            .get, Target(stringLiteral: "/payments/br/\(path)/"),
            headers: ["authorization": "Basic \(Data(key.utf8).base64EncodedString())"])
        let answer = Answer(try await client.send(request, deadline: .seconds(20)))
        await client.closeIdle(on: loop)
        return answer
    }
}
