import BelvoSandbox
import HTTP
import Postgres
import Testing

/// Enrolling while the way to Belvo is bad.
@Suite struct EnrollmentTroubleTests {
    @Test func `an enrollment whose creation was not answered is looked up at once`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            for doubt in (Trouble.doubts + [Trouble.missingID]) where doubt.isDone {
                let looks = stage.countCalls(.listEnrollments)
                stage.sandbox.next(doubt.fault, on: .createEnrollment)
                let answer = try await shopper.keyed(shopper.enrollmentBody, key: "\(looks)")
                #expect(answer.status == 201, "\(doubt.name)")
                #expect(try answer.string("next_action", "type") == "redirect", "\(doubt.name)")
                #expect(stage.countCalls(.listEnrollments) == looks + 1, "\(doubt.name)")
                let again = try await shopper.keyed(shopper.enrollmentBody, key: "\(looks)")
                #expect(again.response.body == answer.response.body, "\(doubt.name)")
                #expect(again.response.headers["idempotent-replayed"] == "true", "\(doubt.name)")
            }
        }
    }

    @Test(arguments: [("SUCCEEDED", 204), ("FAILED", 409)])
    func `a registration that was not answered is read once, and its end counts`(end: String, status: Int) async throws
    {
        try await Stage.open { stage in
            if end == "SUCCEEDED" { stage.sandbox.variants.enrollmentSettlement = .immediately }
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.reachFingerprint()
            if end == "FAILED" { try stage.sandbox.cancel(enrollment: bond.belvoID) }
            stage.sandbox.next(.dropAnswer, on: .confirmEnrollment)
            #expect(try await shopper.confirm(bond).status == status)
            #expect(try await shopper.enrollment(bond).string("status") == end)
            #expect(stage.countCalls(.confirmEnrollment) == 1)
            #expect(stage.countCalls(.getEnrollment) == 1)
        }
    }

    @Test func `an enrollment whose creation was not answered is found, or fails as lost`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            for doubt in Trouble.doubts + [Trouble.missingID] {
                stage.sandbox.next(doubt.fault, on: .createEnrollment)
                stage.sandbox.next(.garbageBody, on: .listEnrollments)
                let answer = try await shopper.app.send(.post, "/v1/enrollments", shopper.enrollmentBody)
                #expect(answer.status == 202, "\(doubt.name)")
                #expect(try answer.string("next_action", "type") == "poll", "\(doubt.name)")
                let id = try answer.string("id")

                try await stage.poll()
                let found = try await shopper.app.send(.get, "/v1/enrollments/\(id)")
                #expect(
                    try found.string("next_action", "type") == (doubt.isDone ? "redirect" : "poll"), "\(doubt.name)")
                try await stage.pass(.seconds(60))
                let end = try await shopper.app.send(.get, "/v1/enrollments/\(id)")
                #expect(try end.string("status") == (doubt.isDone ? "PENDING" : "FAILED"), "\(doubt.name)")
                if !doubt.isDone { #expect(try end.string("status_reason_code") == "creation_lost") }
                #expect(stage.sandbox.enrollmentIDs(externalID: id).count == (doubt.isDone ? 1 : 0), "\(doubt.name)")
            }
        }
    }

    @Test func `an enrollment that was turned away has failed, and tells the app when to come again`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            for trouble in Trouble.turnedAway {
                stage.sandbox.next(trouble.fault, on: .createEnrollment)
                try trouble.expectTold(
                    on: stage, try await shopper.app.send(.post, "/v1/enrollments", shopper.enrollmentBody))
            }
            let all = try await shopper.app.send(.get, "/v1/enrollments")
            let codes = try all.each("status_reason_code", in: "results")
            #expect(codes == ["not_sent", "not_sent", "not_sent"])
            #expect(stage.countCalls(.createEnrollment) == 3)
        }
    }

    @Test func `a redirect that was not answered is sent again at once if Belvo shows nothing of it`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            for doubt in Trouble.doubts + [Trouble.missingID] {
                let bond = try await shopper.startEnrollment()
                let before = stage.countCalls(.completeRedirection)
                let reply = try shopper.decide(bond)
                stage.sandbox.next(doubt.fault, on: .completeRedirection)
                for first in [true, false] {
                    let answer = try await shopper.complete(reply)
                    #expect(answer.status == (first || !doubt.isDone ? 200 : 202), "\(doubt.name)")
                    #expect(try answer.string("next_action", "type") == "poll", "\(doubt.name)")
                }
                #expect(stage.countCalls(.completeRedirection) == before + (doubt.isDone ? 1 : 2), "\(doubt.name)")
                try await shopper.awaitOptions(of: bond)
                #expect(
                    try await shopper.enrollment(bond).string("next_action", "type") == "register", "\(doubt.name)")
            }
        }
    }

    @Test func `a redirect that got lost twice is kept and sent again by itself, for as long as a user may take`()
        async throws
    {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.startEnrollment()
            stage.sandbox.next(.dropRequest, on: .completeRedirection, count: 4)
            #expect(try await shopper.complete(shopper.decide(bond)).status == 202)
            #expect(stage.countCalls(.completeRedirection) == 2)
            for calls in 3...5 {
                try await stage.pass(.milliseconds(1_200 << (calls - 3)))
                #expect(stage.countCalls(.completeRedirection) == calls)
            }
            try await shopper.awaitOptions(of: bond)
            #expect(try await shopper.enrollment(bond).string("next_action", "type") == "register")
            #expect(
                try await stage.lines("SELECT outcome AS line FROM redirect_receipts WHERE body_ciphertext IS NULL")
                    == ["taken"])

            let other = try await shopper.startEnrollment()
            stage.sandbox.next(.dropRequest, on: .completeRedirection, count: nil)
            #expect(try await shopper.complete(shopper.decide(other)).status == 202)
            try await stage.pass(.seconds(901))
            try await stage.pass(.seconds(121))
            #expect(try await shopper.enrollment(other).string("status_reason_code") == "timed_out")
            #expect(
                try await stage.lines("SELECT outcome AS line FROM redirect_receipts WHERE body_ciphertext IS NOT NULL")
                    .isEmpty)
        }
    }

    @Test(arguments: [400, 404, 409])
    func `a refusal of the second sending of a redirect does not speak about the first`(status: Int) async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.startEnrollment()
            let reply = try shopper.decide(bond)
            // Belvo has it, and shows nothing of it yet.
            stage.sandbox.next(.dropAnswer, on: .completeRedirection)
            stage.sandbox.next(
                .altered([Fault.Alteration("/details/payer_information", "null")]), on: .getEnrollment, count: 2)
            stage.sandbox.next(.refused(status, code: "used"), on: .completeRedirection)
            #expect(try await shopper.complete(reply).status == 202)
            #expect(stage.countCalls(.completeRedirection) == 2)
            try stage.sandbox.makeReady(enrollment: bond.belvoID)
            for _ in 0..<3 { try await stage.poll() }
            #expect(try await shopper.enrollment(bond).string("next_action", "type") == "register")
        }
    }

    @Test func `a redirect that was turned away is kept and passed on later`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            for trouble in Trouble.turnedAway {
                let bond = try await shopper.startEnrollment()
                stage.sandbox.next(trouble.fault, on: .completeRedirection)
                try trouble.expectTold(on: stage, try await shopper.complete(try shopper.decide(bond)))
                try await stage.poll()
                try await shopper.awaitOptions(of: bond)
                #expect(
                    try await shopper.enrollment(bond).string("next_action", "type") == "register", "\(trouble.name)")
            }
        }
    }

    @Test func `a registration that was not answered is sent again at once while Belvo shows nothing of it`()
        async throws
    {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            for doubt in Trouble.doubts {
                let bond = try await shopper.reachFingerprint()
                let before = stage.countCalls(.confirmEnrollment)
                let body = try await shopper.confirmation(of: bond)
                stage.sandbox.next(doubt.fault, on: .confirmEnrollment)
                let answer = try await shopper.app.send(.post, "/v1/enrollments/\(bond.id)/confirm", body)
                // Belvo refuses the second if it has the first, and that is no refusal of the first.
                #expect(answer.status == (doubt.isDone ? 202 : 204), "\(doubt.name)")
                #expect(stage.countCalls(.confirmEnrollment) == before + 2, "\(doubt.name)")
                let other = try await shopper.app.send(
                    .post, "/v1/enrollments/\(bond.id)/confirm", try await shopper.confirmation(of: bond))
                #expect(other.status == 409, "\(doubt.name)")
                try stage.sandbox.settle(enrollment: bond.belvoID)
                try await stage.poll()
                #expect(try await shopper.enrollment(bond).string("status") == "SUCCEEDED", "\(doubt.name)")
                let again = try await shopper.app.send(.post, "/v1/enrollments/\(bond.id)/confirm", body)
                #expect(again.status == 204, "\(doubt.name)")
            }
        }
    }

    @Test func `a registration that got lost twice is sent again when the app repeats it, until its time is over`()
        async throws
    {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.reachFingerprint()
            let path = "/v1/enrollments/\(bond.id)/confirm"
            let body = try await shopper.confirmation(of: bond)
            stage.sandbox.next(.dropRequest, on: .confirmEnrollment, count: 4)
            for calls in [2, 3, 4] {
                let answer = try await shopper.app.send(.post, path, body)
                #expect(answer.status == 202)
                #expect(try answer.string("next_action", "type") == "poll")
                #expect(stage.countCalls(.confirmEnrollment) == calls)
            }
            // While Belvo cannot be read nothing is sent.
            stage.sandbox.next(.refused(500, code: "unexpected"), on: .getEnrollment)
            #expect(try await shopper.app.send(.post, path, body).status == 202)
            #expect(stage.countCalls(.confirmEnrollment) == 4)
            let answers = try await withThrowingTaskGroup { [app = shopper.app] group in
                for _ in 0..<3 { group.addTask { try await app.send(.post, path, body).status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(answers.contains(204))
            #expect(stage.countCalls(.confirmEnrollment) == 5)

            let late = try await shopper.reachFingerprint()
            let other = try await shopper.confirmation(of: late)
            stage.sandbox.next(.dropRequest, on: .confirmEnrollment, count: nil)
            for _ in 0..<3 {
                #expect(try await shopper.app.send(.post, "/v1/enrollments/\(late.id)/confirm", other).status == 202)
                try await stage.advance(by: .seconds(35))
            }
            try await stage.pass(.seconds(20))
            #expect(try await shopper.enrollment(late).string("status_reason_code") == "timed_out")
        }
    }

    @Test func `a registration that was turned away may be sent again as it is`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            for trouble in Trouble.turnedAway {
                let bond = try await shopper.reachFingerprint()
                let body = try await shopper.confirmation(of: bond)
                stage.sandbox.next(trouble.fault, on: .confirmEnrollment)
                try trouble.expectTold(
                    on: stage, try await shopper.app.send(.post, "/v1/enrollments/\(bond.id)/confirm", body))
                let again = try await shopper.app.send(.post, "/v1/enrollments/\(bond.id)/confirm", body)
                #expect(again.status == 204, "\(trouble.name)")
            }
        }
    }
}
