import JSON

/// What the shop sells. The prices are here and nowhere else: a page only names what it wants.
struct Product: Sendable {
    let id: String
    let centavos: Int

    static let all = [
        Product(id: "coffee", centavos: 3990),
        Product(id: "honey", centavos: 2750),
        Product(id: "mug", centavos: 4800),
        Product(id: "tea", centavos: 1890),
    ]

    /// The same things, each at this price.
    static func all(at centavos: Int) -> [Product] {
        all.map { Product(id: $0.id, centavos: centavos) }
    }
}

/// An order as the shop knows it: what it asked for, and what the merchant server's events have told since.
struct ShopOrder: Sendable {
    let reference: String
    let subject: String
    let centavos: Int
    let description: String
    var state = "open"
    var endToEndID: String?

    /// Reads `{"cart": its id, "items": [{"id", "count"}]}`; nil where the page asks for what there is not.
    ///
    /// The same cart is always the same order, so a page may ask twice.
    init?(_ reader: JSONReader, of subject: String, from products: [Product]) {
        let cart = reader.string("cart", length: 8...36)
        let items = reader.objects("items") ?? []
        var centavos = 0
        var count = 0
        for item in items {
            guard let id = item.string("id"), let number = item.int64("count"), (1...9).contains(number),
                let price = products.first(where: { $0.id == id })?.centavos
            else { return nil }
            centavos += price * Int(number)
            count += Int(number)
        }
        guard let cart, count > 0, reader.isFaultless, cart.utf8.allSatisfy({ Product.isPlain($0) }) else { return nil }
        reference = "order-\(cart.prefix(13))"
        self.subject = subject
        self.centavos = centavos
        description = count == 1 ? "Serra: 1 item" : "Serra: \(count) itens"
    }

    var amount: String { "\(centavos / 100).\(centavos % 100 < 10 ? "0" : "")\(centavos % 100)" }

    func write(to writer: inout JSONWriter) {
        writer.member("reference", reference)
        writer.member("amount", amount)
        writer.member("description", description)
        writer.member("state", state)
        writer.member("end_to_end_id", endToEndID)
    }
}

extension Product {
    fileprivate static func isPlain(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x2D
    }
}
