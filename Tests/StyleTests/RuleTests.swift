import Testing

@Suite struct RuleTests {
    @Test(arguments: Rule.all)
    func `the checkout keeps every rule`(rule: Rule) {
        let files = Checkout.files.filter(rule.applies)
        #expect(!files.isEmpty)
        for finding in files.flatMap(rule.findings(in:)) {
            Issue.record("\(finding)")
        }
    }

    @Test(arguments: Rule.all)
    func `every rule tells right from wrong`(rule: Rule) {
        for sample in rule.forbidden {
            #expect(!rule.findings(in: TextFile(path: "wrong", text: sample)).isEmpty, "\(sample)")
        }
        for sample in rule.allowed {
            #expect(rule.findings(in: TextFile(path: "right", text: sample)).isEmpty, "\(sample)")
        }
    }

    @Test func `a rule names the file and the line`() {
        let file = TextFile(path: "Sources/A/B.swift", text: "let a = 1\n// TODO: b\n")
        #expect(Rule.notes.findings(in: file).map(\.description) == ["Sources/A/B.swift:2: TODO"])
    }
}
