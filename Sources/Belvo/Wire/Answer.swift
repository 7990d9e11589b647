import JSON

/// One object of an answer, read as a stranger's: strict about the members on which money or identity hang,
/// lenient about those that only inform, indifferent to members it does not know.
struct Answer {
    let value: JSONValue
    /// The prefix of a member's name in a reason, such as `details.`.
    private let place: String

    init(_ value: JSONValue, at place: String = "") throws(MalformedAnswer) {
        guard value.kind == .object else {
            throw MalformedAnswer(reason: "\(place.isEmpty ? "the answer" : place) is no object")
        }
        self.value = value
        self.place = place.isEmpty ? "" : place + "."
    }

    /// The id of the object itself, without which nothing can be done with it.
    func id<Noun>() throws(MalformedAnswer) -> Identity<Noun> {
        guard let id = value["id"]?.string.flatMap({ Identity<Noun>($0) }) else { throw wrong("id", "no UUID") }
        return id
    }

    /// The id of another object: a UUID, or that object itself with its `id`; nil when left out.
    ///
    /// Belvo's documents show customers in both forms, and as an object that is known by its CPF instead
    /// (belvo-api.md §11, lines 4 and 5): such a one leaves the id out.
    func reference<Noun>(_ name: String) throws(MalformedAnswer) -> Identity<Noun>? {
        guard let member = present(name) else { return nil }
        if member.kind == .object, member["id"] == nil { return nil }
        guard let id = (member["id"] ?? member).string.flatMap({ Identity<Noun>($0) }) else {
            throw wrong(name, "no UUID")
        }
        return id
    }

    /// A string that must be kept exactly: nil when left out, nonsense when it is of another kind, too long
    /// or holds control characters.
    func exact(_ name: String, bytesMax: Int = 1000) throws(MalformedAnswer) -> String? {
        guard let member = present(name) else { return nil }
        guard let text = member.string else { throw wrong(name, "no string") }
        guard text.utf8.count <= bytesMax else { throw wrong(name, "too long") }
        guard !text.unicodeScalars.contains(where: \.isControl) else {
            throw wrong(name, "not printable")
        }
        return text
    }

    /// A text for people or for a log, made safe to show; nil when it is left out or no string.
    func plain(_ name: String, scalarsMax: Int = 500) -> String? {
        value[name]?.string.map { PlainText.clean($0, scalarsMax: scalarsMax) }
    }

    /// A text for people that says something.
    func nonempty(_ name: String) -> String? {
        plain(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A word of a vocabulary that may grow, so that a new one can be shown to the operator who has to find out what it
    /// means; nil when left out. What is no word at all is not shown: it may be anything.
    func word(_ name: String) -> String? {
        present(name).map { member in
            guard let text = member.string, text.isEmpty || PlainWord.isCode(text) else { return PlainWord.unreadable }
            return text
        }
    }

    /// An id that only informs; nil when left out, or when it is no id but a text.
    func opaqueID(_ name: String) throws(MalformedAnswer) -> String? {
        try exact(name).flatMap { PlainWord.isID($0) ? $0 : nil }
    }

    /// A moment as Belvo wrote it; nil when left out, or when it is none.
    func moment(_ name: String) -> String? {
        value[name]?.string.flatMap { PlainWord.isMoment($0) ? $0 : nil }
    }

    /// Why something failed, as a code to group by and a sentence beside it. What stands in the code's place and is no
    /// code belongs to the sentence, which is stored encrypted.
    func failure(code: String, message: String) -> (code: String?, message: String?) {
        let sentence = plain(message)
        guard let text = plain(code, scalarsMax: 100), !PlainWord.isCode(text) else { return (plain(code), sentence) }
        return (nil, [text, sentence].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ": "))
    }

    /// An amount of money in centavos, from a string or a number (belvo-api.md §11, line 3).
    func centavos(_ name: String) throws(MalformedAnswer) -> Int64? {
        guard let member = present(name) else { return nil }
        guard let centavos = (member.string ?? member.numberText).flatMap(Centavos.parse) else {
            throw wrong(name, "no amount")
        }
        return centavos
    }

    func object(_ name: String) throws(MalformedAnswer) -> Answer? {
        guard let member = present(name) else { return nil }
        return try Answer(member, at: place + name)
    }

    /// The objects of a list; what is no object, or no list, is left out.
    func objects(_ name: String) -> [Answer] {
        guard let list = value[name] else { return [] }
        return (list.kind == .array ? Array(list.elements) : [list]).compactMap { try? Answer($0) }
    }

    /// A member passed on as it stands, whatever it is.
    func raw(_ name: String) -> RawJSON? {
        present(name).map(RawJSON.init)
    }

    /// A member that is there and not null: Belvo writes either for what it does not know.
    func present(_ name: String) -> JSONValue? {
        value[name].flatMap { $0.isNull ? nil : $0 }
    }

    func wrong(_ name: String, _ what: StaticString) -> MalformedAnswer {
        MalformedAnswer(reason: "\(place)\(name) is \(what)")
    }
}

extension Answer {
    /// An address that may be shown or opened; nil when left out.
    func link(_ name: String) throws(MalformedAnswer) -> String? {
        guard let text = try exact(name, bytesMax: 8192), !text.isEmpty else { return nil }
        guard WebLink.isAcceptable(text) else { throw wrong(name, "no web address") }
        return text
    }
}

extension Unicode.Scalar {
    /// Unicode's general category Cc, whose members never change; a lookup in Unicode's tables takes longer.
    fileprivate var isControl: Bool { value < 0x20 || 0x7F...0x9F ~= value }
}
