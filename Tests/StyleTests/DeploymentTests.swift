import FoundationEssentials
import Testing

/// Files for operators are used by a test or a script here, or the document says that they are not.
@Suite struct DeploymentTests {
    @Test func `deploy/README.md tells of every file below deploy which test uses it`() throws {
        let lines = try #require(Checkout.text(at: "deploy/README.md")).lines
        let files = try FileManager.default.subpathsOfDirectory(atPath: Checkout.root + "/deploy").filter { path in
            path.contains(".") && path != "README.md" && !path.contains("__pycache__") || path.hasSuffix("rm")
                || path.hasSuffix("postinst")
        }
        #expect(files.count > 15)
        for path in files where Checkout.text(at: "deploy/" + path) != nil {
            // A row of the table: the file, or the folder that it is in, and who uses it.
            let row = lines.first { line in
                let cells = line.split(separator: "|").map(\.trimmed)
                guard cells.count == 2, let name = cells[0].split(separator: "`").first else { return false }
                return path == name || name.hasSuffix("/") && path.hasPrefix(name)
            }
            #expect(row != nil, "deploy/README.md has no row for \(path)")
        }
    }

    @Test func `every row of deploy/README.md is of a file that there is`() throws {
        let lines = try #require(Checkout.text(at: "deploy/README.md")).lines
        let names = lines.compactMap { line -> String? in
            guard line.hasPrefix("| `") else { return nil }
            return line.split(separator: "`").dropFirst().first.map(String.init)
        }
        #expect(names.count > 10)
        for name in names where !FileManager.default.fileExists(atPath: "\(Checkout.root)/deploy/\(name)") {
            Issue.record("deploy/README.md names \(name), which is not there")
        }
    }

    @Test func `the program's version is the newest one of CHANGELOG.md, and those before name their commits`()
        throws
    {
        let program = try #require(Checkout.text(at: "Sources/MerchantProgram/MerchantProgram.swift")).lines
        let versions = program.compactMap { $0.firstMatch(of: #/"merchant (\d+\.\d+\.\d+), /#)?.output.1 }
        let said = try #require(versions.first)
        let headings = try #require(Checkout.text(at: "CHANGELOG.md")).lines.filter { $0.hasPrefix("## ") }
        #expect(headings.count >= 2)
        #expect(headings.first?.hasPrefix("## \(said) ") == true, "\(headings) and \(said)")
        for heading in headings.dropFirst() {
            #expect(heading.firstMatch(of: #/^## \d+\.\d+\.\d+ \(commit [0-9a-f]{40}\)$/#) != nil, "\(heading)")
        }
    }
}
