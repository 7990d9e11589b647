import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension MerchantAPI {
    /// How often something is sent whose outcome the server does not know: for about a minute.
    private static let sendingsMax = 30

    /// Sends something that changes a record, and returns the record if the answer shows it.
    ///
    /// After a 202 nobody knows what became of it. Where it moves no money the same again lets the server find out, and
    /// send what was lost once more.
    func send(_ message: Message) async throws -> Record? {
        var request = request("POST", message.path)
        request.httpBody = Data(message.body.utf8)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        if let key = message.idempotencyKey { request.setValue(key, forHTTPHeaderField: "Idempotency-Key") }
        var sendings = 1
        while true {
            let answer = try await answer(to: request)
            let record = Record(answer.body, entityTag: answer.entityTag)
            guard answer.status == 202, message.isRepeatedWhileUnknown, sendings < Self.sendingsMax else {
                return record
            }
            sendings += 1
            try await sleep(record?.nextAction?.pause ?? .seconds(2))
        }
    }

    /// The record as it is now.
    func record(at path: String) async throws -> Record {
        try await read(request("GET", path))
    }

    /// The record at the next look: as soon as it has changed where the server can wait for that, else after the pause
    /// that it asked for.
    func record(at path: String, after known: Record) async throws -> Record {
        guard let tag = known.entityTag else {
            try await sleep(known.nextAction?.pause ?? .seconds(2))
            return try await record(at: path)
        }
        var request = request("GET", path, [URLQueryItem(name: "wait", value: "\(Self.waitSeconds)")])
        request.setValue(tag, forHTTPHeaderField: "If-None-Match")
        let began = ContinuousClock.now
        let answer = try await answer(to: request)
        if let record = Record(answer.body, entityTag: answer.entityTag) { return record }
        guard answer.status == 304 else { throw URLError(.cannotParseResponse) }
        // A server that is about to stop answers at once; the one that comes after it is not to be overrun.
        let rest = (known.nextAction?.pause ?? .seconds(2)) - began.duration(to: .now)
        if rest > .zero { try await sleep(rest) }
        return known
    }

    /// The record as soon as it is another than this.
    func record(at path: String, changedFrom known: Record) async throws -> Record {
        while true {
            let record = try await record(at: path, after: known)
            if record.body != known.body { return record }
        }
    }

    private func read(_ request: URLRequest) async throws -> Record {
        let answer = try await answer(to: request)
        guard let record = Record(answer.body, entityTag: answer.entityTag) else {
            throw URLError(.cannotParseResponse)
        }
        return record
    }
}
