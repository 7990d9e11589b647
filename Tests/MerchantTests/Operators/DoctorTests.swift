import BelvoSandbox
import FoundationEssentials
import Glibc
import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Transport

@testable import Merchant

/// `merchant doctor`: what is wrong is found before users find it.
@Suite struct DoctorTests {
    private func examine(_ stage: Stage, _ changes: [String: String] = [:]) async throws -> [String: Finding] {
        let findings = try await stage.operate(try stage.settings(with: changes)) { await $0.examine() }
        return Dictionary(findings.map { ($0.subject, $0) }) { $1 }
    }

    @Test func `all is well`() async throws {
        try await TestCluster.with(settings: "fsync = on") { cluster in
            try await Stage.open(on: cluster) { stage in
                let found = try await examine(stage)
                #expect(Set(found.keys) == ["configuration", "database", "migrations", "durability", "clock", "belvo"])
                #expect(found.values.allSatisfy { $0.verdict == .ok }, "\(found)")
                #expect(!stage.log.holds("database.not_durable"))
            }
        }
    }

    @Test(arguments: ["fsync", "full_page_writes"])
    func `a database that may lose what it confirmed, of which the server warns too`(setting: String) async throws {
        try await TestCluster.with(settings: "fsync = on\n\(setting) = off") { cluster in
            try await Stage.open(on: cluster) { stage in
                _ = try await App(client: stage.client, token: nil).send(.get, "/readyz")
                let warnings = stage.log.all.filter { $0.hasPrefix("database.not_durable") }
                #expect(warnings == ["database.not_durable server=127.0.0.1:\(cluster.port) turned_off=\(setting)"])
                let found = try await examine(stage)
                #expect(found["durability"]?.verdict == .failed, "\(found)")
                #expect(found["durability"]?.detail.hasPrefix("\(setting) off: ") == true, "\(found)")
            }
        }
    }

    @Test(arguments: ["off", "local"])
    func `a database that is told not to wait for its disk or its standby`(level: String) async throws {
        try await TestCluster.with(settings: "fsync = on\nsynchronous_commit = \(level)") { cluster in
            try await Stage.open(on: cluster) { stage in
                let found = try await examine(stage)
                #expect(found["durability"]?.verdict == .warning, "\(found)")
                #expect(found["durability"]?.detail.contains("synchronous_commit is \(level)") == true, "\(found)")
            }
        }
    }

    @Test func `a secret in a file that everybody may read, of which the server warns too`() async throws {
        let file = try TemporaryFile("shop-token-of-the-tests")
        chmod(file.path, 0o604)
        try await Stage.open(environment: ["SHOP_TOKEN_FILE": file.path]) { stage in
            let found = try await examine(stage)
            #expect(found["SHOP_TOKEN_FILE"]?.verdict == .warning)
            #expect(stage.log.all.contains { $0.hasPrefix("settings.weak name=SHOP_TOKEN_FILE") })
        }
    }

    @Test func `a database that is away, and nothing is said about what could not be seen`() async throws {
        try await Stage.open { stage in
            let found = try await examine(stage, ["DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"])
            #expect(found["database"]?.verdict == .failed)
            #expect(found["migrations"] == nil)
            #expect(found["belvo"]?.verdict == .ok)
        }
    }

    @Test func `a schema that has yet to be migrated`() async throws {
        try await Stage.open { stage in
            try await TestDatabase.with { empty in
                let found = try await examine(stage, ["DATABASE_URL": empty.connectionString])
                #expect(found["migrations"]?.verdict == .failed)
                #expect(found["migrations"]?.detail.contains("merchant migrate") == true)
            }
        }
    }

    @Test func `a database whose clock goes wrong`() async throws {
        try await Stage.open { stage in
            // Another function of the same name, found first by every new connection.
            try await stage.database.execute(all: [
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
            let found = try await examine(stage)
            #expect(found["clock"]?.verdict == .warning)
            #expect(found["database"]?.verdict == .ok)
        }
    }

    @Test func `credentials that Belvo refuses, without showing them`() async throws {
        try await Stage.open { stage in
            let found = try await examine(stage, ["BELVO_SECRET_PASSWORD": "a-password-of-yesterday"])
            #expect(found["belvo"]?.verdict == .failed)
            #expect(found["belvo"]?.detail.contains("BELVO_SECRET_PASSWORD") == true)
            for finding in found.values { #expect(!finding.detail.contains("yesterday")) }
        }
    }

    @Test func `a Belvo that cannot be reached, and one whose certificate nobody vouches for`() async throws {
        try await Stage.open { stage in
            let away = try await examine(stage, ["BELVO_BASE_URL": "http://127.0.0.1:1"])
            #expect(away["belvo"]?.verdict == .failed)
            #expect(away["belvo"]?.detail.hasPrefix("cannot be reached") == true, "\(away)")

            let authority = try TestAuthority()
            let identity = try authority.issue("IP:127.0.0.1")
            let listener = try Listener(at: #require(SocketAddress(numericHost: "127.0.0.1", port: 0)))
            let server = HTTP.Server(
                tls: try .server(certificateChain: identity.certificateFile, privateKey: identity.keyFile),
                refusal: { Response($0.status) }, handler: { request, _ in await stage.sandbox.reply(to: request) })
            try await server.listen(to: listener, on: [stage.loop])
            let url = "https://\(listener.address)"
            let unknown = try await examine(stage, ["BELVO_BASE_URL": url])
            #expect(unknown["belvo"]?.verdict == .failed)
            #expect(unknown["belvo"]?.detail.contains("certificate") == true, "\(unknown)")
            let known = try await examine(
                stage, ["BELVO_BASE_URL": url, "BELVO_CA_FILE": authority.certificateFile])
            #expect(known["belvo"]?.verdict == .ok, "\(known)")
            await server.drain(loops: [stage.loop], within: .seconds(1))
        }
    }

    @Test func `association files as the internet sees them`() async throws {
        let apps = [
            "APPLE_APP_IDS": "ABCDE12345.com.example.shop"
        ]
        let path = "/.well-known/apple-app-site-association"
        try await Stage.open(environment: apps) { stage in
            let good = try await examine(stage, ["PUBLIC_BASE_URL": stage.origin])
            #expect(good[path]?.verdict == .ok, "\(good)")
            // Somebody else answers there: the operators' address, which has no such file.
            let elsewhere = try await examine(stage, ["PUBLIC_BASE_URL": "http://\(stage.addresses.admin)"])
            #expect(elsewhere[path]?.verdict == .failed)
            #expect(elsewhere[path]?.detail.contains("404") == true)
            let away = try await examine(stage, ["PUBLIC_BASE_URL": "http://127.0.0.1:1"])
            #expect(away[path]?.verdict == .failed)
        }
    }
}
