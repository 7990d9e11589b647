import FoundationEssentials

/// A document for developers, as the steps that its examples are.
///
/// - `http`: a request and its answer, as they go over the wire. `Content-Type: application/json` and the token of the
///   user ana go without saying. `<a name>` stands for a text that is bound where it is seen first and has to be the
///   same afterwards; `<time>` and `<day>` for any. `…` stands for what is left out: members, elements, part of a text.
/// - `console`: commands behind `$ ` and what they print, as a reader would see it in a terminal.
/// - `swift`, `javascript`, `kotlin`: lines that stand like this in one of the examples, or in the page that a browser
///   plays the flow with, see `ShopSite`.
/// - `<!-- meanwhile: … -->`: what others do in between, unseen by readers; see `GuidePlayer.happen`.
/// - `text`, `sh`: no example but a picture, or commands for a machine of the reader's. Any other kind is a mistake, so
///   that no example escapes.
struct Guide: Sendable {
    let path: String
    let steps: [Step]

    struct Step: Sendable {
        /// The number of the example's first line, counted from 1.
        let line: Int
        let content: Content
    }

    enum Content: Sendable {
        case exchange(Exchange)
        case console([Command])
        case quotation([String])
        case meanwhile(String)
        case prose
        case unknown(language: String)
    }

    /// One request with its answer.
    struct Exchange: Sendable {
        var request: Part
        var answer: Part
    }

    /// A message: its first line, its header fields, its body.
    struct Part: Sendable {
        var start = ""
        var headers: [(name: String, value: String)] = []
        var body = ""
    }

    /// A command with what it prints.
    struct Command: Sendable {
        var text: String
        var output: [String] = []
    }

    /// The checkout's root.
    static let root: String = {
        var directory = #filePath
        while let slash = directory.lastIndex(of: "/") {
            directory = String(directory[..<slash])
            if FileManager.default.fileExists(atPath: directory + "/Package.swift") { return directory }
        }
        preconditionFailure("There is no Package.swift above \(#filePath).")
    }()

    /// Every document that readers are led to: at the root, in `docs` and with the examples.
    static let paths: [String] = ["", "docs/", "examples/"].flatMap { folder in
        // A folder that is not there holds no documents.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)")) ?? []
        return names.filter { $0.hasSuffix(".md") }.sorted().map { folder + $0 }
    }

    static func lines(of path: String) throws -> [String] {
        let bytes = FileManager.default.contents(atPath: "\(root)/\(path)") ?? Data()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
    }

    init(path: String) throws {
        self.init(path: path, lines: try Guide.lines(of: path))
    }

    init(path: String, lines: [String]) {
        self.path = path
        var steps: [Step] = []
        var fence: (language: String, line: Int, lines: [String])?
        for (index, line) in lines.enumerated() {
            let bare = line.drop { $0 == " " }
            if let open = fence {
                if bare.hasPrefix("```") {
                    steps.append(Step(line: open.line, content: Guide.content(open.language, open.lines)))
                    fence = nil
                } else {
                    fence?.lines.append(line)
                }
            } else if bare.hasPrefix("```") {
                fence = (String(bare.dropFirst(3)), index + 2, [])
            } else if let event = bare.wholeMatch(of: /<!-- meanwhile: (.+) -->/) {
                steps.append(Step(line: index + 1, content: .meanwhile(String(event.output.1))))
            }
        }
        if let fence { steps.append(Step(line: fence.line, content: .unknown(language: "without an end"))) }
        self.steps = steps
    }

    private static func content(_ language: String, _ lines: [String]) -> Content {
        switch language {
        case "http": .exchange(exchange(lines))
        case "console": .console(commands(lines))
        case "swift", "javascript", "kotlin": .quotation(lines)
        case "text", "sh": .prose
        default: .unknown(language: language)
        }
    }

    private static func exchange(_ lines: [String]) -> Exchange {
        let split = lines.firstIndex { $0.hasPrefix("HTTP/1.1 ") } ?? lines.endIndex
        return Exchange(request: part(lines[..<split]), answer: part(lines[split...]))
    }

    private static func part(_ lines: ArraySlice<String>) -> Part {
        var part = Part(start: lines.first ?? "")
        let end = lines.firstIndex(of: "") ?? lines.endIndex
        part.headers = lines[..<end].dropFirst().map { line in
            let pieces = line.split(separator: ":", maxSplits: 1)
            return (String(pieces[0]), pieces.count > 1 ? String(pieces[1].drop { $0 == " " }) : "")
        }
        part.body = lines[end...].joined(separator: "\n").trimmingWhiteSpace
        return part
    }

    private static func commands(_ lines: [String]) -> [Command] {
        var commands: [Command] = []
        var continues = false
        for line in lines {
            if line.hasPrefix("$ ") {
                commands.append(Command(text: String(line.dropFirst(2))))
            } else if continues, !commands.isEmpty {
                commands[commands.count - 1].text += "\n" + line
            } else if !commands.isEmpty {
                commands[commands.count - 1].output.append(line)
            }
            continues = (line.hasPrefix("$ ") || continues) && line.hasSuffix("\\")
        }
        return commands
    }
}

extension String {
    var trimmingWhiteSpace: String {
        var text = Substring(self)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
