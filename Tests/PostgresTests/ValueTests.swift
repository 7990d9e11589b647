import FoundationEssentials
import Postgres
import TestSupport
import Testing

enum Colour: String, PostgresArrayElement { case red, green }
enum Level: Int16, PostgresValue {
    case low = 1
    case high = 2
}
struct OrderID: RawRepresentable, PostgresArrayElement, Hashable { var rawValue: UUID }

@Suite struct ValueTests {
    private func roundTrip<Value: PostgresValue & Equatable>(
        _ values: [Value], through type: SQL, of database: Database
    ) async throws {
        for value in values {
            let rows = try await database.rows("SELECT \(value)::\(fragment: type) AS value")
            let read: Value = try #require(rows.first).decode("value")
            #expect(read == value)
        }
    }

    @Test func `every type comes back as it went`() async throws {
        try await TestDatabase.open { database in
            try await roundTrip([true, false], through: "boolean", of: database)
            try await roundTrip([Int16.min, 0, 7, .max], through: "smallint", of: database)
            try await roundTrip([Int32.min, 0, 7, .max], through: "integer", of: database)
            try await roundTrip([Int64.min, 0, 7, .max], through: "bigint", of: database)
            try await roundTrip([Int.min, 0, 7, .max], through: "bigint", of: database)
            try await roundTrip([0, -1.5, 1e308, .infinity], through: "double precision", of: database)
            try await roundTrip(["", "a", "ação 🦜", "'; --", "\\", "\n\t\"", "$1"], through: "text", of: database)
            try await roundTrip([UUID(), UUID()], through: "uuid", of: database)
            try await roundTrip([[], [0], [0, 255, 39, 92]] as [[UInt8]], through: "bytea", of: database)
            try await roundTrip(
                [0, 1, -1, 1_700_000_000_123_456, -210_866_803_200_000_000].map(PostgresTimestamp.init),
                through: "timestamptz", of: database)
            try await roundTrip([nil, 5] as [Int?], through: "bigint", of: database)
            try await roundTrip([nil, "", "x"] as [String?], through: "text", of: database)
            try await roundTrip([Colour.red, .green], through: "text", of: database)
            try await roundTrip([Level.low, .high], through: "smallint", of: database)
            try await roundTrip([OrderID(rawValue: UUID())], through: "uuid", of: database)
            try await roundTrip([[], ["", "a,b", "{\"}", "NULL"]] as [[String]], through: "text[]", of: database)
            try await roundTrip([[], [.min, 3]] as [[Int64]], through: "bigint[]", of: database)
            try await roundTrip([[], [UUID(), UUID()]] as [[UUID]], through: "uuid[]", of: database)
            try await roundTrip([[.green, .red]] as [[Colour]], through: "text[]", of: database)
        }
    }

    @Test func `values mean to the server what they mean here`() async throws {
        try await TestDatabase.open { database in
            let id = try #require(UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E"))
            let rows = try await database.rows(
                """
                SELECT \(id)::text AS id, \(PostgresTimestamp(microseconds: 951_782_400_000_001))::text AS moment,
                    \(JSONText(Array(#"{"b": [1, 2.50]}"#.utf8)))::text AS json, \([1, 2] as [UInt8])::text AS bytes,
                    'red' = ANY(\([Colour.green])) AS is_in, \(Int?.none) IS NULL AS is_null
                """)
            let row = try #require(rows.first)
            #expect(try row["id", as: String.self] == "0f8fad5b-d9cb-469f-a165-70867728950e")
            #expect(try row["moment", as: String.self] == "2000-02-29 00:00:00.000001+00")
            #expect(try row["json", as: String.self] == #"{"b": [1, 2.50]}"#)
            #expect(try row["bytes", as: String.self] == #"\x0102"#)
            #expect(try row["is_in", as: Bool.self] == false)
            #expect(try row["is_null", as: Bool.self])
        }
    }

    @Test func `a column of another type is refused and not bent`() async throws {
        try await TestDatabase.open { database in
            let rows = try await database.rows(
                """
                SELECT 1::bigint AS big, NULL::int AS nothing, 'blue' AS colour, 1.5 AS number,
                    'infinity'::timestamptz AS forever, ARRAY['a', NULL] AS holey, ARRAY[['a']] AS deep,
                    '{"a":1}'::jsonb AS json, 3::smallint AS small
                """)
            let row = try #require(rows.first)
            func mismatch<Value: PostgresValue>(_ name: String, _ type: Value.Type) -> ValueMismatch.Reason? {
                do {
                    _ = try row.decode(name, as: type)
                } catch .decoding(let fault) {
                    return fault.mismatch?.reason
                } catch {}
                return nil
            }
            #expect(mismatch("big", Int32.self) == .otherType)
            #expect(mismatch("big", String.self) == .otherType)
            #expect(mismatch("nothing", Int.self) == .null)
            #expect(mismatch("colour", Colour.self) == .notOneOfItsValues)
            #expect(mismatch("small", Level.self) == .notOneOfItsValues)
            #expect(mismatch("number", Double.self) == .otherType)
            #expect(mismatch("forever", PostgresTimestamp.self) == .malformed)
            #expect(mismatch("holey", [String].self) == .null)
            #expect(mismatch("deep", [String].self) == .otherType)
            #expect(mismatch("json", String.self) == .otherType)
            #expect(throws: DatabaseError.decoding(DecodingFault(column: "absent", mismatch: nil))) {
                try row.decode("absent", as: Int.self)
            }
            #expect(try row["small", as: Int64.self] == 3)
            #expect(try row["nothing", as: Int?.self] == nil)
            #expect(try row["json", as: JSONText.self].bytes == Array(#"{"a": 1}"#.utf8))
        }
    }

    @Test func `the labels of an enum are texts`() async throws {
        try await TestDatabase.open { database in
            try await database.execute("CREATE TYPE colour AS ENUM ('red', 'green')")
            try await database.execute("CREATE TABLE paints (colour colour)")
            try await database.execute("INSERT INTO paints (colour) VALUES (\(Colour.green))")
            let rows = try await database.rows("SELECT colour FROM paints")
            #expect(try rows.first?["colour", as: Colour.self] == .green)
        }
    }
}
