/// The modules that the files of one folder may import: the picture of ARCHITECTURE.md, row by row.
struct Layer: Sendable {
    let folder: String
    /// Modules of this package.
    let own: Set<String>
    /// Modules of the system and of other packages.
    let others: Set<String>

    private init(_ folder: String, own: Set<String> = [], others: Set<String> = []) {
        self.folder = folder
        self.own = own
        self.others = others
    }

    /// Lowest first. Every folder of `Sources` has a row.
    static let all: [Layer] = [
        Layer("Sources/CLinux"),
        Layer("Sources/COpenSSL"),
        Layer("Sources/CLibpq"),
        Layer("Sources/Transport", own: ["CLinux", "COpenSSL"], others: ["Glibc", "Synchronization"]),
        Layer("Sources/JSON"),
        Layer("Sources/HTTP", own: ["Transport"], others: ["Glibc", "Synchronization"]),
        Layer(
            "Sources/Postgres",
            own: ["CLibpq", "Transport"],
            others: ["Glibc", "Synchronization", "FoundationEssentials"]
        ),
        Layer("Sources/Belvo", own: ["HTTP", "JSON"], others: ["Synchronization", "FoundationEssentials"]),
        // No socket and no clock, so no Glibc.
        Layer("Sources/Payments", others: ["FoundationEssentials"]),
        Layer("migrations"),
        Layer("contract"),
        // The server: no two of these know each other but downwards, and only the store and the server PostgreSQL.
        Layer(
            "Sources/MerchantModel",
            own: ["JSON", "Payments", "Transport"],
            others: ["Glibc", "Synchronization", "FoundationEssentials", "Logging", "Crypto"]
        ),
        Layer(
            "Sources/MerchantStore",
            own: ["MerchantModel", "HTTP", "JSON", "Migrations", "Payments", "Postgres", "Transport"],
            others: ["Synchronization", "FoundationEssentials", "Crypto"]
        ),
        Layer(
            "Sources/BelvoGate",
            own: ["MerchantModel", "Belvo", "HTTP", "Payments", "Transport"],
            others: ["Synchronization", "Logging"]
        ),
        Layer(
            "Sources/MerchantAuth",
            own: ["MerchantModel", "HTTP", "JSON", "Payments", "Transport"],
            others: ["Synchronization", "Crypto", "JWTKit"]
        ),
        Layer(
            "Sources/MerchantWorkflows",
            own: [
                "MerchantModel", "MerchantStore", "BelvoGate", "MerchantAuth", "Belvo", "HTTP", "JSON", "Payments",
                "Transport",
            ],
            others: ["Synchronization", "FoundationEssentials", "Logging", "Crypto"]
        ),
        Layer(
            "Sources/MerchantAPI",
            own: [
                "MerchantModel", "MerchantStore", "BelvoGate", "MerchantAuth", "MerchantWorkflows", "Belvo", "Contract",
                "HTTP", "JSON", "Payments", "Transport",
            ],
            others: ["Synchronization", "FoundationEssentials", "Logging", "Crypto"]
        ),
        Layer(
            "Sources/MerchantServer",
            own: [
                "MerchantModel", "MerchantStore", "BelvoGate", "MerchantAuth", "MerchantWorkflows", "MerchantAPI",
                "Belvo", "HTTP", "JSON", "Payments", "Postgres", "Transport",
            ],
            others: ["Glibc", "Synchronization", "FoundationEssentials", "Logging"]
        ),
        // Neither Belvo nor Payments: two independent readings of Belvo's documentation check each other.
        Layer(
            "Sources/BelvoSandbox",
            own: ["Transport", "HTTP", "JSON", "COpenSSL"],
            others: ["Glibc", "Synchronization", "FoundationEssentials"]
        ),
        // Programs build what they run from what their library imports.
        Layer(
            "Sources/MerchantProgram",
            own: [
                "MerchantModel", "MerchantStore", "MerchantAuth", "MerchantServer", "Transport", "HTTP", "Postgres",
                "Belvo", "Payments",
            ],
            others: ["Glibc", "Logging", "ArgumentParser"]
        ),
        Layer(
            "Sources/BelvoSandboxProgram",
            own: ["BelvoSandbox", "Transport", "HTTP"],
            others: ["Glibc", "ArgumentParser"]
        ),
        // What apps copy: nothing of the server, and nothing that a phone does not have.
        Layer("examples/ios", others: ["Foundation"]),
    ]

    /// The name under which others import it.
    var module: String {
        switch folder {
        case "migrations": "Migrations"
        case "contract": "Contract"
        default: String(folder.dropFirst("Sources/".count))
        }
    }

    /// The layer that a file belongs to.
    static func of(_ path: String) -> Layer? { all.first { path.hasPrefix($0.folder + "/") } }
}

/// A folder within a layer that may import less than the rest of it.
struct InnerLayer: Sendable {
    let folder: String
    let forbidden: Set<String>
    let reason: String

    static let all: [InnerLayer] = [
        InnerLayer(
            folder: "Sources/HTTP/Message",
            forbidden: ["Transport", "Synchronization"],
            reason: "messages are read and written purely"
        ),
        InnerLayer(
            folder: "Sources/MerchantStore/Store",
            forbidden: ["HTTP"],
            reason: "the store knows neither HTTP nor Belvo"
        ),
    ]
}
