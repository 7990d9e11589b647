import FoundationEssentials

/// Files of the merchant server's settings: one NAME=value a line.
enum ConfigurationFile {
    /// The whole text, without white space around it.
    static func text(of path: String) throws -> String {
        let data = try Data(contentsOf: URL(filePath: path))
        return String(decoding: data, as: UTF8.self).trimmed
    }

    static func values(of path: String) throws -> [String: String] {
        var values: [String: String] = [:]
        for line in try text(of: path).split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            let parts = line.split(separator: "=", maxSplits: 1).map { String($0).trimmed }
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
        return values
    }
}

/// What the shop's backend shares with the merchant server.
struct Secrets: Sendable {
    /// Signs users' tokens (`AUTH_HS256_SECRET`).
    let tokens: [UInt8]
    /// Places orders (`SHOP_TOKEN`).
    let orders: String
    /// Checks events (`SHOP_WEBHOOK_SECRET`: `whsec_` and base64).
    let events: [UInt8]

    init(file: String) throws {
        let values = try ConfigurationFile.values(of: file)
        guard let tokens = values["AUTH_HS256_SECRET"], let orders = values["SHOP_TOKEN"],
            let text = values["SHOP_WEBHOOK_SECRET"], text.hasPrefix("whsec_"),
            let events = Data(base64Encoded: String(text.dropFirst(6)))
        else { throw MissingSecrets(file: file) }
        self.tokens = Array(tokens.utf8)
        self.orders = orders
        self.events = Array(events)
    }
}

/// A settings file without what the shop needs of it.
struct MissingSecrets: Error, CustomStringConvertible {
    let file: String
    var description: String { "\(file) lacks AUTH_HS256_SECRET, SHOP_TOKEN or SHOP_WEBHOOK_SECRET" }
}

extension String {
    fileprivate var trimmed: String {
        let start = drop { $0.isWhitespace }
        return String(start.reversed().drop { $0.isWhitespace }.reversed())
    }
}
