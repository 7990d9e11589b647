import Glibc
import JSON
import SoftwareAuthenticator
import Testing

struct PhoneFileTests {
    private let bank = RelyingParty()

    @Test(arguments: Algorithm.allCases)
    func `a phone that was put away goes on where it stopped`(algorithm: Algorithm) throws {
        var phone = Phone()
        phone.algorithms = [algorithm]
        let credential = try bank.register(try phone.register(bank.registrationOptions()))
        _ = try phone.sign(bank.fidoOptions(allowing: nil))

        var restored = try Phone(json: try phone.json())
        #expect(restored.deviceID == phone.deviceID)
        let assertion = try restored.sign(bank.fidoOptions(allowing: [credential.id]))
        #expect(try bank.verify(assertion, by: credential) == 2)
    }

    @Test(arguments: [
        "", "{", "[]", "{}", #"{"device_id":"d"}"#, #"{"device_id":"d","credentials":[{}]}"#,
        file(algorithm: "-8"), file(signCount: "-1"), file(signCount: "4294967296"),
    ])
    func `a file that no phone wrote is refused`(text: String) {
        let error = #expect(throws: PhoneError.self) { try Phone(json: Array(text.utf8)) }
        guard case .file = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `a broken key is refused`() {
        let error = #expect(throws: PhoneError.self) { try Phone(json: Array(PhoneFileTests.file().utf8)) }
        guard case .cryptography = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    /// A phone's file that is right but for its key, unless told otherwise.
    private static func file(algorithm: String = "-7", signCount: String = "0") -> String {
        """
        {"device_id": "d", "credentials": [{"id": "YQ", "rp_id": "a", "user_handle": "YQ", \
        "algorithm": \(algorithm), "sign_count": \(signCount), "private_key": "YQ"}]}
        """
    }

    @Test func `a file is made by the first save and is its owner's alone`() throws {
        try withTemporaryDirectory { directory in
            let file = PhoneFile(path: directory + "/phone.json")
            var phone = try file.load()
            _ = try phone.register(bank.registrationOptions())
            try file.save(phone)
            try file.save(phone)

            #expect(try file.load().credentials.map(\.id) == phone.credentials.map(\.id))
            var status = stat()
            #expect(stat(file.path, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            #expect(access(file.path + ".new", F_OK) != 0)
            #expect(unlink(file.path) == 0)
        }
    }

    @Test func `a place where nothing can be written is named`() {
        let file = PhoneFile(path: "/nowhere/phone.json")
        #expect(throws: PhoneError.file("/nowhere/phone.json.new: No such file or directory")) {
            try file.save(Phone())
        }
        #expect(throws: PhoneError.file("/: Is a directory")) { try PhoneFile(path: "/").load() }
    }

    private func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/phone-XXXXXX".utf8CString)
        let path = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { rmdir(path) }
        try body(path)
    }
}
