import HTTP
import Testing

struct FormFieldsTests {
    @Test(arguments: [
        "%", "a=%", "a=%4", "a=%4g", "a=%g4", "a=%%41", "a=% 41", "a=%u0041", "%=a", "a=%C3", "a=%C3%28", "a=%C0%AF",
        "a=%ED%A0%80",
        "a=%F4%90%80%80", "a=%FF", "a=%00", "%00", "a=b\n", "a=\tb", "a=\u{7F}", "a\u{0}=b", "a=\r\n",
    ])
    func `what no form encodes is refused`(form: String) {
        let fault = #expect(throws: MessageFault.self) { try FormFields(parsing: form) }
        #expect(fault?.status == .badRequest)
        #expect(throws: MessageFault.self) { try FormFields(parsing: Array(form.utf8)) }
    }

    @Test func `bytes that are no UTF-8 are refused`() {
        #expect(throws: MessageFault.self) { try FormFields(parsing: [0x61, 0x3D, 0xFF]) }
        #expect(throws: MessageFault.self) { try FormFields(parsing: [0x61, 0x3D, 0xC3]) }
    }

    @Test(arguments: [
        ("", []), ("&", []), ("&&", []), ("a", ["a="]), ("a=", ["a="]), ("=", ["="]), ("=a", ["=a"]), ("a=b", ["a=b"]),
        ("a=b=c", ["a=b=c"]),
        ("a=b&", ["a=b"]), ("&a=b&&c=d", ["a=b", "c=d"]), ("b=1&a=2&b=3", ["b=1", "a=2", "b=3"]),
        ("a+b=c+d", ["a b=c d"]),
        ("a%2Bb=%26%3d%25", ["a+b=&=%"]), ("%61=%C3%A9%f0%9f%98%80", ["a=é😀"]), ("a=é b", ["a=é b"]),
        ("a=%0D%0A%09", ["a=\r\n\t"]),
        ("a;b=c;d", ["a;b=c;d"]), ("a=\"b\"", ["a=\"b\""]), ("a?b=c#d", ["a?b=c#d"]),
    ])
    func `fields come in their order, the escapes undone`(form: String, fields: [String]) throws {
        var read: [String] = []
        func collect(name: String, value: String) { read.append("\(name)=\(value)") }
        try FormFields(parsing: form).forEach(collect)
        #expect(read == fields)
        #expect(try FormFields(parsing: Array(form.utf8)) == FormFields(parsing: form))
    }

    @Test func `a field is found by its whole name`() throws {
        let form = try FormFields(parsing: "a=1&aa=2&a=3&A=4&b")
        #expect(form["a"] == "1")
        #expect(form.values("a") == ["1", "3"])
        #expect(form["b"] == "")
        #expect(form["c"] == nil)
        #expect(form.count == 5)
    }

    @Test func `a name is its bytes`() throws {
        // U+212A KELVIN SIGN and U+212B ANGSTROM SIGN, for which Swift's `==` takes K and Å.
        let form = try FormFields(parsing: "%E2%84%AA=1&K=2&%E2%84%AB=3&%C3%85=4")
        #expect(form["K"] == "2")
        #expect(form.values("\u{212A}") == ["1"])
        #expect(form["\u{C5}"] == "4")
        #expect(try FormFields(parsing: "%E2%84%AA=1")["K"] == nil)
        #expect(try FormFields(parsing: "%E2%84%AA=1") != FormFields(parsing: "K=1"))
    }

    @Test func `there are not more fields than allowed`() throws {
        #expect(try FormFields(parsing: "a&b&&c", countMax: 3).count == 3)
        #expect(throws: MessageFault.self) { try FormFields(parsing: "a&b&c&d", countMax: 3) }
        #expect(throws: MessageFault.self) { try FormFields(parsing: String(repeating: "a&", count: 1_001)) }
    }

    @Test func `fields are encoded so that they can be read again`() throws {
        let encoded = FormFields.encode(["a b": "c&d=e+f%", "": "", "é😀~": "*-._/\r\n"])
        #expect(encoded == "a+b=c%26d%3De%2Bf%25&=&%C3%A9%F0%9F%98%80%7E=*-._%2F%0D%0A")
        #expect(try FormFields(parsing: encoded).encoded == encoded)
        #expect(FormFields().encoded == "")
    }
}
