import HTTP

extension FormFields {
    init(_ fields: [(name: String, value: String)]) {
        self.init()
        for (name, value) in fields { append(name, value) }
    }

    /// Whether a filter is missing or equals the value.
    func allows(_ name: String, _ value: String?) -> Bool { self[name].map { $0 == value } ?? true }
}
