import FoundationEssentials
import Testing

/// Every document that a comment cites has to be in this repository, under the name that the comment
/// gives.
@Suite struct CitationTests {
    private static let prose: [TextFile] = {
        let paths = Checkout.names(in: "docs").filter { $0.hasSuffix(".md") }.map { "docs/" + $0 }
        return (["README.md", "ARCHITECTURE.md", "examples/README.md"] + paths).compactMap { Checkout.text(at: $0) }
    }()

    @Test func `every document and section that a comment cites is in the repository`() {
        let cited = Checkout.files.filter { !$0.isOfStyleTests && !$0.path.hasSuffix(".md") }
            .flatMap { file in comments(of: file).flatMap { text in Citation.all(in: text[...]).map { (file, $0) } } }
        #expect(cited.count > 100)
        for (file, citation) in cited {
            guard let document = document(of: citation) else {
                Issue.record("\(file.path) cites \(citation.document), which is not there")
                continue
            }
            for place in citation.places where !document.has(place) {
                Issue.record("\(file.path) cites \(place) of \(citation.document), which has no such place")
            }
        }
    }

    @Test func `every link between documents leads somewhere`() {
        let links = Self.prose.flatMap { file in self.links(in: file).map { (file, $0) } }
        #expect(links.count > 20)
        for (file, link) in links {
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            let path = parts[0].isEmpty ? file.path : resolved(String(parts[0]), from: file.path)
            guard FileManager.default.fileExists(atPath: Checkout.root + "/" + path) else {
                Issue.record("\(file.path) links to \(link), which is not there")
                continue
            }
            if parts.count > 1, let text = Checkout.text(at: path) {
                #expect(MarkdownDocument(text).hasAnchor(parts[1]), "\(file.path) links to \(link)")
            }
        }
    }

    @Test(arguments: [
        ("(belvo-api.md §4.5).", ["§4.5"]),
        ("(belvo-api.md §11, lines 4 and 5): such", ["§11", "§11, line 4", "§11, line 5"]),
        ("(belvo-api.md §1, §11 line 10)", ["§1", "§11", "§11, line 10"]),
        ("the codes of belvo-api.md, §5 and then §6.5, and each", ["§5", "§6.5"]),
        ("(belvo-api.md §0 to §6)", ["§0", "§6"]),
        ("(merchant-api.md, `POST /v1` and \"Fine points\")", ["\"Fine points\""]),
        ("(reliability.md, promise 12)", ["promise 12"]),
        ("docs/limits.md has it all", []),
    ])
    func `a citation is read with its places`(text: String, places: [String]) {
        let citations = Citation.all(in: text[...])
        #expect(citations.map { $0.places.map(\.description) } == [places])
    }

    @Test(arguments: ["§2", "§1.2", "line 7", "\"No heading\"", "promise 3"])
    func `a place that is missing is noticed`(place: String) {
        let text = "# Title\n## 1. First\n| 1 | a |\n| 2. b | c |\n### A heading\n### 1.1 Inner\n"
        let document = MarkdownDocument(TextFile(path: "a.md", text: text))
        for here in ["§1", "§1.1", "\"A heading\"", "promise 2", "§1, line 1"] {
            #expect(Citation.all(in: "a.md \(here)")[0].places.allSatisfy(document.has), "\(here)")
        }
        #expect(!Citation.all(in: "a.md \(place)")[0].places.allSatisfy(document.has))
    }

    /// The comments of a file that name a document, each run of lines as one text.
    private func comments(of file: TextFile) -> [String] {
        let mark = file.isSwift ? "//" : file.path.hasSuffix(".sql") || file.path.hasSuffix(".lua") ? "--" : "#"
        // By bytes, since this reads every line there is.
        return file.lines.split { line in !line.utf8.drop { $0 == UInt8(ascii: " ") }.starts(with: mark.utf8) }
            .map { lines in lines.map { $0.trimmed.drop { "/-#".contains($0) } }.joined() }
            .filter { $0.contains(".md") }
    }

    private func document(of citation: Citation) -> MarkdownDocument? {
        let name = citation.document
        let paths = name.contains("/") ? [name] : ["docs/" + name, name]
        return paths.lazy.compactMap { Checkout.text(at: $0) }.first.map(MarkdownDocument.init)
    }

    /// The relative links of a document, code left out.
    private func links(in file: TextFile) -> [Substring] {
        var isCode = false
        return file.lines.flatMap { line -> [Substring] in
            if line.trimmed.hasPrefix("```") { isCode.toggle() }
            return isCode ? [] : line.matches(of: #/\]\(([^)\s]+)\)/#).map(\.output.1).filter { !$0.contains("://") }
        }
    }

    private func resolved(_ link: String, from path: String) -> String {
        var folders = path.split(separator: "/").dropLast()
        for part in link.split(separator: "/") where part != "." {
            if part == ".." { folders = folders.dropLast() } else { folders.append(part) }
        }
        return folders.joined(separator: "/")
    }
}
