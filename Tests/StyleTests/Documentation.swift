extension Rule {
    /// A property is a named part of a documented type, and often its comment could only say the name again; where the
    /// unit, the range or the reason is missing, a reader has to notice.
    static let documentation = Rule(
        description: "every type and function that is public or package has a doc comment",
        applies: { $0.isSource },
        faults: { file in
            var documentedNames: Set<String> = []
            return file.lines.indices.compactMap { index in
                guard let declaration = Declaration(file.lines, at: index),
                    declaration.isExported,
                    !declaration.isProperty, !declaration.isOperator, !declaration.takesParts
                else { return nil }
                if isDocumented(file.lines, index) {
                    documentedNames.insert(declaration.name)
                    return nil
                }
                // An overload shares the comment of the first of its name, a witness that of what it is a witness of.
                if documentedNames.contains(declaration.name) || witnesses.contains(declaration.name) { return nil }
                return (index, "without a doc comment: \(file.lines[index].trimmed)")
            }
        },
        forbidden: [
            "public struct Money {",
            "/// The sum.\n\npublic func sum() {",
            "@discardableResult public func f() -> Int",
            "// Not a doc comment.\npackage static func make() {",
            "let x = 1\n\npublic class func make() {",
            "public indirect enum Tree {",
            "public init?(_ text: String) {",
            "public init(\n    _ text: String\n) throws(Fault) {",
            "public subscript(name: String) -> Int {",
            "/// Adds.\npublic func add() {\n}\n\npublic func remove() {",
        ],
        allowed: [
            "/// An amount.\npublic struct Money {",
            "/// An amount.\n@frozen\n@available(*, deprecated)\npublic struct Money {",
            "struct Money {",
            "public import HTTP",
            "public var name: String",
            "/// A name.\npublic typealias Name = Text<NameRule>\npublic enum NameRule { static let length = 1...64 }",
            "/// Adds a number.\npublic func add(_ number: Int) {\n}\n\npublic func add(_ text: String) {",
            "public init(status: Int, headers: [String]) {",
            "public typealias ID = Identity<Payment>",
            "public static func == (a: Money, b: Money) -> Bool {",
            "public static func < (a: Money, b: Money) -> Bool {",
            "public func hash(into hasher: inout Hasher) {",
            "let text = \"the public func\"",
        ]
    )

    /// A doc comment stands above, attributes and declarations without a blank line in between aside.
    private static func isDocumented(_ lines: [Substring], _ index: Int) -> Bool {
        var above = index - 1
        while above >= 0, lines[above].trimmed.hasPrefix("@") || Declaration(lines, at: above)?.isOneLine == true {
            above -= 1
        }
        return above >= 0 && lines[above].trimmed.hasPrefix("///")
    }

    /// The requirements of protocols: those of this package, which are explained there, and well-known ones.
    private static let witnesses: Set<String> = {
        let standard: Set<String> = [
            "ID", "Element", "hash", "next", "makeIterator", "index", "subscript(index", "subscript(position",
            "appendLiteral", "appendInterpolation",
        ]
        return Checkout.swiftFiles.filter(\.isSource).reduce(into: standard) { names, file in
            names.formUnion(requirements(in: file.lines))
        }
    }()

    /// The names of the members that protocols ask for.
    private static func requirements(in lines: [Substring]) -> Set<String> {
        var names: Set<String> = []
        var indentation: Int?
        for index in lines.indices {
            let depth = lines[index].prefix { $0 == " " }.count
            if let current = indentation {
                if depth <= current, lines[index].trimmed.hasPrefix("}") { indentation = nil }
                if depth > current, let member = Declaration(lines, at: index) { names.insert(member.name) }
            } else if let declaration = Declaration(lines, at: index), declaration.keyword == "protocol" {
                indentation = declaration.isOneLine ? nil : depth
            }
        }
        return names
    }
}
