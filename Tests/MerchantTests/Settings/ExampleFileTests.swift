import Testing

@testable import MerchantModel
@testable import MerchantServer

/// `config/merchant.env` is where operators look: it shows every setting, and only settings.
struct ExampleFileTests {
    @Test func `the file of examples names every setting once, and no other`() throws {
        let path = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let bytes = try SmallFile.read("/\(path)/config/merchant.env")
        let text = try #require(String(validating: bytes, as: UTF8.self))
        // An example is a line that becomes a setting once its "#" is taken away.
        let lines = text.split(separator: "\n").map { $0.hasPrefix("#") && !$0.hasPrefix("# ") ? $0.dropFirst() : $0 }
        let file = SettingsFile.parse(lines.joined(separator: "\n"))
        #expect(file.problems.isEmpty)
        #expect(Set(file.values.keys) == Set(SettingName.allCases.map(\.rawValue)))
    }
}
