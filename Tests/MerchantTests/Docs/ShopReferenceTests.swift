import Testing

/// The statements of docs/apps.md about the example shop are right.
@Suite struct ShopReferenceTests {
    private static let text = Result { try Guide.lines(of: "docs/apps.md") }

    @Test func `every step of building an app says where it stands in the shop`() throws {
        var without: [Substring] = []
        for section in try Self.text.get().joined(separator: "\n").split(separator: "\n## ").dropFirst() {
            let title = section.prefix { $0 != "\n" }
            if !section.contains("*In the shop:*") { without.append(title) }
        }
        #expect(without == ["Belvo's SDK by itself"], "the shop does not use it")
    }

    @Test func `what is named there is in the file that the name links to`() throws {
        let text = try Self.text.get().joined(separator: " ")
        let sentences = text.matches(
            of: /((?:`[#A-Za-z]+`(?:, | and )?)+) in \[[a-zA-Z.]+\]\(\.\.\/(examples\/[^)]+)\)/)
        #expect(sentences.count >= 12)
        for sentence in sentences {
            let (_, names, path) = sentence.output
            let code = try Guide.lines(of: String(path)).joined(separator: "\n")
            for name in names.matches(of: /`([#A-Za-z]+)`/) {
                // The name is declared there, as a method, a function or a value; not only mentioned.
                let word = String(name.output.1)
                let isDeclared = ["func \(word)(", "\(word)(", "\(word): ", "const \(word) ="].contains {
                    code.contains($0)
                }
                #expect(isDeclared, "\(word) in \(path)")
            }
        }
    }
}
