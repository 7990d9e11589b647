import Testing

@testable import MerchantModel
@testable import MerchantServer

struct SettingsFileTests {
    @Test(arguments: [
        ("LISTEN", 1), ("LISTEN 127.0.0.1:8080", 1), ("=value", 1), ("\n\nlisten=1", 3), ("# fine\nLISTEN =1", 2),
        ("export LISTEN=1", 1), ("1A=1", 1), ("_A=1", 1), ("A-B=1", 1), ("É=1", 1), ("aGVsbG8=", 1),
        ("A=1\r\nB\r\nC=2\r\n", 2), ("\u{FEFF}A=1", 1),
    ])
    func `a line that is no NAME=value is told by its number and never repeated`(text: String, line: Int) {
        let problems = SettingsFile.parse(text).problems
        #expect(problems == [SettingsProblem("line \(line)", .malformed, "is not NAME=value")])
    }

    @Test func `a name that stands twice is a problem, not a choice`() {
        let problems = SettingsFile.parse("LISTEN=a\nORDERS=b\nLISTEN=c").problems
        #expect(problems == [SettingsProblem("LISTEN", .contradictory, "stands in the file twice")])
    }

    @Test(arguments: [
        ("A=b", "b"), ("A=", ""), ("A=  b c\t ", "b c"), ("  A=b", "b"), ("A=b=c==", "b=c=="), ("A=#b", "#b"),
        ("A=b # c", "b # c"), (#"A="b""#, #""b""#), ("A='b'", "'b'"), (#"A=b\nc"#, #"b\nc"#), ("A=$B", "$B"),
        ("A=b\r", "b"), ("A=é🙂", "é🙂"), ("\n# A=c\n#A=d\n  # e\nA=b\n\n", "b"),
    ])
    func `a value is all that stands behind the first sign, without the blanks around it`(text: String, value: String) {
        let file = SettingsFile.parse(text)
        #expect(file.problems.isEmpty)
        #expect(file.values.mapValues(\.text) == ["A": value])
    }

    @Test func `a file is read from its path, and what is no text is told`() throws {
        let file = try TemporaryFile("A=b\n")
        #expect(try SettingsFile.read(file.path).values["A"]?.text == "b")
        #expect(throws: SmallFileFault.self) { try SettingsFile.read(file.path + "x") }
        #expect(throws: SmallFileFault.self) { try SettingsFile.read("/tmp") }
        #expect(throws: SmallFileFault.tooLarge) { try SettingsFile.read("/dev/zero") }
        #expect(try SettingsFile.read("/dev/null").values.isEmpty)
    }

    @Test func `it prints no value`() {
        let file = SettingsFile.parse("BELVO_SECRET_PASSWORD=hunter2")
        var dumped = ""
        dump(file, to: &dumped)
        #expect(!dumped.contains("hunter2") && !"\(file)".contains("hunter2"))
    }
}
