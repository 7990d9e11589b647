import JSON

/// The document of `POST /echo`, some 500 bytes: every member is read and checked, and written again.
struct Order {
    private let reference: String
    private let description: String
    private let currency: String
    private let centavos: Int64
    private let payer: Payer
    private let items: [Item]
    private let isRepeated: Bool
    private let note: String?

    private struct Payer {
        let name: String
        let email: String
        let device: String
    }

    fileprivate struct Item {
        let name: String
        let quantity: Int64
        let centavos: Int64
    }

    /// Throws what is wrong with the text, or every fault of its members.
    init(parsing bytes: [UInt8]) throws {
        let reader = JSONReader(try JSONDocument(parsing: bytes).root)
        let reference = reader.string("reference", length: 1...64)
        let description = reader.string("description", length: 1...200)
        let amount = reader.object("amount")
        let currency = amount?.string("currency", length: 3...3)
        let centavos = amount?.int64("centavos")
        let payer = reader.object("payer")
        let name = payer?.string("name", length: 1...100)
        let email = payer?.string("email", length: 3...100)
        let device = payer?.string("device", length: 1...64)
        let items = reader.objects("items")?.compactMap { Item($0) }
        let isRepeated = reader.bool("repeated")
        let note = reader.optionalString("note", length: 0...200)
        guard let reference, let description, let currency, let centavos, let name, let email, let device, let items,
            let isRepeated, reader.isFaultless
        else { throw reader.faults }
        self.reference = reference
        self.description = description
        self.currency = currency
        self.centavos = centavos
        self.payer = Payer(name: name, email: email, device: device)
        self.items = items
        self.isRepeated = isRepeated
        self.note = note
    }

    /// The document again.
    var text: [UInt8] {
        JSONWriter.object { order in
            order.member("reference", reference)
            order.member("description", description)
            order.memberObject("amount") {
                $0.member("currency", currency)
                $0.member("centavos", centavos)
            }
            order.memberObject("payer") {
                $0.member("name", payer.name)
                $0.member("email", payer.email)
                $0.member("device", payer.device)
            }
            order.memberArray("items") { list in
                for item in items {
                    list.object {
                        $0.member("name", item.name)
                        $0.member("quantity", item.quantity)
                        $0.member("centavos", item.centavos)
                    }
                }
            }
            order.member("repeated", isRepeated)
            order.member("note", note)
        }
    }
}

extension Order.Item {
    /// Nothing when a member is missing or wrong; the reader has its fault then.
    fileprivate init?(_ reader: JSONReader) {
        let name = reader.string("name", length: 1...100)
        let quantity = reader.int64("quantity")
        let centavos = reader.int64("centavos")
        guard let name, let quantity, let centavos else { return nil }
        self.name = name
        self.quantity = quantity
        self.centavos = centavos
    }
}
