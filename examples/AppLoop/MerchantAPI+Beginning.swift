import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A bank that a phone can be bound to.
public struct Bank: Decodable, Sendable, Identifiable {
    public let id: String
    public let displayName: String
    public let iconLogo: URL?

    private enum CodingKeys: String, CodingKey {
        case id
        case displayName = "display_name"
        case iconLogo = "icon_logo"
    }
}

// What an app needs before the first pending request.
extension MerchantAPI {
    /// The banks, in the order in which they are to be shown.
    public func banks() async throws -> [Bank] {
        struct Page: Decodable {
            let results: [Bank]
            let next: String?
        }
        var banks: [Bank] = []
        var query = [URLQueryItem(name: "limit", value: "100")]
        while true {
            let body = try await answer(to: request("GET", "v1/institutions", query)).body
            let page = try JSONDecoder().decode(Page.self, from: body)
            banks += page.results
            guard let next = page.next else { return banks }
            query = [URLQueryItem(name: "limit", value: "100"), URLQueryItem(name: "cursor", value: next)]
        }
    }

    /// Makes the user a customer of Belvo's, once, and returns the `account_tenure` that risk signals have to carry.
    ///
    /// - Parameter identifier: a CPF or CNPJ.
    public func customer(name: String, identifier: String) async throws -> String {
        var request = request("PUT", "v1/customer")
        request.httpBody = try JSONEncoder().encode(["name": name, "identifier": identifier])
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        while true {
            let body = try await answer(to: request).body
            let customer = try JSONSerialization.jsonObject(with: body) as? [String: Any]
            if let tenure = customer?["account_tenure"] as? String { return tenure }
            // The outcome is not known yet; the same again answers when it is.
            try await sleep(NextAction(customer?["next_action"] as? [String: Any] ?? [:]).pause)
        }
    }

    /// The ids of the enrollments that can pay from this phone, newest first.
    ///
    /// - Parameter device: the `deviceId` of the phone's risk signals.
    public func enrollments(of device: String) async throws -> [String] {
        struct List: Decodable { let results: [Entry] }
        struct Entry: Decodable { let id: String }
        let query = [URLQueryItem(name: "device_id", value: device), URLQueryItem(name: "status", value: "SUCCEEDED")]
        let body = try await answer(to: request("GET", "v1/enrollments", query)).body
        return try JSONDecoder().decode(List.self, from: body).results.map(\.id)
    }
}
