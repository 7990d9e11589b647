import Glibc
import Testing

@testable import MerchantModel
@testable import MerchantStore

/// `docs/security.md` is where a reader learns what is kept of a person, and which test shows what.
@Suite struct SecurityDocumentTests {
    @Test(arguments: VaultColumn.allCases) func `every encrypted column is in the inventory`(column: VaultColumn) throws
    {
        #expect(try text(of: "docs/security.md").contains("`\(column.rawValue)`"))
    }

    @Test func `every test that it names is there`() throws {
        let words = try text(of: "docs/security.md").split(separator: "`").filter { $0.hasPrefix("Tests/") }
        #expect(words.count > 15)
        for path in Set(words) { #expect(exists(String(path)), "\(path)") }
    }

    @Test func `the way to report a vulnerability leads here and back`() throws {
        #expect(try text(of: "SECURITY.md").contains("docs/security.md"))
        #expect(try text(of: "docs/security.md").contains("../SECURITY.md"))
    }

    private let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

    private func text(of file: String) throws -> String {
        try #require(String(validating: try SmallFile.read("\(root)/\(file)"), as: UTF8.self))
    }

    private func exists(_ path: String) -> Bool { access("\(root)/\(path)", R_OK) == 0 }
}
