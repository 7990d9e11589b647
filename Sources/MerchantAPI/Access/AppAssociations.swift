import HTTP
import JSON

/// The apps that belong to this server's domain, for the two files that iOS and Android read.
///
/// Belvo's domain is the relying party of the passkeys (belvo-api.md §10), so Belvo's own files associate the keys;
/// these open the app when a bank sends its user back, and let it share what a user saves for this domain.
package struct AppAssociations: Sendable {
    /// `/.well-known/apple-app-site-association`; nil without Apple apps.
    let apple: Response?
    /// `/.well-known/assetlinks.json`; nil without Android apps.
    let android: Response?

    /// Takes the apps of each kind, and the paths of this domain that open Apple's.
    package init(appleAppIDs: [String], androidApps: [AndroidApp], linkPaths: [String]) {
        apple = appleAppIDs.isEmpty ? nil : Self.file(Self.apple(appleAppIDs, links: linkPaths))
        android = androidApps.isEmpty ? nil : Self.file(Self.android(androidApps))
    }

    /// Apple documentation, "Supporting associated domains" and "applinks.Details", read 2026-11-21. A component
    /// without a query or fragment pattern matches any.
    private static func apple(_ apps: [String], links: [String]) -> [UInt8] {
        JSONWriter.object { file in
            file.memberObject("applinks") { service in
                service.memberArray("details") { details in
                    details.object { detail in
                        detail.memberArray("appIDs") { list in for app in apps { list.element(app) } }
                        detail.memberArray("components") { components in
                            for path in links {
                                components.object {
                                    $0.member("/", path)
                                    $0.member("comment", "A bank sends its user back.")
                                }
                            }
                        }
                    }
                }
            }
            file.memberObject("webcredentials") { service in
                service.memberArray("apps") { list in for app in apps { list.element(app) } }
            }
        }
    }

    /// Google, "Statement List Syntax" and "Creating a Statement List", and Android, "Credential Manager
    /// prerequisites", read 2026-11-21. An app signed with several certificates has one statement that names them all.
    private static func android(_ apps: [AndroidApp]) -> [UInt8] {
        var packages: [String] = []
        for app in apps where !packages.contains(app.package) { packages.append(app.package) }
        return JSONWriter.array { file in
            for package in packages {
                file.object { statement in
                    statement.memberArray("relation") { relations in
                        relations.element("delegate_permission/common.handle_all_urls")
                        relations.element("delegate_permission/common.get_login_creds")
                    }
                    statement.memberObject("target") { target in
                        target.member("namespace", "android_app")
                        target.member("package_name", package)
                        target.memberArray("sha256_cert_fingerprints") { list in
                            for app in apps where app.package == package { list.element(app.fingerprint) }
                        }
                    }
                }
            }
        }
    }

    /// An hour in caches: both companies ask through caches of their own about once a day, so more would save
    /// nothing, and a new certificate is to be seen the day that it is configured.
    private static func file(_ body: [UInt8]) -> Response {
        Response(
            .ok, headers: ["content-type": "application/json", "cache-control": "public, max-age=3600"], body: body)
    }
}
