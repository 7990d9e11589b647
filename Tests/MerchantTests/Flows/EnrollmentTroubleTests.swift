import BelvoSandbox
import HTTP
import Postgres
import Testing

/// Enrolling while the way to Belvo is bad.
@Suite struct EnrollmentTroubleTests {
    @Test func `an enrollment whose creation was not answered is looked up at once`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            for doubt in (Trouble.doubts + [Trouble.missingID]) where doubt.isDone {
                let looks = harness.countCalls(.listEnrollments)
                harness.sandbox.next(doubt.fault, on: .createEnrollment)
                let answer = try await client.keyed(client.enrollmentBody, key: "\(looks)")
                #expect(answer.status == 201, "\(doubt.name)")
                #expect(try answer.string("next_action", "type") == "redirect", "\(doubt.name)")
                #expect(harness.countCalls(.listEnrollments) == looks + 1, "\(doubt.name)")
                let again = try await client.keyed(client.enrollmentBody, key: "\(looks)")
                #expect(again.response.body == answer.response.body, "\(doubt.name)")
                #expect(again.response.headers["idempotent-replayed"] == "true", "\(doubt.name)")
            }
        }
    }

    @Test(arguments: [("SUCCEEDED", 204), ("FAILED", 409)])
    func `a registration that was not answered is read once, and its end counts`(end: String, status: Int) async throws
    {
        try await TestHarness.open { harness in
            if end == "SUCCEEDED" { harness.sandbox.variants.enrollmentSettlement = .immediately }
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            if end == "FAILED" { try harness.sandbox.cancel(enrollment: enrollment.belvoID) }
            harness.sandbox.next(.dropAnswer, on: .confirmEnrollment)
            #expect(try await client.confirm(enrollment).status == status)
            #expect(try await client.enrollment(enrollment).string("status") == end)
            #expect(harness.countCalls(.confirmEnrollment) == 1)
            #expect(harness.countCalls(.getEnrollment) == 1)
        }
    }

    @Test func `an enrollment whose creation was not answered is found, or fails as lost`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            for doubt in Trouble.doubts + [Trouble.missingID] {
                harness.sandbox.next(doubt.fault, on: .createEnrollment)
                harness.sandbox.next(.garbageBody, on: .listEnrollments)
                let answer = try await client.app.send(.post, "/v1/enrollments", client.enrollmentBody)
                #expect(answer.status == 202, "\(doubt.name)")
                #expect(try answer.string("next_action", "type") == "poll", "\(doubt.name)")
                let id = try answer.string("id")

                try await harness.poll()
                let found = try await client.app.send(.get, "/v1/enrollments/\(id)")
                #expect(
                    try found.string("next_action", "type") == (doubt.isDone ? "redirect" : "poll"), "\(doubt.name)")
                try await harness.pass(.seconds(60))
                let end = try await client.app.send(.get, "/v1/enrollments/\(id)")
                #expect(try end.string("status") == (doubt.isDone ? "PENDING" : "FAILED"), "\(doubt.name)")
                if !doubt.isDone { #expect(try end.string("status_reason_code") == "creation_lost") }
                #expect(harness.sandbox.enrollmentIDs(externalID: id).count == (doubt.isDone ? 1 : 0), "\(doubt.name)")
            }
        }
    }

    @Test func `an enrollment that was turned away has failed, and tells the app when to come again`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            for trouble in Trouble.turnedAway {
                harness.sandbox.next(trouble.fault, on: .createEnrollment)
                try trouble.expectTold(
                    on: harness, try await client.app.send(.post, "/v1/enrollments", client.enrollmentBody))
            }
            let all = try await client.app.send(.get, "/v1/enrollments")
            let codes = try all.each("status_reason_code", in: "results")
            #expect(codes == ["not_sent", "not_sent", "not_sent"])
            #expect(harness.countCalls(.createEnrollment) == 3)
        }
    }

    @Test func `a redirect that was not answered is sent again at once if Belvo shows nothing of it`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            for doubt in Trouble.doubts + [Trouble.missingID] {
                let enrollment = try await client.startEnrollment()
                let before = harness.countCalls(.completeRedirection)
                let reply = try client.decide(enrollment)
                harness.sandbox.next(doubt.fault, on: .completeRedirection)
                for first in [true, false] {
                    let answer = try await client.complete(reply)
                    #expect(answer.status == (first || !doubt.isDone ? 200 : 202), "\(doubt.name)")
                    #expect(try answer.string("next_action", "type") == "poll", "\(doubt.name)")
                }
                #expect(harness.countCalls(.completeRedirection) == before + (doubt.isDone ? 1 : 2), "\(doubt.name)")
                try await client.awaitOptions(of: enrollment)
                #expect(
                    try await client.enrollment(enrollment).string("next_action", "type") == "register", "\(doubt.name)"
                )
            }
        }
    }

    @Test func `a redirect that got lost twice is kept and sent again by itself, for as long as a user may take`()
        async throws
    {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            harness.sandbox.next(.dropRequest, on: .completeRedirection, count: 4)
            #expect(try await client.complete(client.decide(enrollment)).status == 202)
            #expect(harness.countCalls(.completeRedirection) == 2)
            for calls in 3...5 {
                try await harness.pass(.milliseconds(1_050))
                #expect(harness.countCalls(.completeRedirection) == calls)
            }
            try await client.awaitOptions(of: enrollment)
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "register")
            #expect(
                try await harness.lines("SELECT outcome AS line FROM redirect_receipts WHERE body_ciphertext IS NULL")
                    == ["taken"])

            let other = try await client.startEnrollment()
            harness.sandbox.next(.dropRequest, on: .completeRedirection, count: nil)
            #expect(try await client.complete(client.decide(other)).status == 202)
            try await harness.pass(.seconds(901))
            try await harness.pass(.seconds(121))
            #expect(try await client.enrollment(other).string("status_reason_code") == "timed_out")
            #expect(
                try await harness.lines(
                    "SELECT outcome AS line FROM redirect_receipts WHERE body_ciphertext IS NOT NULL"
                )
                .isEmpty)
        }
    }

    @Test func `a redirect that Belvo does not take has a pause before it is sent again, and a longer one with age`()
        async throws
    {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            harness.sandbox.next(.dropRequest, on: .completeRedirection, count: nil)
            try await harness.stopClock()
            #expect(try await client.complete(reply).status == 202)
            // By its age then: a second at least, a tenth of the age, a minute at most.
            var now = Duration.zero
            for (age, pause) in [(0, 1), (1, 1), (100, 10), (110, 11), (700, 60)] {
                if .seconds(age) > now { try await harness.pass(.seconds(age) - now) }
                let sent = harness.countCalls(.completeRedirection)
                try await harness.pass(.seconds(pause) - .milliseconds(1))
                #expect(harness.countCalls(.completeRedirection) == sent, "sent again too early at the age of \(age) s")
                // A tenth of the time that the server itself takes comes on top.
                try await harness.pass(.seconds(1))
                #expect(harness.countCalls(.completeRedirection) == sent + 1, "not sent again in time, \(age) s old")
                now = .seconds(age) + .seconds(pause) + .milliseconds(999)
            }
        }
    }

    @Test(arguments: [400, 404, 409])
    func `a refusal of the second sending of a redirect does not speak about the first`(status: Int) async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            // Belvo has it, and shows nothing of it yet.
            harness.sandbox.next(.dropAnswer, on: .completeRedirection)
            harness.sandbox.next(
                .altered([Fault.Alteration("/details/payer_information", "null")]), on: .getEnrollment, count: 2)
            harness.sandbox.next(.refused(status, code: "used"), on: .completeRedirection)
            #expect(try await client.complete(reply).status == 202)
            #expect(harness.countCalls(.completeRedirection) == 2)
            try harness.sandbox.makeReady(enrollment: enrollment.belvoID)
            for _ in 0..<3 { try await harness.poll() }
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "register")
        }
    }

    @Test func `a redirect that was turned away is kept and passed on later`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            for trouble in Trouble.turnedAway {
                let enrollment = try await client.startEnrollment()
                harness.sandbox.next(trouble.fault, on: .completeRedirection)
                try trouble.expectTold(on: harness, try await client.complete(try client.decide(enrollment)))
                try await harness.poll()
                try await client.awaitOptions(of: enrollment)
                #expect(
                    try await client.enrollment(enrollment).string("next_action", "type") == "register",
                    "\(trouble.name)")
            }
        }
    }

    @Test func `a registration that was not answered is sent again at once while Belvo shows nothing of it`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            for doubt in Trouble.doubts {
                let enrollment = try await client.reachFingerprint()
                let before = harness.countCalls(.confirmEnrollment)
                let body = try await client.confirmation(of: enrollment)
                harness.sandbox.next(doubt.fault, on: .confirmEnrollment)
                let answer = try await client.app.send(.post, "/v1/enrollments/\(enrollment.id)/confirm", body)
                // Belvo refuses the second if it has the first, and that is no refusal of the first.
                #expect(answer.status == (doubt.isDone ? 202 : 204), "\(doubt.name)")
                #expect(harness.countCalls(.confirmEnrollment) == before + 2, "\(doubt.name)")
                let other = try await client.app.send(
                    .post, "/v1/enrollments/\(enrollment.id)/confirm", try await client.confirmation(of: enrollment))
                #expect(other.status == 409, "\(doubt.name)")
                try harness.sandbox.settle(enrollment: enrollment.belvoID)
                try await harness.poll()
                #expect(try await client.enrollment(enrollment).string("status") == "SUCCEEDED", "\(doubt.name)")
                let again = try await client.app.send(.post, "/v1/enrollments/\(enrollment.id)/confirm", body)
                #expect(again.status == 204, "\(doubt.name)")
            }
        }
    }

    @Test func `a registration that got lost twice is sent again when the app repeats it, until its time is over`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            let path = "/v1/enrollments/\(enrollment.id)/confirm"
            let body = try await client.confirmation(of: enrollment)
            harness.sandbox.next(.dropRequest, on: .confirmEnrollment, count: 4)
            for calls in [2, 3, 4] {
                let answer = try await client.app.send(.post, path, body)
                #expect(answer.status == 202)
                #expect(try answer.string("next_action", "type") == "poll")
                #expect(harness.countCalls(.confirmEnrollment) == calls)
            }
            // While Belvo cannot be read nothing is sent.
            harness.sandbox.next(.refused(500, code: "unexpected"), on: .getEnrollment)
            #expect(try await client.app.send(.post, path, body).status == 202)
            #expect(harness.countCalls(.confirmEnrollment) == 4)
            let answers = try await withThrowingTaskGroup { [app = client.app] group in
                for _ in 0..<3 { group.addTask { try await app.send(.post, path, body).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(answers.contains(204))
            #expect(harness.countCalls(.confirmEnrollment) == 5)

            let late = try await client.reachFingerprint()
            let other = try await client.confirmation(of: late)
            harness.sandbox.next(.dropRequest, on: .confirmEnrollment, count: nil)
            for _ in 0..<3 {
                #expect(try await client.app.send(.post, "/v1/enrollments/\(late.id)/confirm", other).status == 202)
                try await harness.advance(by: .seconds(35))
            }
            try await harness.pass(.seconds(20))
            #expect(try await client.enrollment(late).string("status_reason_code") == "timed_out")
        }
    }

    @Test func `a registration that was turned away may be sent again as it is`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            for trouble in Trouble.turnedAway {
                let enrollment = try await client.reachFingerprint()
                let body = try await client.confirmation(of: enrollment)
                harness.sandbox.next(trouble.fault, on: .confirmEnrollment)
                try trouble.expectTold(
                    on: harness, try await client.app.send(.post, "/v1/enrollments/\(enrollment.id)/confirm", body))
                let again = try await client.app.send(.post, "/v1/enrollments/\(enrollment.id)/confirm", body)
                #expect(again.status == 204, "\(trouble.name)")
            }
        }
    }

    @Test(arguments: [403, 404])
    func `a registration that was turned away and taken all the same is not failed by a refusal`(status: Int)
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            let (app, body) = (client.app, try await client.confirmation(of: enrollment))
            harness.sandbox.next(.statusAfter(status), on: .confirmEnrollment)
            #expect(try await app.send(.post, "/v1/enrollments/\(enrollment.id)/confirm", body).status >= 500)
            try harness.sandbox.settle(enrollment: enrollment.belvoID)
            harness.sandbox.next(.refused(400, code: "invalid"), on: .confirmEnrollment)
            _ = try await app.send(.post, "/v1/enrollments/\(enrollment.id)/confirm", body)
            #expect(try await client.enrollment(enrollment).string("status") == "SUCCEEDED")
        }
    }
}
