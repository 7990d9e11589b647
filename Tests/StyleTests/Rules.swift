extension Rule {
    static let all: [Rule] = [
        lineLength, fileLength, programLength, notes, explainedEscapes, explainedForce, waitingForEvents, names,
        foundation, documentation,
    ]

    static let lineLength = Rule.line(
        "no line is longer than 120 columns",
        // A table's row is one line, however long, and so is a text in a document of JSON; a patch has a column more
        // than what it is put on; what a test of alerts expects is quoted whole.
        applies: { file in ![".md", ".json", ".patch", "_test.yml"].contains(where: file.path.hasSuffix) },
        fault: { lines, index in lines[index].count > 120 ? "\(lines[index].count) columns" : nil },
        forbidden: [String(repeating: "x", count: 121)],
        allowed: [String(repeating: "x", count: 120), String(repeating: "é", count: 120)]
    )

    static let fileLength = Rule(
        description: "no file is longer than 450 lines",
        // The OpenAPI document is one file by its nature, and so are a dashboard and the test of all alerts.
        applies: { file in
            !["contract/openapi.json", "/dashboard.json", "/rules_test.yml"].contains(where: file.path.hasSuffix)
        },
        faults: { $0.lines.count > 450 ? [(nil, "\($0.lines.count) lines: does it still have one purpose?")] : [] },
        forbidden: [String(repeating: "x\n", count: 451)],
        allowed: [String(repeating: "x\n", count: 450)]
    )

    static let programLength = Rule(
        description: "a program's files have fewer than 80 lines each: what they do belongs in its library",
        applies: { $0.isSource && $0.target?.hasSuffix("Program") == true },
        faults: { $0.lines.count >= 80 ? [(nil, "\($0.lines.count) lines")] : [] },
        forbidden: [String(repeating: "x\n", count: 80)],
        allowed: [String(repeating: "x\n", count: 79)]
    )

    static let notes = Rule.line(
        "nothing is left for later",
        applies: { !$0.isOfStyleTests },
        fault: { lines, index in
            lines[index].words.first { ["TODO", "FIXME", "XXX"].contains($0) }.map { "\($0)" }
        },
        forbidden: ["// TODO: later", "let x = 1  // FIXME", "# XXX"],
        allowed: ["mktemp /tmp/merchant.XXXXXX", "func todo()"]
    )

    static let explainedEscapes = Rule.line(
        "what the compiler cannot check for data races has a comment above that says why it is safe",
        applies: { $0.isSwift && !$0.isOfStyleTests },
        fault: unexplained(["@unchecked Sendable", "nonisolated(unsafe)"]),
        forbidden: [
            "final class Loop: @unchecked Sendable {}",
            "// Guarded by the lock.\n\nnonisolated(unsafe) var count = 0",
            "let a = 1\nfinal class Loop: @unchecked Sendable {}",
        ],
        allowed: [
            "// Guarded by the lock.\nnonisolated(unsafe) var count = 0",
            "/// Only touched on its own thread.\n@frozen\nfinal class Loop: @unchecked Sendable {}",
            "// @unchecked Sendable would do.",
        ]
    )

    static let explainedForce = Rule.line(
        "what traps or reinterprets has a comment above that says why it cannot go wrong",
        applies: { $0.isSource },
        fault: unexplained(["try!", " as! ", "unsafeBitCast("]),
        forbidden: ["let x = try! parse()", "let x = y as! String", "\nlet x = unsafeBitCast(y, to: Int.self)"],
        allowed: ["// A literal, read by a test.\nlet x = try! parse()", "/// Like `try!`.", "let x = y as? String"]
    )

    static let waitingForEvents = Rule.line(
        "a test waits for events: a sleep is in a loop that ends with one, or has a comment above that says why not",
        applies: { $0.isSwift && $0.path.hasPrefix("Tests/") && !$0.isOfStyleTests },
        fault: { lines, index in
            let line = lines[index]
            guard ["sleep(for", "sleep(until", "usleep(", "pg_sleep("].contains(where: line.contains), !line.isComment,
                !line.contains("func ")
            else { return nil }
            let isExplained = index > 0 && lines[index - 1].isComment
            let isInLoop = lines[max(0, index - 14)...index].contains {
                $0.words.contains("while") || $0.contains("for _ in 0..<")
            }
            return isExplained || isInLoop ? nil : "a fixed sleep"
        },
        forbidden: ["try await loop.sleep(for: .seconds(1))", "x()\nusleep(5)", #"execute("SELECT pg_sleep(1)")"#],
        allowed: [
            "while !isDone { try await loop.sleep(for: .milliseconds(1)) }",
            "while !isDone {\n    look()\n    usleep(10)\n}",
            "// Time itself is tested.\ntry await loop.sleep(for: .milliseconds(30))",
        ]
    )

    /// A fault for any of the texts in code without a comment on the line above, attributes in between aside.
    private static func unexplained(
        _ texts: [String]
    ) -> @Sendable (_ lines: [Substring], _ index: Int) -> String? {
        { lines, index in
            guard let text = texts.first(where: lines[index].contains), !lines[index].isComment else { return nil }
            var above = index - 1
            while above >= 0, lines[above].trimmed.hasPrefix("@") { above -= 1 }
            return above >= 0 && lines[above].isComment ? nil : "\(text[...].trimmed) without a reason"
        }
    }

    static let names = Rule.line(
        "no type is named after nothing in particular",
        applies: { $0.isSwift && !$0.isOfStyleTests },
        fault: { lines, index in
            let words = lines[index].words
            guard !lines[index].isComment,
                let keyword = words.firstIndex(where: typeKeywords.contains), keyword + 1 < words.count
            else { return nil }
            let name = words[keyword + 1]
            return camelCaseWords(name).contains(where: emptyNames.contains) ? "\(name)" : nil
        },
        forbidden: [
            "struct PaymentManager {", "public final class JSONHelper {", "enum Utils {}",
            "actor BelvoService: Sendable {", "protocol ServiceClient {", "typealias UserInfo = String",
        ],
        allowed: [
            "struct Serviced {", "let manager = 1", "struct Management {}", "// A struct Helper would do.",
            "struct Utility {}", "let info: String",
        ]
    )

    private static let typeKeywords: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
    private static let emptyNames: Set<String> = [
        "Manager", "Managers", "Helper", "Helpers", "Util", "Utils", "Service", "Services", "Info",
    ]

    /// `JSON` and `Helper` of `JSONHelper`; only the last capital of a run begins a word.
    static func camelCaseWords(_ name: Substring) -> [String] {
        var words: [String] = []
        let letters = Array(name)
        for (index, letter) in letters.enumerated() {
            let followsSmall = index > 0 && !letters[index - 1].isUppercase
            let precedesSmall = index + 1 < letters.count && letters[index + 1].isLowercase
            if words.isEmpty || letter.isUppercase && (followsSmall || precedesSmall) { words.append("") }
            words[words.count - 1].append(letter)
        }
        return words
    }

    static let foundation = Rule.line(
        "nothing imports Foundation, which costs memory, or SwiftNIO, which this project does without",
        // A server that is compared with this one may be made of what it likes.
        applies: { $0.isSwift && !$0.isForApps && !$0.path.hasPrefix("bench/peers/") },
        fault: { lines, index in
            guard let module = ImportedModule.name(in: lines[index]) else { return nil }
            let isRefused = module == "Foundation" || module.hasPrefix("NIO") || module.hasPrefix("_NIO")
            return isRefused ? "import \(module)" : nil
        },
        forbidden: [
            "import Foundation", "@preconcurrency public import Foundation", "import struct NIOCore.ByteBuffer",
        ],
        allowed: ["import FoundationEssentials", "// import Foundation", "import struct FoundationEssentials.UUID"]
    )
}
