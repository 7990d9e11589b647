import Contract
import HTTP
import JSON
import Payments
import Testing

@testable import MerchantAPI

/// The OpenAPI document beside the server's own lists. What answers look like is checked from outside (./dev contract).
@Suite struct ContractTests {
    private let document: JSONValue

    init() throws {
        document = try JSONDocument(parsing: Contract.document).root
    }

    @Test func `the document is served as it is, and not again to whoever has it`() async throws {
        try await TestHarness.open { harness in
            let anybody = App(client: harness.client, token: nil)
            let first = try await anybody.send(.get, "/openapi.json")
            #expect(first.status == 200 && first.response.body == Contract.document)
            #expect(first.response.headers["content-type"] == "application/json")
            let tag = try #require(first.response.headers["etag"])
            for known in [tag, "\"other\", W/\(tag)", "*"] {
                let again = try await anybody.send(.get, "/openapi.json", headers: ["if-none-match": known])
                #expect(again.status == 304 && again.response.body.isEmpty, "\(known)")
                #expect(again.response.headers["etag"] == tag, "\(known)")
            }
            let changed = try await anybody.send(.get, "/openapi.json", headers: ["if-none-match": "\"other\""])
            #expect(changed.status == 200 && changed.response.body == Contract.document)
        }
    }

    @Test func `every operation is documented, and no other`() throws {
        let documented = try operations().map { "\($0.method.uppercased()) \($0.path)" }
        #expect(Set(documented) == Set(Operation.allCases.map { "\($0.method) \($0.path)" }))
    }

    @Test func `exactly the operations for users ask for a token`() throws {
        let open = try operations().filter { $0.value["security"].map { Array($0.elements).isEmpty } ?? false }
        let expected = Operation.allCases.filter { ![.user, .shop, .belvo].contains($0.access) }
        #expect(
            Set(open.map { "\($0.method.uppercased()) \($0.path)" }) == Set(expected.map { "\($0.method) \($0.path)" }))
        #expect(try !Array(#require(document["security"]).elements).isEmpty)
    }

    @Test func `the problem codes are those that the server knows`() throws {
        #expect(try texts(schema("ProblemCode")["enum"]) == ProblemCode.allCases.map(\.rawValue))
    }

    @Test func `every problem code stands in an answer`() throws {
        let components = try #require(document["components"]?["responses"])
        var responses = components.members.map(\.value)
        for operation in try operations() {
            responses += try #require(operation.value["responses"]).members.map(\.value)
        }
        var codes: Set<String> = []
        for response in responses {
            let narrowed = response["content"]?["application/problem+json"]?["schema"]?["allOf"]
            for part in narrowed.map({ Array($0.elements) }) ?? [] {
                if let list = part["properties"]?["code"]?["enum"] { codes.formUnion(try texts(list)) }
            }
        }
        #expect(codes == Set(ProblemCode.allCases.map(\.rawValue)))
    }

    @Test func `an answer that is one record has its tag`() throws {
        var untagged: [String] = []
        var count = 0
        for operation in try operations() {
            for response in try #require(operation.value["responses"]).members {
                let shown = response.value["content"]?["application/json"]?["schema"]?["$ref"]?.string ?? ""
                let noun = shown.split(separator: "/").last ?? ""
                guard ["Customer", "Enrollment", "PaymentIntent"].contains(noun) else { continue }
                count += 1
                if response.value["headers"]?["ETag"] == nil {
                    untagged.append("\(operation.method) \(operation.path) \(response.name)")
                }
            }
        }
        #expect(untagged.isEmpty && count == 15)
    }

    @Test func `the next actions are those that the server writes, member by member`() throws {
        var documented: [String: Set<String>] = [:]
        for (name, target) in try #require(schema("NextAction")["discriminator"]?["mapping"]).members {
            let action = try schema(String(#require(target.string).split(separator: "/").last ?? ""))
            documented[name] = Set(try texts(action["required"]))
            #expect(action["properties"]?["type"]?["const"]?.string == name)
        }
        var written: [String: Set<String>] = [:]
        var next = oneBehind(nil)
        while let action = next {
            let text = JSONWriter.object { action.write(to: &$0) }
            let root = try JSONDocument(parsing: text).root
            if let value = root["next_action"], let type = value["type"]?.string {
                written[type] = Set(value.members.map(\.name))
            }
            next = oneBehind(action)
        }
        #expect(documented == written)
    }

    @Test func `the reasons to retry are those that the server gives`() throws {
        #expect(try texts(schema("RetryReason")["enum"]) == RetryReason.allCases.map(\.rawValue))
    }

    @Test(arguments: RetryReason.allCases)
    func `the texts for a reason are the ones that the server's authors wrote`(reason: RetryReason) throws {
        let texts = try #require(try schema("RetryReason")["x-texts"]?[reason.rawValue])
        for (name, wording) in [("title", reason.text.title), ("sentence", reason.text.sentence)] {
            #expect(texts[name]?["pt-BR"]?.string == wording.portuguese)
            #expect(texts[name]?["en"]?.string == wording.english)
            #expect(texts[name]?["es"]?.string == wording.spanish)
        }
    }

    @Test func `the states and platforms are those of the server`() throws {
        #expect(try texts(schema("Status")["enum"]) == Payments.Status.allCases.map(\.rawValue))
        for name in ["EnrollmentToCreate", "EnrollmentDetails"] {
            let platform = try #require(schema(name)["properties"]?["platform"])
            // Of an enrollment that was made without the server it may be null.
            let named = platform["oneOf"].flatMap { Array($0.elements).first } ?? platform
            #expect(try texts(named["enum"]) == Enrollment.Platform.allCases.map(\.rawValue), "\(name)")
        }
    }

    /// All next actions one after the other: a new one does not compile until it has its place here.
    private func oneBehind(_ action: NextAction?) -> NextAction? {
        switch action {
        case nil: .redirect(url: "https://bank.example")
        case .redirect: .poll(after: .seconds(2))
        case .poll: .register(options: Array("{}".utf8))
        case .register: .sign(options: Array("{}".utf8))
        case .sign: .retry(.now)
        case .retry: .nothing
        case .nothing: nil
        }
    }

    private func schema(_ name: String) throws -> JSONValue {
        try #require(document["components"]?["schemas"]?[name], "no schema \(name)")
    }

    private func operations() throws -> [(path: String, method: String, value: JSONValue)] {
        try #require(document["paths"]).members.flatMap { path in
            path.value.members.map { (path.name, $0.name, $0.value) }
        }
    }

    private func texts(_ list: JSONValue?) throws -> [String] {
        try #require(list).elements.map { try #require($0.string) }
    }
}
