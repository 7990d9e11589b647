import HTTP
import JSON

/// The shapes of answers that say yes.
enum Answer {
    static func object(_ status: Status, _ body: (inout JSONWriter) -> Void) -> Response {
        json(status, JSONWriter.object(body))
    }

    static func json(_ status: Status, _ body: [UInt8]) -> Response {
        Response(status, headers: Headers(["content-type": "application/json"]), body: body)
    }

    static let noContent = Response(.noContent)
}

/// A page in the browser, or what a firewall sends instead of an answer.
enum Page {
    static func response(_ status: Status, _ html: String) -> Response {
        Response(
            status,
            headers: Headers([
                "content-type": "text/html; charset=utf-8",
                "cache-control": "no-store",
                "referrer-policy": "no-referrer",
                "content-security-policy":
                    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
            ]), body: Array(html.utf8))
    }

    static func firewall(_ status: Status) -> String {
        "<html>\r\n<head><title>\(status)</title></head>\r\n<body>\r\n<center><h1>\(status)</h1></center>\r\n"
            + "</body>\r\n</html>\r\n"
    }

    /// Text as HTML shows it, in an element or in a quoted attribute.
    static func escaped(_ text: String) -> String {
        var html = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            case "'": html += "&#39;"
            default: html.unicodeScalars.append(scalar)
            }
        }
        return html
    }
}
