import BelvoSandbox
import HTTP
import Testing

/// A bank's redirect reaches Belvo once, whichever client brings it, and however often.
@Suite struct RedirectTests {
    @Test func `the app's repeat of the browser's redirect answers the enrollment without a second call`() async throws
    {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            #expect(try await harness.browser().follow(reply).text.contains("<h1>Bank confirmed</h1>"))
            let first = try await client.complete(reply)
            let second = try await client.complete(reply)
            #expect(first.status == 200)
            #expect(try first.string("next_action", "type") == "poll")
            #expect(first.text == second.text)
            #expect(first.text == (try await client.enrollment(enrollment)).text)
            #expect(harness.countCalls(.completeRedirection) == 1)
        }
    }

    @Test func `twenty of the same redirect at once are one call`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            let browser = harness.browser()
            let statuses = try await withThrowingTaskGroup(returning: Set<Int>.self) { group in
                for _ in 0..<20 { group.addTask { try await browser.follow(reply).status } }
                return try await group.reduce(into: []) { $0.insert($1) }
            }
            #expect(statuses == [200])
            #expect(harness.countCalls(.completeRedirection) == 1)
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "poll")
        }
    }

    @Test(arguments: [UnknownCodes.ignored, .refused])
    func `a bad code does not use up the enrollment before the good one`(reading: UnknownCodes) async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.unknownCodes = reading
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            let forged = #"{"state": "\#(reply["state"] ?? "")", "code": "forged", "id_token": "forged"}"#
            let refused = try await client.app.send(.post, "/v1/enrollments/complete-redirection", forged)
            #expect(refused.status == (reading == .ignored ? 200 : 422))
            #expect(try await client.enrollment(enrollment).string("status") == "PENDING")
            #expect(try await client.complete(reply).status == 200)
            try await client.awaitOptions(of: enrollment)
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "register")
        }
    }

    @Test func `another user's state answers as one that does not exist, and reaches nobody`() async throws {
        try await TestHarness.open { harness in
            let ana = try await AppClient.arrive(on: harness)
            let bia = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let enrollment = try await ana.startEnrollment()
            let reply = try ana.decide(enrollment)
            let answer = try await bia.complete(reply)
            #expect(answer.status == 404)
            #expect(try answer.string("code") == "not_found")
            #expect(harness.countCalls(.completeRedirection) == 0)
            #expect(try await ana.complete(reply).status == 200)
        }
    }

    @Test func `a state that the bank hid is matched by Belvo's answer`() async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.redirect = .pushedAuthorization
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            let answer = try await client.complete(reply)
            #expect(answer.status == 200)
            #expect(try answer.string("id") == enrollment.id)
            #expect(try await client.complete(reply).text == answer.text)
            #expect(harness.countCalls(.completeRedirection) == 1)
            try await client.awaitOptions(of: enrollment)
            #expect(try await client.confirm(enrollment).status == 204)
        }
    }

    @Test(arguments: [
        [Fault.dropRequest], [.dropAnswer], [.statusAfter(500)], [.refused(503, code: "away")],
        [.dropRequest, .dropRequest], [.dropAnswer, .dropAnswer],
    ])
    func `a redirect whose state the bank hid goes on though Belvo gave no answer`(faults: [Fault]) async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.redirect = .pushedAuthorization
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            for fault in faults { harness.sandbox.next(fault, on: .completeRedirection) }
            _ = try await client.complete(reply)
            for _ in 0..<3 { try await harness.pass(.seconds(5)) }
            try await client.awaitOptions(of: enrollment)
            #expect(try await client.confirm(enrollment).status == 204)
        }
    }

    @Test(arguments: [400, 404, 410, 422])
    func `a redirect that Belvo took goes on though it was answered as refused`(status: Int) async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            harness.sandbox.next(.statusAfter(status), on: .completeRedirection)
            let answer = try await client.complete(reply)
            #expect(answer.status == 200)
            #expect(try answer.string("next_action", "type") == "poll")
            #expect(harness.countCalls(.completeRedirection) == 1)
            try await client.awaitOptions(of: enrollment)
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "register")
        }
    }

    @Test(arguments: [400, 404])
    func `a redirect with a hidden state goes on by a poll though it was answered as refused`(status: Int)
        async throws
    {
        try await TestHarness.open { harness in
            harness.sandbox.variants.redirect = .pushedAuthorization
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            harness.sandbox.next(.statusAfter(status), on: .completeRedirection)
            #expect(try await client.complete(reply).status == 422)
            try await client.awaitOptions(of: enrollment)
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "register")
            #expect(harness.countCalls(.completeRedirection) == 1)
        }
    }

    @Test(arguments: [Fault.dropAnswer, .statusAfter(400), .statusAfter(404), .statusAfter(500)])
    func `a browser's redirect with a hidden state goes on by a poll, however it was answered`(fault: Fault)
        async throws
    {
        try await TestHarness.open { harness in
            harness.sandbox.variants.redirect = .pushedAuthorization
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            harness.sandbox.next(fault, on: .completeRedirection)
            // What was processed already is refused the second time.
            harness.sandbox.next(.refused(400, code: "invalid"), on: .completeRedirection, count: nil)
            var fields = FormFields()
            for name in ["state", "code", "id_token"] { fields.append(name, reply[name] ?? "") }
            _ = try await App(client: harness.client, token: nil).send(
                .get, "/enrollments/callback?\(fields.encoded)")
            // Read once, and Belvo does not show yet that it is back.
            try await harness.pass(.seconds(2))
            try harness.sandbox.makeReady(enrollment: enrollment.belvoID)
            try await harness.pass(.seconds(6))
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "register")
        }
    }

    @Test func `a hidden state that another user posts goes on for its owner, and tells the poster nothing`()
        async throws
    {
        try await TestHarness.open { harness in
            harness.sandbox.variants.redirect = .pushedAuthorization
            let ana = try await AppClient.arrive(on: harness)
            let bia = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let enrollment = try await ana.startEnrollment()
            let reply = try ana.decide(enrollment)
            #expect(try await bia.complete(reply).status == 404)
            #expect(try await bia.complete(reply).status == 404)
            #expect(harness.countCalls(.completeRedirection) == 1)
            try await ana.awaitOptions(of: enrollment)
            #expect(try await ana.enrollment(enrollment).string("next_action", "type") == "register")
        }
    }

    @Test func `a state that nobody knows is refused, and told once`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let body = #"{"state": "nobodys", "code": "c", "id_token": "t"}"#
            for _ in 0..<2 {
                let answer = try await client.app.send(.post, "/v1/enrollments/complete-redirection", body)
                #expect(answer.status == 422)
                #expect(try answer.string("code") == "redirect_unknown")
            }
            #expect(harness.countCalls(.completeRedirection) == 1)
        }
    }

    @Test func `a callback that comes too late revives the enrollment, which can then be confirmed`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            try await harness.pass(.seconds(901))
            let late = try await client.enrollment(enrollment)
            #expect(try late.string("status") == "FAILED")
            #expect(try late.string("status_reason_code") == "timed_out")

            #expect(try await harness.browser().follow(reply).text.contains("<h1>Bank confirmed</h1>"))
            #expect(try await client.enrollment(enrollment).string("status") == "PENDING")
            try await client.awaitOptions(of: enrollment)
            #expect(try await client.confirm(enrollment).status == 204)
            try harness.sandbox.settle(enrollment: enrollment.belvoID)
            try await harness.poll()
            #expect(try await client.enrollment(enrollment).string("status") == "SUCCEEDED")
        }
    }
}
