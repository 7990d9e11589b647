import BelvoSandbox
import FoundationEssentials
import Glibc
import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Transport

@testable import MerchantServer

/// `merchant doctor`: what is wrong is found before users find it.
@Suite struct DoctorTests {
    private func examine(_ harness: TestHarness, _ changes: [String: String] = [:]) async throws -> [String: Finding] {
        let findings = try await harness.operate(try harness.settings(with: changes)) { await $0.examine() }
        return Dictionary(findings.map { ($0.subject, $0) }) { $1 }
    }

    @Test func `all is well`() async throws {
        try await TestCluster.with(settings: "fsync = on") { cluster in
            try await TestHarness.open(on: cluster) { harness in
                let found = try await examine(harness)
                #expect(Set(found.keys) == ["configuration", "database", "migrations", "durability", "clock", "belvo"])
                #expect(found.values.allSatisfy { $0.severity == .ok }, "\(found)")
                #expect(!harness.log.holds("database.not_durable"))
            }
        }
    }

    @Test(arguments: ["fsync", "full_page_writes"])
    func `a database that may lose what it confirmed, of which the server warns too`(setting: String) async throws {
        try await TestCluster.with(settings: "fsync = on\n\(setting) = off") { cluster in
            try await TestHarness.open(on: cluster) { harness in
                _ = try await App(client: harness.client, token: nil).send(.get, "/readyz")
                let warnings = harness.log.all.filter { $0.hasPrefix("database.not_durable") }
                #expect(warnings == ["database.not_durable server=127.0.0.1:\(cluster.port) turned_off=\(setting)"])
                let found = try await examine(harness)
                #expect(found["durability"]?.severity == .failed, "\(found)")
                #expect(found["durability"]?.detail.hasPrefix("\(setting) off: ") == true, "\(found)")
            }
        }
    }

    @Test(arguments: ["off", "local"])
    func `a database that is told not to wait for its disk or its standby`(level: String) async throws {
        try await TestCluster.with(settings: "fsync = on\nsynchronous_commit = \(level)") { cluster in
            try await TestHarness.open(on: cluster) { harness in
                let found = try await examine(harness)
                #expect(found["durability"]?.severity == .warning, "\(found)")
                #expect(found["durability"]?.detail.contains("synchronous_commit is \(level)") == true, "\(found)")
            }
        }
    }

    @Test func `a secret in a file that everybody may read, of which the server warns too`() async throws {
        let file = try TemporaryFile("shop-token-of-the-tests")
        chmod(file.path, 0o604)
        try await TestHarness.open(environment: ["SHOP_TOKEN_FILE": file.path]) { harness in
            let found = try await examine(harness)
            #expect(found["SHOP_TOKEN_FILE"]?.severity == .warning)
            #expect(harness.log.all.contains { $0.hasPrefix("settings.weak name=SHOP_TOKEN_FILE") })
        }
    }

    @Test func `a database that is away, and nothing is said about what could not be seen`() async throws {
        try await TestHarness.open { harness in
            let found = try await examine(harness, ["DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"])
            #expect(found["database"]?.severity == .failed)
            #expect(found["migrations"] == nil)
            #expect(found["belvo"]?.severity == .ok)
        }
    }

    @Test func `a schema that has yet to be migrated`() async throws {
        try await TestHarness.open { harness in
            try await TestDatabase.with { empty in
                let found = try await examine(harness, ["DATABASE_URL": empty.connectionString])
                #expect(found["migrations"]?.severity == .failed)
                #expect(found["migrations"]?.detail.contains("merchant migrate") == true)
            }
        }
    }

    @Test func `a database whose clock goes wrong`() async throws {
        try await TestHarness.open { harness in
            // Another function of the same name, found first by every new connection.
            try await harness.database.execute(all: [
                """
                CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
                AS $$ SELECT pg_catalog.clock_timestamp() + interval '6 s' $$
                """,
                """
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
                END $$
                """,
            ])
            let found = try await examine(harness)
            #expect(found["clock"]?.severity == .warning)
            #expect(found["database"]?.severity == .ok)
        }
    }

    @Test func `credentials that Belvo refuses, without showing them`() async throws {
        try await TestHarness.open { harness in
            let found = try await examine(harness, ["BELVO_SECRET_PASSWORD": "a-password-of-yesterday"])
            #expect(found["belvo"]?.severity == .failed)
            #expect(found["belvo"]?.detail.contains("BELVO_SECRET_PASSWORD") == true)
            for finding in found.values { #expect(!finding.detail.contains("yesterday")) }
        }
    }

    @Test func `a firewall before Belvo that refuses us, which is not the credentials' doing`() async throws {
        try await TestHarness.open { harness in
            harness.sandbox.next(.forbiddenPage, on: .listInstitutions, count: nil)
            let found = try await examine(harness)
            #expect(found["belvo"]?.severity == .failed)
            #expect(found["belvo"]?.detail.hasPrefix("a firewall before Belvo refuses us") == true, "\(found)")
        }
    }

    @Test func `a Belvo that cannot be reached, and one whose certificate nobody vouches for`() async throws {
        try await TestHarness.open { harness in
            let away = try await examine(harness, ["BELVO_BASE_URL": "http://127.0.0.1:1"])
            #expect(away["belvo"]?.severity == .failed)
            #expect(away["belvo"]?.detail.hasPrefix("cannot be reached") == true, "\(away)")

            let authority = try TestAuthority()
            let identity = try authority.issue("IP:127.0.0.1")
            let listener = try Listener(at: #require(SocketAddress(numericHost: "127.0.0.1", port: 0)))
            let server = HTTP.Server(
                tls: try .server(certificateChain: identity.certificateFile, privateKey: identity.keyFile),
                refusal: { Response($0.status) }, handler: { request, _ in await harness.sandbox.reply(to: request) })
            try await server.listen(to: listener, on: [harness.loop])
            let url = "https://\(listener.address)"
            let unknown = try await examine(harness, ["BELVO_BASE_URL": url])
            #expect(unknown["belvo"]?.severity == .failed)
            #expect(unknown["belvo"]?.detail.contains("certificate") == true, "\(unknown)")
            let known = try await examine(
                harness, ["BELVO_BASE_URL": url, "BELVO_CA_FILE": authority.certificateFile])
            #expect(known["belvo"]?.severity == .ok, "\(known)")
            await server.drain(loops: [harness.loop], within: .seconds(1))
        }
    }

    @Test func `association files as the internet sees them`() async throws {
        let apps = [
            "APPLE_APP_IDS": "ABCDE12345.com.example.shop"
        ]
        let path = "/.well-known/apple-app-site-association"
        try await TestHarness.open(environment: apps) { harness in
            let good = try await examine(harness, ["PUBLIC_BASE_URL": harness.origin])
            #expect(good[path]?.severity == .ok, "\(good)")
            // Another listener answers there: the operators' address, which has no such file.
            let elsewhere = try await examine(harness, ["PUBLIC_BASE_URL": "http://\(harness.addresses.admin)"])
            #expect(elsewhere[path]?.severity == .failed)
            #expect(elsewhere[path]?.detail.contains("404") == true)
            let away = try await examine(harness, ["PUBLIC_BASE_URL": "http://127.0.0.1:1"])
            #expect(away[path]?.severity == .failed)
        }
    }
}
