import Belvo
import HTTP
import JSON
import MerchantAPI
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments
import Postgres
import Transport

/// One thing that has to be right for the server to work, and how it stands.
package struct Finding: Sendable, Equatable {
    /// How bad it is.
    package enum Severity: String, Sendable {
        case ok
        /// It works, but an operator should check it.
        case warning
        /// It does not work.
        case failed
    }

    package let severity: Severity
    /// The check.
    package let subject: String
    package let detail: String
}

extension Operators {
    /// The difference between the database's clock and this machine's past which tokens and signatures suffer.
    static let clockDifferenceMax = Duration.seconds(5)

    /// Checks everything that has to be right: the database, its schema, the clock, Belvo behind TLS and with our
    /// credentials, and the association files as the internet sees them.
    ///
    /// The configuration has been read by then. Nothing is changed.
    package func examine() async -> [Finding] {
        var findings = [Finding(severity: .ok, subject: "configuration", detail: "every setting is well-formed")]
        findings += settings.warnings.map { Finding(severity: .warning, subject: $0.name, detail: $0.message) }
        findings += await examineDatabase()
        findings.append(await examineBelvo())
        findings += await examineAssociations()
        return findings
    }

    private func examineDatabase() async -> [Finding] {
        do {
            let status = try await Migrator(.merchant, of: database).status()
            let schema =
                status == .upToDate
                ? Finding(severity: .ok, subject: "migrations", detail: "the schema is up to date")
                : Finding(severity: .failed, subject: "migrations", detail: "\(SchemaRefused(status: status))")
            let difference = try await dependencies.store.databaseTime() - WallClock.now()
            let seconds = Double(difference.wholeNanoseconds) / 1e9
            let durability = Self.judgeDurability(try await dependencies.store.durability())
            let isClose = abs(seconds) <= Double(Self.clockDifferenceMax.components.seconds)
            return [
                Finding(severity: .ok, subject: "database", detail: "answers"), schema, durability,
                Finding(
                    severity: isClose ? .ok : .warning, subject: "clock",
                    detail: "the database's clock differs by \((seconds * 1000).rounded() / 1000) s"),
            ]
        } catch {
            return [Finding(severity: .failed, subject: "database", detail: "\(error)")]
        }
    }

    /// Whether PostgreSQL keeps what it confirms when its machine fails.
    private static func judgeDurability(_ settings: [String: String]) -> Finding {
        func finding(_ severity: Finding.Severity, _ detail: String) -> Finding {
            Finding(severity: severity, subject: "durability", detail: detail)
        }
        let turnedOff = ["fsync", "full_page_writes"].filter { settings[$0] != "on" }
        guard turnedOff.isEmpty else {
            let names = turnedOff.joined(separator: " and ")
            return finding(.failed, "\(names) off: a failure of the machine may lose payments that were confirmed")
        }
        let commit = settings["synchronous_commit"] ?? "unknown"
        guard commit != "off", commit != "local" else {
            return finding(
                .warning, "synchronous_commit is \(commit); this server turns it on for itself, others do not")
        }
        return finding(.ok, "commits are on disk before they are confirmed (synchronous_commit \(commit))")
    }

    func examineBelvo() async -> Finding {
        func finding(_ severity: Finding.Severity, _ detail: String) -> Finding {
            Finding(severity: severity, subject: "belvo", detail: detail)
        }
        do {
            let found = try await dependencies.belvo.listInstitutions().institutions
            let usable = found.filter(\.offersBiometricPix).count
            return usable > 0
                ? finding(.ok, "TLS and credentials are good; \(usable) institutions offer Biometric Pix")
                : finding(.warning, "TLS and credentials are good, but no institution offers Biometric Pix")
        } catch .denied(let refusal) where refusal.status == 403 && refusal.items.isEmpty {
            // An answer of Belvo's API names its reason; a page of a firewall does not.
            return finding(
                .failed,
                """
                a firewall before Belvo refuses us (403 without a word of Belvo's API): ask Belvo to let in the \
                addresses of the servers; the credentials are not the first suspect
                """)
        } catch .denied {
            return finding(.failed, "Belvo did not let us in: look at BELVO_SECRET_ID and BELVO_SECRET_PASSWORD")
        } catch .unreachable(let reason, _) {
            return finding(.failed, "cannot be reached: \(reason)")
        } catch {
            return finding(.failed, "\(error)")
        }
    }

    private func examineAssociations() async -> [Finding] {
        var findings: [Finding] = []
        for (path, isWanted) in [
            ("/.well-known/apple-app-site-association", !settings.appleAppIDs.isEmpty),
            ("/.well-known/assetlinks.json", !settings.androidApps.isEmpty),
        ] where isWanted {
            findings.append(await examine(path))
        }
        return findings
    }

    /// Fetches a file as a phone's maker does: over https from `PUBLIC_BASE_URL`, without following a redirect.
    private func examine(_ path: String) async -> Finding {
        func finding(_ severity: Finding.Severity, _ detail: String) -> Finding {
            Finding(severity: severity, subject: path, detail: detail)
        }
        do {
            let origin = settings.publicBaseURL.origin
            let client = HTTP.Client(origin: origin, tls: origin.scheme == .https ? try TLSContext.client() : nil)
            let response = try await client.send(Request(.get, Target(path: path)), deadline: .seconds(10))
            guard response.status == .ok else {
                return finding(.failed, "answers \(response.status.code); it has to be 200 without a redirect")
            }
            let type = (response.headers["content-type"] ?? "").prefix { $0 != ";" }
            guard type == "application/json" else { return finding(.failed, "is served as \(type)") }
            guard (try? JSONDocument(parsing: response.body)) != nil else { return finding(.failed, "is no JSON") }
            return finding(.ok, "is served as it has to be")
        } catch {
            return finding(.failed, "cannot be fetched from \(settings.publicBaseURL.origin): \(error)")
        }
    }
}

extension [Finding] {
    /// All of them as one JSON text.
    package var json: String {
        let bytes = JSONWriter.object { answer in
            answer.member("healthy", !contains { $0.severity == .failed })
            answer.memberArray("findings") { list in
                for finding in self {
                    list.object {
                        $0.member("subject", finding.subject)
                        $0.member("verdict", finding.severity.rawValue)
                        $0.member("detail", finding.detail)
                    }
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
