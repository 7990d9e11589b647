import BelvoSandbox
import HTTP
import Testing

/// A bank's redirect reaches Belvo once, whoever brings it, and however often.
@Suite struct RedirectTests {
    @Test func `the app's repeat of the browser's redirect answers the enrollment without a second call`() async throws
    {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.startEnrollment()
            let reply = try shopper.decide(bond)
            #expect(try await stage.browser().follow(reply).text.contains("<h1>Bank confirmed</h1>"))
            let first = try await shopper.complete(reply)
            let second = try await shopper.complete(reply)
            #expect(first.status == 200)
            #expect(try first.string("next_action", "type") == "poll")
            #expect(first.text == second.text)
            #expect(first.text == (try await shopper.enrollment(bond)).text)
            #expect(stage.countCalls(.completeRedirection) == 1)
        }
    }

    @Test func `twenty of the same redirect at once are one call`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.startEnrollment()
            let reply = try shopper.decide(bond)
            let browser = stage.browser()
            let statuses = try await withThrowingTaskGroup(returning: Set<Int>.self) { group in
                for _ in 0..<20 { group.addTask { try await browser.follow(reply).status } }
                return try await group.reduce(into: []) { $0.insert($1) }
            }
            #expect(statuses == [200])
            #expect(stage.countCalls(.completeRedirection) == 1)
            #expect(try await shopper.enrollment(bond).string("next_action", "type") == "poll")
        }
    }

    @Test(arguments: [UnknownCodes.ignored, .refused])
    func `a bad code does not use up the enrollment before the good one`(reading: UnknownCodes) async throws {
        try await Stage.open { stage in
            stage.sandbox.variants.unknownCodes = reading
            let shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.startEnrollment()
            let reply = try shopper.decide(bond)
            let forged = #"{"state": "\#(reply["state"] ?? "")", "code": "forged", "id_token": "forged"}"#
            let refused = try await shopper.app.send(.post, "/v1/enrollments/complete-redirection", forged)
            #expect(refused.status == (reading == .ignored ? 200 : 422))
            #expect(try await shopper.enrollment(bond).string("status") == "PENDING")
            #expect(try await shopper.complete(reply).status == 200)
            try await shopper.awaitOptions(of: bond)
            #expect(try await shopper.enrollment(bond).string("next_action", "type") == "register")
        }
    }

    @Test func `another user's state answers as one that does not exist, and reaches nobody`() async throws {
        try await Stage.open { stage in
            let ana = try await Shopper.arrive(on: stage)
            let bia = try await Shopper.arrive(on: stage, as: "bia", taxID: "111.444.777-35")
            let bond = try await ana.startEnrollment()
            let reply = try ana.decide(bond)
            let answer = try await bia.complete(reply)
            #expect(answer.status == 404)
            #expect(try answer.string("code") == "not_found")
            #expect(stage.countCalls(.completeRedirection) == 0)
            #expect(try await ana.complete(reply).status == 200)
        }
    }

    @Test func `a state that the bank hid is matched by Belvo's answer`() async throws {
        try await Stage.open { stage in
            stage.sandbox.variants.redirect = .pushedAuthorization
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.startEnrollment()
            let reply = try shopper.decide(bond)
            let answer = try await shopper.complete(reply)
            #expect(answer.status == 200)
            #expect(try answer.string("id") == bond.id)
            #expect(try await shopper.complete(reply).text == answer.text)
            #expect(stage.countCalls(.completeRedirection) == 1)
            try await shopper.awaitOptions(of: bond)
            #expect(try await shopper.confirm(bond).status == 204)
        }
    }

    @Test func `a hidden state that another user posts goes on for its owner, and tells the poster nothing`()
        async throws
    {
        try await Stage.open { stage in
            stage.sandbox.variants.redirect = .pushedAuthorization
            let ana = try await Shopper.arrive(on: stage)
            let bia = try await Shopper.arrive(on: stage, as: "bia", taxID: "111.444.777-35")
            let bond = try await ana.startEnrollment()
            let reply = try ana.decide(bond)
            #expect(try await bia.complete(reply).status == 404)
            #expect(try await bia.complete(reply).status == 404)
            #expect(stage.countCalls(.completeRedirection) == 1)
            try await ana.awaitOptions(of: bond)
            #expect(try await ana.enrollment(bond).string("next_action", "type") == "register")
        }
    }

    @Test func `a state that nobody knows is refused, and told once`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            let body = #"{"state": "nobodys", "code": "c", "id_token": "t"}"#
            for _ in 0..<2 {
                let answer = try await shopper.app.send(.post, "/v1/enrollments/complete-redirection", body)
                #expect(answer.status == 422)
                #expect(try answer.string("code") == "redirect_unknown")
            }
            #expect(stage.countCalls(.completeRedirection) == 1)
        }
    }

    @Test func `a callback that comes too late revives the enrollment, which can then be confirmed`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.startEnrollment()
            let reply = try shopper.decide(bond)
            try await stage.pass(.seconds(901))
            let late = try await shopper.enrollment(bond)
            #expect(try late.string("status") == "FAILED")
            #expect(try late.string("status_reason_code") == "timed_out")

            #expect(try await stage.browser().follow(reply).text.contains("<h1>Bank confirmed</h1>"))
            #expect(try await shopper.enrollment(bond).string("status") == "PENDING")
            try await shopper.awaitOptions(of: bond)
            #expect(try await shopper.confirm(bond).status == 204)
            try stage.sandbox.settle(enrollment: bond.belvoID)
            try await stage.poll()
            #expect(try await shopper.enrollment(bond).string("status") == "SUCCEEDED")
        }
    }
}
