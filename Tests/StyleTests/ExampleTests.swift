import Testing

/// The files that developers of apps copy.
@Suite struct ExampleTests {
    private static let loops = ["examples/shop/Page/pix.js", "examples/android/Pix.kt", "examples/ios/Pix.swift"]

    @Test(arguments: loops)
    func `a loop to copy is one file of less than 200 lines`(path: String) throws {
        let file = try #require(Checkout.text(at: path))
        #expect(file.lines.count < 200)
    }

    @Test func `the code that the documents show is that of the examples, or of their tests`() {
        let documents = ["README.md", "examples/README.md", "examples/android/README.md", "examples/ios/README.md"]
        let sources = (Self.loops + ["Tests/MerchantTests/Examples/Snippets.swift"]).compactMap {
            Checkout.text(at: $0)
        }
        .map { text(of: $0.lines) }
        let shown = documents.compactMap { Checkout.text(at: $0) }.flatMap { file in
            blocks(of: file).map { (file.path, $0) }
        }
        #expect(Set(shown.map(\.0)) == Set(documents))
        for (document, block) in shown where !sources.contains(where: { $0.contains(text(of: block)) }) {
            Issue.record("\(document) shows code that is nowhere: \(block.first ?? "")")
        }
    }

    /// The code of a document in a language of apps.
    private func blocks(of file: TextFile) -> [[Substring]] {
        file.lines.indices.filter { ["```javascript", "```kotlin", "```swift"].contains(file.lines[$0]) }
            .map { start in Array(file.lines[(start + 1)...].prefix { $0 != "```" }) }
    }

    /// Lines without their indentation.
    private func text(of lines: [Substring]) -> String {
        "\n" + lines.map(\.trimmed).joined(separator: "\n") + "\n"
    }
}
