import BelvoSandbox
import HTTP
import Postgres
import Testing

/// The shop alone sets what is to be paid.
@Suite struct OrderTests {
    static let token = "the-token-that-the-shop-shows-here"

    /// The shop, as it talks to the server.
    private func shop(_ harness: TestHarness) -> App { App(client: harness.client, token: Self.token) }

    private func open(
        _ changes: [String: String] = [:], _ body: @escaping @Sendable (TestHarness) async throws -> Void
    ) async throws {
        let environment = ["SHOP_TOKEN": Self.token, "ORDERS": "required"].merging(changes) { $1 }
        try await TestHarness.open(environment: environment, body)
    }

    private static let coffees = #"{"subject": "ana", "amount": "19.90", "description": "Two coffees"}"#

    @Test func `an order that is deleted while it is placed is placed anew`() async throws {
        try await open { harness in
            try await harness.database.execute(all: [
                "CREATE TABLE vanished (reference text)",
                """
                CREATE FUNCTION vanish_once() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF NOT EXISTS (SELECT FROM vanished) THEN
                        INSERT INTO vanished VALUES (NEW.reference);
                        DELETE FROM orders WHERE reference = NEW.reference;
                    END IF;
                    RETURN NULL;
                END
                $$
                """,
                "CREATE TRIGGER vanish_once AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION vanish_once()",
            ])
            #expect(try await shop(harness).send(.put, "/orders/order-1", Self.coffees).status == 201)
            #expect(try await harness.lines("SELECT reference AS line FROM vanished") == ["order-1"])
            #expect(try await shop(harness).send(.get, "/orders/order-1").status == 200)
        }
    }

    @Test func `of many that place a new order at once none is refused`() async throws {
        try await open { harness in
            for round in 0..<4 {
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            try await shop(harness).send(.put, "/orders/order-\(round)", Self.coffees).status
                        }
                    }
                    return try await group.reduce(into: [Int]()) { $0.append($1) }
                }
                #expect(statuses.sorted() == [200, 200, 200, 200, 200, 200, 200, 201])
            }
        }
    }

    @Test func `the shop places an order and reads it back`() async throws {
        try await open { harness in
            let shop = shop(harness)
            let transcript = Transcript()
            let placed = try await shop.send(.put, "/orders/order-1", Self.coffees)
            transcript.expect(
                placed,
                """
                201 Created
                {
                  reference: "order-1"
                  subject: "ana"
                  amount: "19.90"
                  currency: "BRL"
                  description: "Two coffees"
                  statement_description: "Two coffees"
                  status: "open"
                  payment_intent: null
                  expires_at: null
                  created_at: "‹time›"
                  updated_at: "‹time›"
                }
                """)
            let read = try await shop.send(.get, "/orders/order-1")
            #expect(read.status == 200)
            #expect(read.text == placed.text)
        }
    }

    @Test func `placing the same order again changes nothing, and another price changes it while nobody pays`()
        async throws
    {
        try await open { harness in
            let shop = shop(harness)
            let first = try await shop.send(.put, "/orders/order-1", Self.coffees)
            let same = try await shop.send(.put, "/orders/order-1", Self.coffees)
            #expect(same.status == 200)
            #expect(same.text == first.text)
            let dearer = try await shop.send(
                .put, "/orders/order-1",
                #"{"subject": "ana", "amount": 21.5, "description": "Two coffees", "statement_description": "CAFE"}"#)
            #expect(dearer.status == 200)
            #expect(try dearer.string("amount") == "21.50")
            #expect(try dearer.string("statement_description") == "CAFE")
        }
    }

    @Test func `a reference is any line of text, escaped in the path`() async throws {
        try await open { harness in
            let placed = try await shop(harness).send(.put, "/orders/caf%C3%A9%2F1%20a", Self.coffees)
            #expect(placed.status == 201)
            #expect(try placed.string("reference") == "café/1 a")
            let read = try await shop(harness).send(.get, "/orders/caf%C3%A9%2F1%20a")
            #expect(read.text == placed.text)
        }
    }

    @Test func `an order with faults is refused with all of them, and nothing is placed`() async throws {
        try await open { harness in
            let answer = try await shop(harness).send(
                .put, "/orders/order-1",
                #"{"subject": "", "amount": 0, "statement_description": "", "expires_at": "tomorrow", "price": 1}"#)
            #expect(answer.status == 400)
            let fields = try answer.each("field", in: "errors").compactMap { $0 }.sorted()
            #expect(
                fields == [
                    "/amount", "/description", "/expires_at", "/price", "/statement_description", "/subject",
                ])
            let tooMuch = try await shop(harness).send(
                .put, "/orders/order-1", #"{"subject": "ana", "amount": "500.01", "description": "Gold"}"#)
            #expect(try tooMuch.each("code", in: "errors").compactMap { $0 } == ["too_high"])
            #expect(try await shop(harness).send(.get, "/orders/order-1").status == 404)
        }
    }

    @Test func `only the shop's token opens the orders, and without one there is no such endpoint`() async throws {
        try await open { harness in
            let user = try await harness.app(of: "ana")
            for caller in [user, App(client: harness.client, token: nil), App(client: harness.client, token: "x")] {
                for (method, body) in [(HTTP.Method.get, nil), (.put, Self.coffees)] {
                    let answer = try await caller.send(method, "/orders/order-1", body)
                    #expect(answer.status == 401)
                    #expect(try answer.string("code") == "unauthorized")
                    #expect(answer.response.headers["www-authenticate"] != nil)
                }
            }
            #expect(try await shop(harness).send(.get, "/orders/order-1").status == 404)
        }
        try await TestHarness.open { harness in
            let answer = try await App(client: harness.client, token: "x").send(.get, "/orders/order-1")
            #expect(answer.status == 404)
        }
    }

    @Test func `an order written with SQL keeps to the same rules`() async throws {
        try await open { harness in
            try await harness.database.execute(
                """
                INSERT INTO orders (reference, subject, amount_centavos, description)
                VALUES ('order-1', 'ana', 1990, 'Two coffees')
                """)
            let read = try await shop(harness).send(.get, "/orders/order-1")
            #expect(try read.string("amount") == "19.90")
            for wrong in [
                "('', 'ana', 1, 'x')", "('r', 'ana', 0, 'x')", "('r', 'ana', 1000000000000000, 'x')",
                "('r', 'ana', 1, E'a\\nb')",
            ] {
                await #expect(throws: (any Error).self) {
                    try await harness.database.execute(
                        SQL(
                            trusted:
                                "INSERT INTO orders (reference, subject, amount_centavos, description) VALUES \(wrong)")
                    )
                }
            }
        }
    }
}
