import HTTP

/// A field as it stands in a message.
struct FuzzedField: Equatable {
    let name: [UInt8]
    let value: [UInt8]
}

extension Headers {
    /// Every field, in order, without those of these names.
    func fields(without names: Set<String> = []) -> [FuzzedField] {
        var fields: [FuzzedField] = []
        forEach { name, value in
            guard !names.contains(String(decoding: name, as: UTF8.self).lowercased()) else { return }
            fields.append(FuzzedField(name: Array(name), value: Array(value)))
        }
        return fields
    }

    /// What a parsed message's fields promise, in whichever direction it goes.
    func checkPromises() throws(BrokenPromise) {
        for field in fields() {
            let name = String(decoding: field.name, as: UTF8.self)
            try promise("a field's name is a token", HeaderName(name) != nil)
            try promise(
                "a field's value can be sent on", Headers.isValidValue(String(decoding: field.value, as: UTF8.self)))
            let isBlank = field.value.first.map { $0 == 0x20 || $0 == 0x09 } ?? false
            let endsBlank = field.value.last.map { $0 == 0x20 || $0 == 0x09 } ?? false
            try promise("a field's value has no white space around it", !isBlank && !endsBlank)
        }
        try promise("a length is given once", values("content-length").count <= 1)
        try promise(
            "a message has one length", !contains("content-length") || !contains("transfer-encoding"))
    }
}
