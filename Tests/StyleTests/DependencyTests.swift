import Testing

/// SwiftNIO is what this project does without; a package could bring it along unseen.
@Suite struct DependencyTests {
    @Test func `the package asks for nothing of SwiftNIO`() throws {
        let manifest = try #require(Checkout.text(at: "Package.swift"))
        #expect(packagesOfNIO(in: manifest) == [])
    }

    /// `Package.resolved` lists the packages of packages too; a build has always just written it.
    @Test func `no package brings SwiftNIO along`() throws {
        let resolved = try #require(Checkout.text(at: "Package.resolved"), "swift build writes Package.resolved")
        #expect(resolved.lines.contains { $0.contains("swift-argument-parser") })
        #expect(packagesOfNIO(in: resolved) == [])
    }

    @Test(arguments: [
        ("\"location\" : \"https://github.com/apple/swift-nio.git\",", true),
        (".package(url: \"https://github.com/vapor/postgres-nio\", from: \"1.0.0\")", true),
        (".product(name: \"NIOCore\", package: \"swift-nio-ssl\"),", true),
        ("\"identity\" : \"swift-log\",", false),
        ("\"identity\" : \"union-find\",", false),
    ])
    func `a package of SwiftNIO is known by its name`(line: String, isOfNIO: Bool) {
        #expect(packagesOfNIO(in: TextFile(path: "Package.resolved", text: line)).isEmpty == !isOfNIO)
    }

    private func packagesOfNIO(in file: TextFile) -> [String] {
        file.lines.filter { line in
            !line.isComment && line.words.contains { $0 == "nio" || $0.hasPrefix("NIO") }
        }.map { String($0.trimmed) }
    }
}
