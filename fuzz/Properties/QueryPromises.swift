import HTTP

/// What the readers of queries, forms and URLs promise about any bytes.
enum QueryPromises {
    static func check(_ bytes: [UInt8]) throws(BrokenPromise) {
        try checkForm(bytes)
        guard let text = String(validating: bytes, as: UTF8.self) else { return }
        try checkURL(text)
        try checkSegment(text)
    }

    static func checkForm(_ bytes: [UInt8]) throws(BrokenPromise) {
        for countMax in [1000, 2] {
            let form = try? FormFields(parsing: bytes, countMax: countMax)
            if let text = String(validating: bytes, as: UTF8.self) {
                let same = try? FormFields(parsing: text, countMax: countMax)
                try promise("a form is the same as text and as bytes", same == form)
            }
            guard let form else { continue }
            try promise("there are no more fields than allowed", form.count <= countMax)
            try checkEncoded(form)
        }
    }

    private static func checkEncoded(_ form: FormFields) throws(BrokenPromise) {
        let encoded = form.encoded
        guard let again = try? FormFields(parsing: encoded) else {
            throw BrokenPromise("fields that are written can be read: \(encoded)")
        }
        try promise("fields are read as they were written: \(encoded)", again == form && again.encoded == encoded)
        for name in form.names {
            try promise("no name holds a NUL", !name.utf8.contains(0))
            try promise("a field is found by its name", form[name] != nil && form[name] == form.values(name).first)
            let alike = form.names.count { $0.utf8.elementsEqual(name.utf8) }
            try promise("a field is found by its own name only", form.values(name).count == alike)
        }
    }

    private static func checkSegment(_ text: String) throws(BrokenPromise) {
        guard let unescaped = try? Target.unescaped(text) else { return }
        let escaped = unescaped.utf8.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
        }
        let again = try? Target.unescaped(escaped.joined())
        try promise("a segment stands for one text", again.map { $0.utf8.elementsEqual(unescaped.utf8) } ?? false)
    }

    private static func checkURL(_ text: String) throws(BrokenPromise) {
        guard let url = URL(text) else { return }
        try promise("a URL is visible ASCII", text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
        try promise("a URL has one spelling: \(url)", URL(url.description) == url)
        try promise("a URL names no port 0", url.origin.port != 0)
        try promise("a host is in lower case", url.origin.host == url.origin.host.lowercased())
        // A reader of the URL in a request line must see the same host and target in it.
        let request = Array("GET \(text) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        let reading = try RequestReading(of: [request[...]], limits: .ample)
        guard let asked = reading.exchanges.first?.request, reading.fault == nil else {
            // The line may be longer than any that is read.
            return try promise("a URL can be asked for: \(reading)", reading.fault?.status == .uriTooLong)
        }
        let isOptionalPort = ":\(url.origin.scheme.defaultPort)"
        let named = asked.headers["host"]?.lowercased() ?? ""
        let isSameHost = [url.origin.authority, url.origin.authority + ":", url.origin.authority + isOptionalPort]
            .contains(named)
        try promise("a URL's target is the same in a request", asked.target == url.target)
        try promise(
            "a URL's host is the same in a request: \(named)",
            isSameHost || URL("\(url.origin.scheme)://\(named)")?.origin == url.origin)
    }
}
