import Belvo

// What a refusal says about the way in which a request was written.
extension BelvoError {
    /// Whether another spelling of the same request may fare better: 400, 422, 415, or the firewall's 403.
    var isOfTheContent: Bool {
        switch self {
        case .refused: true
        case .denied(let refusal): refusal.status == 403
        default: false
        }
    }

    var isRefusalOfContent: Bool {
        if case .refused = self { true } else { false }
    }

    var items: [ErrorResponse.Item] {
        switch self {
        case .refused(let refusal), .denied(let refusal), .conflict(let refusal): refusal.items
        default: []
        }
    }

    var namesSomething: Bool { items.contains { $0.field != nil } }

    func names(_ field: String) -> Bool {
        items.contains { $0.field?.split(separator: ".").contains { $0 == field } ?? false }
    }
}
