import HTTP
import Testing

@testable import MerchantModel
@testable import MerchantServer

/// `docs/limits.md` is where a reader learns what a client may hold, and why.
struct LimitsDocumentTests {
    private static let limits = SettingName.allCases.map(\.rawValue).filter { $0.hasPrefix("HTTP_") }

    @Test(arguments: limits)
    func `every limit has one row, with the default that the file of settings shows, a reason and a consequence`(
        name: String
    ) throws {
        let rows = try lines(of: "docs/limits.md").filter { $0.hasPrefix("| `\(name)` |") }
        let cells = try #require(rows.first).split(separator: "|").map { $0.trimmingBlanks() }
        #expect(rows.count == 1 && cells.count == 4)
        let shown = try lines(of: "config/merchant.env").filter { $0.hasPrefix("#\(name)=") }
        let value = try #require(shown.first?.split(separator: "=").last)
        #expect(cells[1].prefix { $0 != "," } == value)
        #expect(cells.allSatisfy { !$0.isEmpty })
    }

    @Test func `what the file of settings shows is what the server takes without it`() throws {
        var environment = SettingsTests.required
        let unset = try Settings.read(environment: environment)
        for line in try lines(of: "config/merchant.env") where line.hasPrefix("#HTTP_") {
            let parts = line.dropFirst().split(separator: "=")
            environment[String(parts[0])] = String(parts[1])
        }
        let set = try Settings.read(environment: environment)
        #expect(set.connectionLimits.bounds == unset.connectionLimits.bounds)
        #expect(set.inFlightLimits == unset.inFlightLimits)
    }

    private func lines(of file: String) throws -> [Substring] {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let text = try #require(String(validating: try SmallFile.read("/\(root)/\(file)"), as: UTF8.self))
        return text.split(separator: "\n")
    }
}
