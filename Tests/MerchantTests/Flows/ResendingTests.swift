import BelvoSandbox
import HTTP
import JSON
import Postgres
import Testing

/// A creation that moves no money is sent again at once where Belvo shows that it has not arrived, under the same name
/// and key: a hiccup costs seconds (reliability.md, promises 3 and 14).
@Suite struct ResendingTests {
    @Test(arguments: Creation.allCases, Creation.losses)
    fileprivate func `what was lost is sent again in the same request, under the same name and key`(
        creation: Creation, loss: Trouble.UnknownOutcome
    ) async throws {
        try await TestHarness.open { harness in
            let attempt = try await creation.prepare(on: harness)
            harness.sandbox.next(loss.fault, on: creation.endpoint)
            let answer = try await attempt.send()
            #expect(answer.status == 201, "\(answer.text)")
            #expect(harness.countCalls(creation.endpoint) == attempt.callsBefore + 2)
            #expect(harness.countCalls(creation.list) == 1)
            let sent = harness.sandbox.calls.filter { $0.endpoint == creation.endpoint }.suffix(2)
            #expect(Set(sent.map(\.externalID)).count == 1)
            #expect(Set(sent.map(\.idempotencyKey)).count == 1)
            #expect(try await attempt.objects(of: answer).count == 1)
        }
    }

    @Test(arguments: Creation.allCases)
    fileprivate func `what two sendings have lost is sent again when the app repeats its request`(
        creation: Creation
    ) async throws {
        try await TestHarness.open { harness in
            let attempt = try await creation.prepare(on: harness)
            harness.sandbox.next(.dropRequest, on: creation.endpoint, count: 3)
            for calls in [2, 3] {
                let answer = try await attempt.send()
                #expect(answer.status == 202)
                #expect(try answer.string("next_action", "type") == "poll")
                #expect(harness.countCalls(creation.endpoint) == attempt.callsBefore + calls)
            }
            let done = try await attempt.send()
            #expect(done.status == 201)
            #expect(try await attempt.objects(of: done).count == 1)
            // From now on the key gives this answer, and nothing is sent any more.
            let again = try await attempt.send()
            #expect(again.status == (creation == .customer ? 200 : 201))
            #expect(again.text == done.text)
            #expect(harness.countCalls(creation.endpoint) == attempt.callsBefore + 4)
        }
    }

    @Test(arguments: Creation.allCases)
    fileprivate func `what is being polled is sent again all the same when the app repeats its request`(
        creation: Creation
    ) async throws {
        try await TestHarness.open { harness in
            let attempt = try await creation.prepare(on: harness)
            harness.sandbox.next(.dropRequest, on: creation.endpoint, count: 2)
            #expect(try await attempt.send().status == 202)
            // A worker has it, and others that Belvo is slow to show.
            for table in ["customers", "enrollments", "payments"] as [SQL] {
                try await harness.database.execute(
                    """
                    UPDATE \(fragment: table) SET
                        next_poll_at = app_now(), leased_until = app_now() + interval '1 minute', version = version + 1
                    WHERE state = 'creating'
                    """)
            }
            #expect(try await attempt.send().status == 201)
        }
    }

    @Test(arguments: Creation.allCases)
    fileprivate func `of several repetitions at once only one sends`(creation: Creation) async throws {
        try await TestHarness.open { harness in
            let attempt = try await creation.prepare(on: harness)
            harness.sandbox.next(.dropRequest, on: creation.endpoint, count: 2)
            #expect(try await attempt.send().status == 202)
            let answers = try await withThrowingTaskGroup { group in
                for _ in 0..<4 { group.addTask { try await attempt.send() } }
                return try await group.reduce(into: [Int]()) { $0.append($1.status) }
            }
            #expect(answers.contains(201), "\(answers)")
            #expect(harness.countCalls(creation.endpoint) == attempt.callsBefore + 3)
            #expect(try await attempt.objects(of: try await attempt.send()).count == 1)
        }
    }

    @Test(arguments: Creation.allCases, [400, 409, 422])
    fileprivate func `a refusal of the second sending is not one of the first: what Belvo shows decides`(
        creation: Creation, status: Int
    ) async throws {
        try await TestHarness.open { harness in
            let attempt = try await creation.prepare(on: harness)
            // Belvo takes a second to list what it has.
            harness.sandbox.variants.listLagMilliseconds = 3_600_000
            harness.sandbox.next(.dropAnswer, on: creation.endpoint)
            harness.sandbox.next(.refused(status, code: "unique"), on: creation.endpoint)
            let first = try await attempt.send()
            #expect(first.status == 202, "\(first.text)")
            #expect(harness.countCalls(creation.endpoint) == attempt.callsBefore + 2)
            harness.sandbox.variants.listLagMilliseconds = 0
            let second = try await attempt.send()
            #expect([200, 201].contains(second.status), "\(second.text)")
            #expect(try second.raw("belvo_id") != "null")
            #expect(harness.countCalls(creation.endpoint) == attempt.callsBefore + 2)
        }
    }

    @Test(arguments: Creation.allCases)
    fileprivate func `what is refused again and again is unknown until Belvo has shown it absent`(
        creation: Creation
    ) async throws {
        try await TestHarness.open { harness in
            let attempt = try await creation.prepare(on: harness)
            harness.sandbox.next(.dropRequest, on: creation.endpoint)
            harness.sandbox.next(.refused(422, code: "unique"), on: creation.endpoint, count: nil)
            for _ in 0..<3 {
                #expect(try await attempt.send().status == 202)
                try await harness.advance(by: .seconds(25))
            }
            // The time that a sending may take to show counts from the one that may have arrived.
            try await harness.work()
            #expect(try await attempt.state() == "failed")
        }
    }

    @Test(arguments: Creation.allCases)
    fileprivate func `a second sending that is turned away leaves the first unknown`(creation: Creation) async throws {
        try await TestHarness.open { harness in
            let attempt = try await creation.prepare(on: harness)
            harness.sandbox.next(.dropRequest, on: creation.endpoint)
            harness.sandbox.next(.refused(425, code: "too_early"), on: creation.endpoint)
            #expect(try await attempt.send().status == 202)
            harness.clock.advance(by: .seconds(10))
            #expect(try await attempt.send().status == 201)
            #expect(harness.countCalls(creation.endpoint) == attempt.callsBefore + 3)
        }
    }

    @Test(arguments: Creation.allCases)
    fileprivate func `nothing is sent again while Belvo cannot be read`(creation: Creation) async throws {
        try await TestHarness.open { harness in
            let attempt = try await creation.prepare(on: harness)
            harness.sandbox.next(.dropRequest, on: creation.endpoint)
            harness.sandbox.next(.refused(500, code: "unexpected"), on: creation.list, count: 2)
            for _ in 0..<2 { #expect(try await attempt.send().status == 202) }
            #expect(harness.countCalls(creation.endpoint) == attempt.callsBefore + 1)
            #expect(try await attempt.send().status == 201)
            #expect(harness.countCalls(creation.endpoint) == attempt.callsBefore + 2)
        }
    }

    @Test func `a payment that its user has given up is not sent again`() async throws {
        try await TestHarness.open { harness in
            let attempt = try await Creation.payment.prepare(on: harness)
            harness.sandbox.next(.dropRequest, on: .createPaymentIntent, count: 2)
            let id = try await attempt.send().string("id")
            #expect(try await attempt.client.cancel(id).status == 202)
            #expect(try await attempt.send().status == 202)
            #expect(harness.countCalls(.createPaymentIntent) == 2)
            try await harness.pass(.seconds(90))
            #expect(try await attempt.client.payment(id).string("failure_code") == "canceled")
        }
    }

    @Test func `an enrollment without a key is sent again in its own request only`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            harness.sandbox.next(.dropRequest, on: .createEnrollment, count: 2)
            #expect(try await client.app.send(.post, "/v1/enrollments", client.enrollmentBody).status == 202)
            #expect(try await client.app.send(.post, "/v1/enrollments", client.enrollmentBody).status == 201)
            let states = try await harness.lines("SELECT state AS line FROM enrollments ORDER BY id")
            #expect(states == ["creating", "at_bank"])
        }
    }

    @Test func `what a key has answered stays, though the first request is answered later than its repetition`()
        async throws
    {
        try await TestHarness.open { harness in
            let attempt = try await Creation.payment.prepare(on: harness)
            harness.sandbox.next(.delayAnswer(.seconds(2)), on: .createPaymentIntent)
            async let late = attempt.send()
            try await harness.awaitCondition {
                guard let id = try await harness.lines("SELECT id::text AS line FROM payments").first else {
                    return false
                }
                return !harness.sandbox.intentIDs(externalID: id).isEmpty
            }
            // To the others it looks as if the server that sent it had gone.
            try await harness.database.execute("UPDATE idempotency_keys SET outcome_unknown = true")
            let early = try await attempt.send()
            #expect(early.status == 201)
            #expect(try await attempt.client.cancel(early.string("id")).status == 200)
            let answers = try await [late, attempt.send()]
            #expect(answers.map(\.text) == [early.text, early.text])
            #expect(answers.map { $0.response.headers["idempotent-replayed"] } == ["true", "true"])
        }
    }
}

/// Belvo has made two of one request, because the first arrived after all: the one that is known here stays, and the
/// other is recorded and never used.
@Suite struct TwinTests {
    @Test func `a payment's twin is never signed, and alarmed of`() async throws {
        try await TestHarness.open { harness in
            let attempt = try await Creation.payment.prepare(on: harness)
            // The list lags, and the key does not help: Belvo forgets it.
            harness.sandbox.variants.listLagMilliseconds = 3_600_000
            harness.sandbox.next(.dropAnswer, on: .createPaymentIntent)
            harness.sandbox.variants.keyReuse = .forgotten
            let answer = try await attempt.send()
            #expect(answer.status == 201)
            let intents = harness.sandbox.intentIDs(externalID: try answer.string("id"))
            #expect(intents.count == 2)
            let known = try answer.string("belvo_id")
            #expect(known == intents.last)
            harness.sandbox.variants.listLagMilliseconds = 0

            var client = attempt.client
            let payment = AppClient.OpenedPayment(id: try answer.string("id"), belvoID: known, answer: answer)
            #expect(try await client.authorize(payment).status == 204)
            try await harness.tell("PAYMENT_INTENTS", of: intents[0])
            try harness.sandbox.settle(intent: known)
            for _ in 0..<3 { try await harness.poll() }
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(try await client.payment(payment).string("belvo_id") == known)
            #expect(harness.sandbox.status(of: intents[0]) == "PENDING")
            #expect(harness.countCalls(.authorizePaymentIntent) == 1)
            #expect(harness.log.holds("payment.created_twice"))
            #expect(
                try await harness.lines("SELECT kind AS line FROM money_alarms WHERE settled_at IS NULL")
                    == ["created_twice"])
        }
    }

    @Test(arguments: [nil, "order-1"], [true, false])
    func `of a payment and its twin one is paid, and two are an alarm`(reference: String?, isTwinFirst: Bool)
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let (payment, twin) = try await client.openPaymentTwice(enrollment, reference: reference)
            if !isTwinFirst { #expect(try await client.authorize(payment).status == 204) }
            try harness.sandbox.settle(intent: twin)
            try await harness.tell("PAYMENT_INTENTS", of: twin)
            try await harness.work()
            if isTwinFirst {
                let refused = try await client.authorize(payment)
                #expect(refused.status == 409)
                #expect(try refused.string("code") == "already_paid")
            } else {
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.poll()
                #expect(
                    try await harness.lines("SELECT DISTINCT kind AS line FROM ops.money_alarms").contains(
                        "double_paid"))
            }
        }
    }

    @Test func `an enrollment's twin is told of, and moves nothing of the one that is known`() async throws {
        try await TestHarness.open { harness in
            let attempt = try await Creation.enrollment.prepare(on: harness)
            harness.sandbox.variants.listLagMilliseconds = 3_600_000
            harness.sandbox.next(.dropAnswer, on: .createEnrollment)
            let answer = try await attempt.send()
            let id = try answer.string("id")
            let twins = harness.sandbox.enrollmentIDs(externalID: id)
            #expect(twins.count == 2)
            #expect(try answer.string("belvo_id") == twins.last)
            harness.sandbox.variants.listLagMilliseconds = 0
            try harness.sandbox.cancel(enrollment: twins[0])
            try await harness.tell("ENROLLMENTS", of: twins[0])
            for _ in 0..<2 { try await harness.poll() }
            let now = try await attempt.client.app.send(.get, "/v1/enrollments/\(id)")
            #expect(try now.string("status") == "PENDING")
            #expect(try now.string("belvo_id") == twins[1])
            #expect(harness.log.holds("enrollment.created_twice"))
        }
    }

    @Test(arguments: Creation.allCases)
    fileprivate func `a creation of unknown outcome is looked for by workers ever less often`(
        creation: Creation
    ) async throws {
        try await TestHarness.open { harness in
            let attempt = try await creation.prepare(on: harness)
            harness.sandbox.variants.listLagMilliseconds = 3_600_000
            harness.sandbox.next(.dropAnswer, on: creation.endpoint, count: 2)
            #expect(try await attempt.send().status == 202)
            var age = 0
            for (later, pause) in [(3, 2), (10, 5), (40, 15)] {
                try await harness.pass(.seconds(later - age))
                age = later
                let wait = try #require(try await attempt.nextPoll())
                #expect(abs(wait - Double(pause)) < 1.5, "\(age) s after the creation: \(wait) s")
            }
        }
    }

    @Test(arguments: [Creation.enrollment, .customer])
    fileprivate func `of two that Belvo lists the first is taken, or the one that has come further`(
        creation: Creation
    ) async throws {
        try await TestHarness.open { harness in
            let attempt = try await creation.prepare(on: harness)
            harness.sandbox.variants.listLagMilliseconds = 3_600_000
            harness.sandbox.next(.dropAnswer, on: creation.endpoint, count: 2)
            #expect(try await attempt.send().status == 202)
            // So that the clock tells them apart.
            harness.sandbox.variants.listLagMilliseconds = 0
            let done = try await attempt.send()
            let objects = try await attempt.objects(of: done)
            #expect(objects.count == 2)
            #expect(try done.string("belvo_id") == objects.first)
            #expect(harness.log.holds("\(creation.rawValue).created_twice"))
            #expect(harness.countCalls(creation.endpoint) == attempt.callsBefore + 2)
        }
    }
}

/// One of the three that Belvo creates.
private enum Creation: String, CaseIterable, Sendable {
    case customer, enrollment, payment

    /// Belvo did not do it, and the server does not know.
    static let losses = Trouble.doubts.filter { !$0.isDone }

    var endpoint: Endpoint {
        switch self {
        case .customer: .createCustomer
        case .enrollment: .createEnrollment
        case .payment: .createPaymentIntent
        }
    }

    var list: Endpoint {
        switch self {
        case .customer: .listCustomers
        case .enrollment: .listEnrollments
        case .payment: .listPaymentIntents
        }
    }

    /// A user who is about to ask for it.
    struct Attempt: Sendable {
        let creation: Creation
        let client: AppClient
        let send: @Sendable () async throws -> Answer
        /// Calls that were made for others.
        let callsBefore: Int

        /// Belvo's ids of what was made for the record that the answer shows, oldest first.
        func objects(of answer: Answer) async throws -> [String] {
            let id = try answer.string("id")
            switch creation {
            case .customer: return client.harness.sandbox.customerIDs(externalID: id)
            case .enrollment: return client.harness.sandbox.enrollmentIDs(externalID: id)
            case .payment: return client.harness.sandbox.intentIDs(externalID: id)
            }
        }

        /// Seconds until a worker looks for it.
        func nextPoll() async throws -> Double? {
            let table: SQL =
                switch creation {
                case .customer: "customers"
                case .enrollment: "enrollments"
                case .payment: "payments"
                }
            let rows = try await client.harness.database.rows(
                """
                SELECT extract(epoch FROM next_poll_at - app_now())::float8 AS wait FROM \(fragment: table)
                WHERE state = 'creating'
                """)
            return try rows.first?.decode("wait")
        }

        /// As the newest row has it.
        func state() async throws -> String? {
            switch creation {
            case .customer:
                try await client.harness.lines("SELECT state AS line FROM customers ORDER BY id DESC").first
            case .enrollment:
                try await client.harness.lines("SELECT state AS line FROM enrollments ORDER BY id DESC").first
            case .payment:
                try await client.harness.lines("SELECT state AS line FROM payments ORDER BY id DESC").first
            }
        }
    }

    func prepare(on harness: TestHarness) async throws -> Attempt {
        switch self {
        case .customer:
            let app = try await harness.app(of: "ana")
            return Attempt(
                creation: self, client: AppClient(harness: harness, app: app, signals: "{}"),
                send: { try await app.send(.put, "/v1/customer", AppClient.customerBody()) }, callsBefore: 0)
        case .enrollment:
            let client = try await AppClient.arrive(on: harness)
            return Attempt(
                creation: self, client: client, send: { try await client.keyed(client.enrollmentBody) },
                callsBefore: 0)
        case .payment:
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payer = client
            return Attempt(
                creation: self, client: client, send: { try await payer.requestPayment(enrollment) }, callsBefore: 0)
        }
    }
}
