import Testing

/// Folders of one target know each other as `Folder.all` says, so that no circle grows among them.
@Suite struct FolderTests {
    private static let targets = Set(Folder.all.map(\.target)).sorted()

    @Test(arguments: targets)
    func `a folder uses only what its row allows`(target: String) throws {
        let rows = Folder.all.filter { $0.target == target }
        for use in FolderUse.all(in: files(of: target)) {
            let row = try #require(rows.first { $0.name == use.folder })
            if !row.uses.contains(use.used) {
                Issue.record("\(use.place): \(row) may not know \(use.used), which has \(use.name)")
            }
        }
    }

    /// A row that allows more than there is would let a circle begin unseen.
    @Test(arguments: targets)
    func `a row allows nothing that is not used`(target: String) {
        let uses = FolderUse.all(in: files(of: target))
        for row in Folder.all where row.target == target {
            #expect(row.uses.subtracting(uses.filter { $0.folder == row.name }.map(\.used)) == [], "\(row)")
        }
    }

    @Test(arguments: targets)
    func `every folder of a target has a row`(target: String) {
        let rows = Folder.all.filter { $0.target == target }.map(\.name)
        #expect(Set(files(of: target).compactMap(Folder.name)) == Set(rows))
        #expect(Set(rows).count == rows.count)
    }

    /// Rows stand lowest first, so a folder that uses one below it in the table would point up.
    @Test(arguments: targets)
    func `the table has arrows that point down only`(target: String) {
        var above: Set<String> = []
        for row in Folder.all where row.target == target {
            #expect(row.uses.subtracting(above) == [], "\(row)")
            above.insert(row.name)
        }
    }

    @Test(arguments: [
        ("let gate: Gate", ["Gate"]), ("// Gate\n/// Gate", []), (#"let text = "Gate""#, []),
        (#"let text = "\(Gate.name) Gate \(Store("a"))""#, ["Gate", "Store"]), ("a.Gate", []), ("Gate.Store", ["Gate"]),
        ("\"\"\"\nGate \\(Store.a)\n\"\"\"\nGate", ["Store", "Gate"]), (##"#"\(Gate) \#(Store)"#"##, ["Store"]),
        ("pause(1), pause", ["pause"]), ("f(gate: 1)", ["f"]), (#""\\", Gate"#, ["Gate"]),
    ])
    func `a name is told from texts, comments and members`(code: String, names: [String]) {
        let file = TextFile(path: "Sources/Sample/A.swift", text: code)
        #expect(SourceCode(file).names.map { String($0.name) } == names)
    }

    @Test func `a use of another folder's declaration is found with its place`() {
        let files = [
            TextFile(
                path: "Sources/Sample/Low/A.swift",
                text: "struct Base {\n}\nprivate struct Own {}\nfunc rest() {}\n"),
            TextFile(path: "Sources/Sample/High/B.swift", text: "/// Base\nlet own = Own(Base())\nlet a = rest()\n"),
        ]
        let uses = FolderUse.all(in: files)
        #expect(uses.map(\.name) == ["Base", "rest"])
        #expect(uses.map(\.place) == ["Sources/Sample/High/B.swift:2", "Sources/Sample/High/B.swift:3"])
        #expect(uses.allSatisfy { $0.folder == "High" && $0.used == "Low" })
    }

    private func files(of target: String) -> [TextFile] {
        Checkout.swiftFiles.filter { $0.path.hasPrefix("Sources/\(target)/") }
    }
}
