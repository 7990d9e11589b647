import BelvoSandbox
import HTTP
import Testing

/// Enrollments while only the workers act.
@Suite struct EnrollmentPollingTests {
    @Test(arguments: NotReady.allCases)
    func `options that are not ready are waited for, however Belvo says so`(reading: NotReady) async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.fidoNotReady = reading
            harness.sandbox.variants.fidoReadiness = .whenTold
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            try await client.complete(client.decide(enrollment))
            for _ in 0..<3 {
                try await harness.poll()
                let options = try await client.app.send(
                    .get, "/v1/enrollments/\(enrollment.id)/fido-registration-options")
                #expect(options.status == 202)
                #expect(options.response.headers["retry-after"] == "2")
                #expect(try await client.enrollment(enrollment).string("next_action", "type") == "poll")
            }
            // One look each, and none of the app's.
            #expect(harness.countCalls(.getFIDORegistrationOptions) == 3)
            try await client.awaitOptions(of: enrollment)
            let options = try await client.app.send(.get, "/v1/enrollments/\(enrollment.id)/fido-registration-options")
            #expect(options.status == 200)
            let shown = try await client.enrollment(enrollment).raw("next_action", "fido_registration_options")
            #expect(shown == options.text)
        }
    }

    @Test func `nothing is asked before it is due`() async throws {
        try await TestHarness.open { harness in
            try await harness.stopClock()
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            try await client.complete(client.decide(enrollment))
            let before = harness.sandbox.calls.count
            // A person waits: half a second after what has changed, and then at the interval.
            try await harness.pass(.milliseconds(400))
            #expect(harness.sandbox.calls.count == before)
            try await harness.pass(.milliseconds(101))
            #expect(harness.sandbox.calls.count > before)
        }
    }

    @Test func `what Belvo shows unchanged is read ever less often, and at once after a webhook or a failed reading`()
        async throws
    {
        try await TestHarness.open { harness in
            harness.sandbox.variants.fidoReadiness = .whenTold
            try await harness.stopClock()
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            try await client.complete(client.decide(enrollment))
            func readings(in seconds: Int) async throws -> Int {
                let before = harness.countCalls(.getFIDORegistrationOptions)
                for _ in 0..<seconds { try await harness.pass(.seconds(1)) }
                return harness.countCalls(.getFIDORegistrationOptions) - before
            }
            #expect(try await readings(in: 10) >= 5)
            _ = try await readings(in: 40)
            #expect((2...4).contains(try await readings(in: 20)))
            try await harness.tell("ENROLLMENTS", of: enrollment.belvoID)
            #expect(try await readings(in: 1) >= 1)
            harness.sandbox.next(.refused(500, code: "unexpected_error"), on: .getFIDORegistrationOptions, count: nil)
            _ = try await readings(in: 10)
            #expect(try await readings(in: 10) >= 4)
        }
    }

    @Test func `an enrollment that the bank fails shows the bank's reason`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            try await client.confirm(enrollment)
            try harness.sandbox.fail(
                enrollment: enrollment.belvoID, code: "BLOCKED_BY_INSTITUTION_SECURITY_POLICY",
                message: "Not with this phone.")
            try await harness.poll()
            let answer = try await client.enrollment(enrollment)
            #expect(try answer.string("status") == "FAILED")
            #expect(try answer.string("status_reason_code") == "blocked_by_institution_security_policy")
            #expect(try answer.string("status_reason_message") == "Not with this phone.")
            #expect(try answer.raw("next_action") == #"{"type":"retry","reason":"other_bank"}"#)
            let options = try await client.app.send(.get, "/v1/enrollments/\(enrollment.id)/fido-registration-options")
            #expect(options.status == 409)
            #expect(try options.string("code") == "enrollment_failed")
            let refused = try await client.requestPayment(enrollment)
            #expect(refused.status == 409)
            #expect(try refused.string("code") == "enrollment_not_usable")
        }
    }

    @Test func `a user who gives up at the bank has failed to enroll`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            try harness.sandbox.cancel(enrollment: enrollment.belvoID)
            // Belvo is not polled while the user is busy; the poll at the deadline finds it.
            try await harness.pass(.seconds(901))
            let answer = try await client.enrollment(enrollment)
            #expect(try answer.string("status") == "FAILED")
            #expect(try answer.string("status_reason_code") != "timed_out")
        }
    }

    @Test func `a user who never comes back from the bank has timed out at the deadline, not before`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            try await expectTimeout(of: enrollment, after: .seconds(900), client)
        }
    }

    @Test func `a bank that never gives the options has timed out at the deadline, not before`() async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.fidoReadiness = .whenTold
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            try await client.complete(client.decide(enrollment))
            try await expectTimeout(of: enrollment, after: .seconds(120), client)
        }
    }

    @Test func `a user who never touches the sensor has timed out at the deadline, not before`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            try await expectTimeout(of: enrollment, after: .seconds(900), client)
        }
    }

    @Test func `a bank that never decides has timed out at the deadline, and its late word counts`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            try await client.confirm(enrollment)
            try await expectTimeout(of: enrollment, after: .seconds(120), client)
        }
    }

    /// Nothing has ended a moment before the deadline, and it has right behind it.
    private func expectTimeout(
        of enrollment: AppClient.Enrollment, after limit: Duration, _ client: AppClient,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let harness = client.harness
        // The clock of the database goes on by itself between the step and here: a little is left for that.
        let margin = Duration.seconds(20)
        try await harness.pass(limit - margin)
        let before = try await client.enrollment(enrollment)
        #expect(try before.string("status") == "PENDING", sourceLocation: sourceLocation)
        try await harness.pass(margin)
        let after = try await client.enrollment(enrollment)
        #expect(try after.string("status") == "FAILED", sourceLocation: sourceLocation)
        #expect(try after.string("status_reason_code") == "timed_out", sourceLocation: sourceLocation)
        #expect(try after.string("next_action", "reason") == "now", sourceLocation: sourceLocation)
    }
}
