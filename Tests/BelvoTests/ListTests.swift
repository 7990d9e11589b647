import Belvo
import HTTP
import Testing

/// Lists: wrapped in pages or bare, short or endless, filtered by Belvo or not (belvo-api.md §1, §11 line 10).
struct ListTests {
    static let base = "https://api.belvo.example/payments/br/institutions/"

    @Test func `pages are followed to the end`() async throws {
        let belvo = Upstream(
            reply(
                200, Sample.page(Sample.institution(Sample.institution, name: "A"), next: ListTests.base + "?page=2")),
            reply(200, Sample.page(Sample.institution(Sample.stranger, name: "B"), next: ListTests.base + "?page=3")),
            reply(200, Sample.page())
        )
        let list = try await belvo.client().listInstitutions()
        #expect(list.institutions.map(\.displayName) == ["A", "B"])
        #expect(list.unreadable == 0)
        #expect(
            belvo.requests.map(\.target.description) == [
                "/payments/br/institutions/", "/payments/br/institutions/?page=2", "/payments/br/institutions/?page=3",
            ]
        )
        #expect(belvo.requests.allSatisfy { $0.headers.contains("authorization") })
    }

    @Test func `a bare list is whole`() async throws {
        let belvo = Upstream(reply(200, "[\(Sample.enrollmentFailed),\(Sample.enrollmentCreated)]"))
        let enrollments = try await belvo.client().listEnrollments(deviceID: "a1b2c3")
        #expect(enrollments.map(\.status) == [.failed, .pending])
    }

    @Test(arguments: [
        "https://evil.example/payments/br/institutions/?page=2",
        "http://api.belvo.example/payments/br/institutions/?page=2",
        "https://api.belvo.example:8443/payments/br/institutions/?page=2",
        "https://api.belvo.example@evil.example/payments/br/institutions/?page=2",
        "https://api.belvo.example.evil.example/payments/br/institutions/?page=2",
        "https://api.belvo.example\\\\@evil.example/payments/br/institutions/?page=2",
        "https://api.belvo.example/payments/br/customers/?page=2",
        "https://api.belvo.example/payments/br/institutions/../customers/?page=2",
        "https://api.belvo.example/payments/br/institutions/",
        "/payments/br/institutions/?page=2",
        "//api.belvo.example/payments/br/institutions/?page=2",
        "?page=2",
        "",
        "page 2",
    ])
    func `a next page anywhere else is never asked for`(next: String) async throws {
        let belvo = Upstream(reply(200, Sample.page(next: next)))
        let error = try await #require(throws: BelvoError.self) { try await belvo.client().listInstitutions() }
        #expect(error.isNonsense)
        #expect(belvo.requests.count == 1)
    }

    @Test(arguments: [
        "null", "{}", #"{"results":null}"#, #"{"results":{}}"#, #"{"results":[],"next":7}"#,
        #"{"count":0,"next":null}"#,
        "7", "", "<html>",
    ])
    func `what is no list is nonsense and not an empty one`(body: String) async throws {
        for operation in Operation.all where operation.success == "[]" {
            let error = try await #require(throws: BelvoError.self, "\(operation.call)") {
                try await operation.perform(Upstream(reply(200, body)).client())
            }
            #expect(error.isNonsense, "\(operation.call)")
        }
    }

    @Test func `an endless list is given up, and not taken for a short one`() async throws {
        let pages = (2...4).map { reply(200, Sample.page(next: ListTests.base + "?page=\($0)")) }
        let belvo = Upstream(pages[0], pages[1], pages[2])
        await #expect(throws: BelvoError.malformedAnswer(reason: "the list has more than 3 pages")) {
            try await belvo.client { $0.pagesMax = 3 }.listInstitutions()
        }
        #expect(belvo.requests.count == 3)
    }

    @Test func `a day's list has as many pages as it has, each with the time of a call`() async throws {
        let base = "https://api.belvo.example/payments/br/charges/"
        let pages = (2...60).map { reply(200, Sample.page(next: "\(base)?page=\($0)")) } + [reply(200, "[]")]
        let belvo = Upstream(answers: pages)
        _ = try await belvo.client { $0.pagesMax = 3 }.listCharges(createdFrom: "a", to: "b")
        #expect(belvo.requests.count == 60)
        #expect(belvo.requests.first?.target.query?.contains("page_size=250") == true)
    }

    @Test func `a list of too many entries is given up`() async throws {
        let belvo = Upstream(reply(200, "[0,0,0,0]"))
        await #expect(throws: BelvoError.malformedAnswer(reason: "the list is too long")) {
            try await belvo.client { $0.itemsMax = 3 }.listInstitutions()
        }
    }

    @Test func `all pages share the time of one call`() async throws {
        let belvo = Upstream(
            reply(200, Sample.page(next: ListTests.base + "?page=2")),
            reply(200, Sample.page(next: ListTests.base + "?page=3")),
            reply(200, Sample.page(next: ListTests.base + "?page=4")),
            answerTakes: .seconds(4)
        )
        await #expect(throws: BelvoError.unanswered(.late)) { try await belvo.client().listInstitutions() }
        #expect(belvo.timeouts == [.seconds(10), .seconds(6), .seconds(2)])
    }

    @Test func `what is glimpsed at of a list takes no longer than one call, however many pages there are`()
        async throws
    {
        let base = "https://api.belvo.example/payments/br/payment-intents/"
        let belvo = Upstream(
            answers: (2...5).map { reply(200, Sample.page(next: "\(base)?page=\($0)")) }, answerTakes: .seconds(4))
        let shown = try await belvo.client().glimpsePaymentIntents(createdFrom: "a", to: "b", pagesMax: 9)
        #expect(shown.isEmpty)
        #expect(belvo.timeouts == [.seconds(10), .seconds(6), .seconds(2)])
    }

    @Test func `a list that is glimpsed at is kept as far as its pages reach`() async throws {
        let intents = Array(repeating: Sample.intentCreated, count: 4).joined(separator: ",")
        let belvo = Upstream(reply(200, "[\(intents)]"))
        let client = try belvo.client { ($0.itemsMax, $0.glimpsePageSize) = (3, 3) }
        #expect(try await client.glimpsePaymentIntents(createdFrom: "a", to: "b", pagesMax: 2).count == 4)
    }

    @Test func `a page that fails fails the list`() async throws {
        let belvo = Upstream(reply(200, Sample.page(next: ListTests.base + "?page=2")), reply(502))
        await #expect(throws: BelvoError.unanswered(.failed(ErrorResponse(status: 502)))) {
            try await belvo.client().listInstitutions()
        }
    }

    @Test func `an odd bank is counted and left out`() async throws {
        let odd = [
            #"{"display_name":"no id"}"#, #"{"id":"x","name":"no UUID"}"#, #"{"id":"\#(Sample.stranger)"}"#, "7",
            #"{"id":"\#(Sample.stranger)","display_name":"","name":null}"#,
        ]
        let body = "[\((odd + [Sample.institution(Sample.institution, name: "A")]).joined(separator: ","))]"
        let list = try await Upstream(reply(200, body)).client().listInstitutions()
        #expect(list.institutions.map(\.displayName) == ["A"])
        #expect(list.unreadable == 5)
    }

    @Test func `a bank says what it offers`() async throws {
        let methods =
            #"{"open_finance_biometric_pix":{"status":"AVAILABLE","status_reason":null,"phase":"GA"},"pix":{}}"#
        let body = "[\(Sample.institution(Sample.institution, name: "Banco", methods: methods))]"
        let list = try await Upstream(reply(200, body)).client().listInstitutions()
        let bank = try #require(list.institutions.first)
        #expect(bank.id.description == Sample.institution)
        #expect(bank.isActive)
        #expect(bank.type == "INDIVIDUAL")
        #expect(bank.iconLogo == "https://cdn.belvo.io/icon.svg")
        #expect(bank.sortPriority == 1)
        #expect(bank.biometricPix?.status == "AVAILABLE")
        #expect(bank.biometricPix?.statusReason == nil)
        #expect(bank.biometricPix?.phase == "GA")
    }

    @Test(arguments: [
        #"{"id":"\#(Sample.institution)","name":"B"}"#,
        #"{"id":"\#(Sample.institution)","name":"B","active":"yes","icon_logo":"javascript:1","payment_methods":[]}"#,
        #"{"id":"\#(Sample.institution)","name":"B","active":null,"icon_logo":7,"#
            + #""payment_methods":{"open_finance_biometric_pix":null}}"#,
        #"{"id":"\#(Sample.institution)","name":"B","active":false,"icon_logo":"http://cdn.example/x","#
            + #""payment_methods":{"open_finance_biometric_pix":true}}"#,
    ])
    func `a bank that does not plainly offer itself does not`(item: String) async throws {
        let list = try await Upstream(reply(200, "[\(item)]")).client().listInstitutions()
        let bank = try #require(list.institutions.first)
        #expect(bank.displayName == "B")
        #expect(!bank.isActive)
        #expect(bank.iconLogo == nil)
        #expect(bank.biometricPix == nil)
    }

    @Test func `a look-up finds what carries our identity, all of it, and nothing else`() async throws {
        let other = Sample.intentSucceeded.replacing(Sample.externalID, with: "01978a3e-another")
        let none = #"{"id":"\#(Sample.stranger)","status":"SUCCEEDED","external_id":null}"#
        let next = "https://api.belvo.example/payments/br/payment-intents/?external_id=x&page=2"
        let belvo = Upstream(
            reply(200, Sample.page(other, none, Sample.intentSucceeded, next: next)),
            reply(200, Sample.page(Sample.intentSucceeded))
        )
        let found = try await belvo.client().findPaymentIntents(externalID: Sample.externalID)
        #expect(found.named.map(\.externalID) == [Sample.externalID, Sample.externalID])
        #expect(found.others.map(\.externalID) == ["01978a3e-another", nil], "what was listed beside it is told apart")
    }

    @Test func `a look-up that cannot tell whose an entry is does not say that there is none`() async throws {
        let body = Sample.page(#"{"id":"\#(Sample.intent)","status":"PENDING"}"#)
        let belvo = Upstream(reply(200, body), reply(200, body), reply(200, body))
        let client = try belvo.client()
        let malformedAnswer = BelvoError.malformedAnswer(reason: "external_id is missing")
        await #expect(throws: malformedAnswer) { try await client.findPaymentIntents(externalID: Sample.externalID) }
        await #expect(throws: malformedAnswer) { try await client.findEnrollments(externalID: Sample.externalID) }
        await #expect(throws: malformedAnswer) { try await client.findCustomers(externalID: Sample.externalID) }
    }

    @Test func `one broken entry of ours makes a look-up nonsense`() async throws {
        let broken = #"{"id":"x","status":"SUCCEEDED","external_id":"\#(Sample.externalID)"}"#
        let client = try Upstream(reply(200, Sample.page(broken))).client()
        await #expect(throws: BelvoError.malformedAnswer(reason: "id is no UUID")) {
            try await client.findPaymentIntents(externalID: Sample.externalID)
        }
    }
}
