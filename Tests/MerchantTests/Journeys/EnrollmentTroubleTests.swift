import BelvoSandbox
import HTTP
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

    @Test func `a redirect that was not answered is not sent again, and the enrollment is read`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            for doubt in Trouble.doubts + [Trouble.missingID] {
                let bond = try await shopper.startEnrollment()
                let before = stage.countCalls(.completeRedirection)
                let reply = try shopper.decide(bond)
                stage.sandbox.next(doubt.fault, on: .completeRedirection)
                for _ in 0..<2 {
                    let answer = try await shopper.complete(reply)
                    #expect(answer.status == 202, "\(doubt.name)")
                    #expect(try answer.string("next_action", "type") == "poll", "\(doubt.name)")
                }
                #expect(stage.countCalls(.completeRedirection) == before + 1, "\(doubt.name)")
                if doubt.isDone { try stage.sandbox.makeReady(enrollment: bond.belvoID) }
                try await stage.poll()
                let now = try await shopper.enrollment(bond)
                #expect(try now.string("next_action", "type") == (doubt.isDone ? "register" : "poll"), "\(doubt.name)")
            }
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

    @Test func `a registration that was not answered is sent once, and its end is read or it times out`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            for doubt in Trouble.doubts {
                let bond = try await shopper.reachFingerprint()
                let before = stage.countCalls(.confirmEnrollment)
                let body = try await shopper.confirmation(of: bond)
                stage.sandbox.next(doubt.fault, on: .confirmEnrollment)
                for _ in 0..<2 {
                    let answer = try await shopper.app.send(.post, "/v1/enrollments/\(bond.id)/confirm", body)
                    #expect(answer.status == 202, "\(doubt.name)")
                    #expect(try answer.string("id") == bond.id)
                }
                let other = try await shopper.app.send(
                    .post, "/v1/enrollments/\(bond.id)/confirm", try await shopper.confirmation(of: bond))
                #expect(other.status == 409, "\(doubt.name)")
                #expect(stage.countCalls(.confirmEnrollment) == before + 1, "\(doubt.name)")

                if doubt.isDone { try stage.sandbox.settle(enrollment: bond.belvoID) }
                try await stage.poll()
                let again = try await shopper.app.send(.post, "/v1/enrollments/\(bond.id)/confirm", body)
                #expect(again.status == (doubt.isDone ? 204 : 202), "\(doubt.name)")
                try await stage.pass(.seconds(120))
                let end = try await shopper.enrollment(bond)
                #expect(try end.string("status") == (doubt.isDone ? "SUCCEEDED" : "FAILED"), "\(doubt.name)")
                if !doubt.isDone { #expect(try end.string("status_reason_code") == "timed_out") }
            }
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
