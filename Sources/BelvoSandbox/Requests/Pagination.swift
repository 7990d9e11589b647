import HTTP
import JSON

/// One page of a list (belvo-api.md §1).
struct Pagination {
    let number: Int
    let size: Int

    init(_ query: FormFields, sizeMax: Int) throws(Refusal) {
        guard let number = Pagination.positive(query["page"], default: 1),
            let size = Pagination.positive(query["page_size"], default: 100)
        else { throw Pagination.invalidPage }
        self.number = number
        self.size = min(size, max(1, sizeMax))
    }

    static let invalidPage = Refusal(
        status: .notFound, items: [Refusal.Item(code: "not_found", message: "Invalid page.")])

    /// The envelope around this page's items, with absolute links that keep the other parameters.
    func envelope<Item>(
        _ items: [Item], path: String, query: FormFields, publicURL: String,
        _ write: (inout JSONWriter, Item) -> Void
    ) throws(Refusal) -> [UInt8] {
        let pages = max(1, (items.count + size - 1) / size)
        guard number <= pages else { throw Pagination.invalidPage }
        let first = (number - 1) * size
        func link(_ page: Int) -> String { "\(publicURL)\(path)?\(Pagination.query(query, page: page))" }
        return JSONWriter.object { envelope in
            envelope.member("count", items.count)
            envelope.member("next", number < pages ? link(number + 1) : nil)
            envelope.member("previous", number > 1 ? link(number - 1) : nil)
            envelope.memberArray("results") { results in
                for item in items.dropFirst(first).prefix(size) { results.object { write(&$0, item) } }
            }
        }
    }

    private static func query(_ query: FormFields, page: Int) -> String {
        var fields = FormFields()
        func keep(_ name: String, _ value: String) {
            if name != "page" { fields.append(name, value) }
        }
        query.forEach(keep)
        fields.append("page", String(page))
        return fields.encoded
    }

    private static func positive(_ text: String?, default value: Int) -> Int? {
        guard let text else { return value }
        guard let number = Int(text), number > 0, number <= 1_000_000 else { return nil }
        return number
    }
}
