/// A rule about text that every file it applies to keeps.
///
/// It carries samples of what it forbids and allows, because a rule that never finds anything looks like a rule that
/// everybody keeps.
struct Rule: Sendable, CustomStringConvertible {
    /// The rule as a sentence.
    let description: String
    let applies: @Sendable (TextFile) -> Bool
    /// Every place in the file that breaks it: a line, counted from 0, or nil for the whole file, and what is wrong.
    let faults: @Sendable (TextFile) -> [(line: Int?, message: String)]
    let forbidden: [String]
    let allowed: [String]

    /// A rule that checks one line at a time; nil says that the line is well.
    static func line(
        _ description: String,
        applies: @escaping @Sendable (TextFile) -> Bool,
        fault: @escaping @Sendable (_ lines: [Substring], _ index: Int) -> String?,
        forbidden: [String],
        allowed: [String]
    ) -> Rule {
        Rule(
            description: description,
            applies: applies,
            faults: { file in
                file.lines.indices.compactMap { index in
                    fault(file.lines, index).map { (index, $0) }
                }
            },
            forbidden: forbidden,
            allowed: allowed
        )
    }

    func findings(in file: TextFile) -> [Finding] {
        faults(file).map { Finding(path: file.path, line: $0.line.map { $0 + 1 }, message: $0.message) }
    }
}

extension TextFile {
    /// The files of this target are full of samples of what is forbidden.
    var isOfStyleTests: Bool { path.hasPrefix("Tests/StyleTests/") }
    var isSwift: Bool { path.hasSuffix(".swift") }
    /// On a phone Foundation is there anyway.
    var isForApps: Bool { path.hasPrefix("examples/") || path.hasPrefix("Tests/MerchantTests/Examples/") }
    var isSource: Bool { path.hasPrefix("Sources/") && isSwift }
}

extension Substring {
    var trimmed: Substring {
        let end = lastIndex { !$0.isWhitespace }.map(index(after:)) ?? startIndex
        return self[..<end].drop(while: \.isWhitespace)
    }

    var isComment: Bool { trimmed.hasPrefix("//") }

    /// Its runs of letters, digits and underscores, in order.
    var words: [Substring] { split { !($0.isLetter || $0.isNumber || $0 == "_") } }
}
