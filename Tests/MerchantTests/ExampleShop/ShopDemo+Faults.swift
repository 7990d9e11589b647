import HTTP
import JSON
import Testing

/// A fault in a call to Belvo, in the words of the stand-in's control API.
struct CallFault: Sendable {
    let endpoint: String
    let fault: String
    var count = 1

    /// More gets lost on the way there than the server sends again by itself, Belvo is away for a moment, and what it
    /// says to a signature is lost.
    static let losses = [
        CallFault(endpoint: "create_customer", fault: #""drop_request""#, count: 2),
        CallFault(endpoint: "create_enrollment", fault: #""drop_request""#, count: 2),
        CallFault(endpoint: "confirm_enrollment", fault: #""drop_request""#, count: 2),
        CallFault(endpoint: "create_payment_intent", fault: #""status", "status": 503"#),
        CallFault(endpoint: "create_payment_intent", fault: #""drop_request""#, count: 2),
        CallFault(endpoint: "authorize_payment_intent", fault: #""drop_answer""#),
    ]

    /// Belvo works on everything, and its answers are lost: the one to the call, and the next ones by which the server
    /// looks it up.
    static let lostAnswers = [
        CallFault(endpoint: "create_customer", fault: #""drop_answer""#),
        CallFault(endpoint: "list_customers", fault: #""drop_answer""#),
        CallFault(endpoint: "create_enrollment", fault: #""drop_answer""#),
        CallFault(endpoint: "list_enrollments", fault: #""drop_answer""#),
        CallFault(endpoint: "confirm_enrollment", fault: #""drop_answer""#),
        CallFault(endpoint: "create_payment_intent", fault: #""drop_answer""#),
        CallFault(endpoint: "list_payment_intents", fault: #""drop_answer""#),
        CallFault(endpoint: "authorize_payment_intent", fault: #""drop_answer""#),
    ]
}

extension ShopDemo {
    /// Has the stand-in do this with the next calls.
    func add(_ faults: [CallFault]) async throws {
        for fault in faults {
            let body = #"{"endpoint": "\#(fault.endpoint)", "count": \#(fault.count), "fault": \#(fault.fault)}"#
            let answer = try await askSandbox(.post, "/sandbox/faults", body)
            #expect(answer.status.isSuccess, "\(fault): \(String(decoding: answer.body, as: UTF8.self))")
        }
    }

    /// Expects that each fault has befallen a call, and that what begins something or moves money was done once.
    func expectOneOfEach(after faults: [CallFault]) async throws {
        let left = try JSONDocument(parsing: try await askSandbox(.get, "/sandbox/faults").body).root
        #expect(left["results"].map { Array($0.elements).count } == 0, "\(left)")
        let calls = try JSONDocument(parsing: try await askSandbox(.get, "/sandbox/calls").body).root["results"]
        // A registration that was sent again is the same one to Belvo; what creates or pays must not come again.
        for endpoint in Set(faults.map(\.endpoint)) where !["list_", "confirm_"].contains(where: endpoint.hasPrefix) {
            let done = try #require(calls).elements.filter {
                $0["endpoint"]?.string == endpoint && $0["processed"]?.bool == true
                    && ($0["fault"] != nil || ($0["status"]?.int64 ?? 0) < 300)
            }
            #expect(done.count == 1, "\(endpoint)")
        }
    }
}
