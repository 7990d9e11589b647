import HTTP
import JSON

/// Whether an answer is about what was asked: an upstream's mix-up must not become ours.
extension Client {
    /// The object that was read, if it is the one that was asked for.
    func asked<Noun, ID: Equatable>(_ noun: Noun, for id: ID, _ own: (Noun) -> ID) throws(MalformedAnswer) -> Noun {
        guard own(noun) == id else { throw MalformedAnswer(reason: "id is another object's") }
        return noun
    }

    /// The object that was created, unless Belvo says that it is another person's.
    func created<Noun>(_ noun: Noun, as externalID: String, _ own: (Noun) -> String?) throws(MalformedAnswer) -> Noun {
        guard own(noun).map({ same($0, externalID) }) ?? true else {
            throw MalformedAnswer(reason: "external_id is another object's")
        }
        return noun
    }

    /// Reads a list that is asked for by an `external_id`.
    ///
    /// An entry that does not show its `external_id` at all could be the one: it makes the list unusable rather than
    /// empty, because on an empty list something may be created a second time.
    func found<Noun>(
        _ call: Call,
        _ request: Request,
        externalID: String,
        reading read: (Answer) throws(MalformedAnswer) -> Noun
    ) async throws(BelvoError) -> FoundByName<Noun> {
        let entries = try await list(call, request) { (item) throws(MalformedAnswer) -> (isNamed: Bool, noun: Noun?) in
            let answer = try Answer(item)
            guard answer.value["external_id"] != nil else { throw answer.wrong("external_id", "missing") }
            guard let own = try answer.exact("external_id"), same(own, externalID) else {
                // Entries with another external_id may be unreadable; that is tolerated.
                return (false, try? read(answer))
            }
            return (true, try read(answer))
        }
        return FoundByName(
            named: entries.filter(\.isNamed).compactMap(\.noun),
            others: entries.filter { !$0.isNamed }.compactMap(\.noun))
    }

    /// Byte by byte: Swift's `==` takes texts for equal that Belvo keeps apart.
    private func same(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }
}
