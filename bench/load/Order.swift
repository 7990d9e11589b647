import ArgumentParser

/// What the script wants next.
enum Order {
    case begin(Deed, count: Int)
    case count
    case end

    init(_ line: String) throws {
        let words = line.split(separator: " ")
        switch words.first {
        case "begin" where words.count == 3:
            guard let deed = Deed(rawValue: String(words[1])), let count = Int(words[2]), count > 0 else { fallthrough }
            self = .begin(deed, count: count)
        case "count" where words.count == 1: self = .count
        case "end" where words.count == 1: self = .end
        default: throw ValidationError("There is no order \"\(line)\".")
        }
    }
}

/// What a user does again and again.
enum Deed: String, Sendable {
    /// Opens a payment and leaves it.
    case create
    /// Opens a payment, signs it, and leaves it.
    case sign
    /// Opens a payment, signs it, and waits until it is paid.
    case pay
    /// Opens a payment, signs it, and rests for a second, which does not count.
    case steady
}
