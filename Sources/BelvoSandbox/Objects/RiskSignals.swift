import JSON

/// The signals of a device about itself, checked for shape; nothing of it is kept but the device's id
/// (belvo-api.md §7).
struct RiskSignals {
    let deviceID: String

    /// Reads the member `risk_signals`; members that are not named here are allowed, since devices differ.
    ///
    /// - Parameter phone: whether the signals that only phones have must be there.
    /// - Parameter tenure: the day that `accountTenure` must be; nil for any.
    init?(in parent: JSONReader, phone: Bool, tenure: String?) {
        guard let reader = parent.object("risk_signals") else { return nil }
        reader.ignoreRest()
        let device = reader.string("deviceId", length: 1...512)
        _ = reader.string("osVersion", length: 1...100)
        _ = reader.read("userTimeZoneOffset", readOffset)
        _ = reader.read("language", readLanguage)
        if let screen = reader.object("screenDimensions") {
            screen.ignoreRest()
            _ = screen.read("height", readSize)
            _ = screen.read("width", readSize)
        }
        _ = reader.read("accountTenure") { value throws(JSONFault) in try readTenure(value, tenure) }
        if phone {
            _ = reader.bool("isRootedDevice")
            _ = reader.read("screenBrightness", readNumber)
            _ = reader.int64("elapsedTimeSinceBoot")
        }
        guard let device else { return nil }
        deviceID = device
    }
}

/// `±hh`, `±hh:mm`, or hours with decimals, as Belvo's web SDK writes the zones between the hours: `+05.5`, `+05.75`.
private func readOffset(_ value: JSONValue) throws(JSONFault) {
    let text = Array((value.string ?? "").utf8)
    let digits = text.enumerated().filter { ![0, 3].contains($0.offset) }.map(\.element)
    let isOffset =
        (text.count == 3 || text.count == 6 && text[3] == UInt8(ascii: ":")
            || (5...6).contains(text.count) && text[3] == UInt8(ascii: "."))
        && (text[0] == UInt8(ascii: "+") || text[0] == UInt8(ascii: "-"))
        && digits.allSatisfy { (0x30...0x39).contains($0) }
    guard isOffset else { throw .invalid("Must be an offset such as -03, -03:00 or +05.5.") }
}

/// ISO 639-1, with a region behind it tolerated.
private func readLanguage(_ value: JSONValue) throws(JSONFault) {
    let parts = (value.string ?? "").split(separator: "-", omittingEmptySubsequences: false)
    guard let first = parts.first, first.utf8.count == 2, first.allSatisfy({ $0.isASCII && $0.isLetter }) else {
        throw .invalid("Must be an ISO 639-1 language.")
    }
}

private func readSize(_ value: JSONValue) throws(JSONFault) {
    guard let text = value.numberText, let size = Double(text), size > 0 else {
        throw .invalid("Must be a number greater than zero.")
    }
}

private func readNumber(_ value: JSONValue) throws(JSONFault) {
    guard value.kind == .number else { throw .invalid("Must be a number.") }
}

private func readTenure(_ value: JSONValue, _ day: String?) throws(JSONFault) {
    let parts = (value.string ?? "").split(separator: "-", omittingEmptySubsequences: false)
    let isDay =
        parts.map(\.utf8.count) == [4, 2, 2]
        && parts.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        && (1...12).contains(Int(parts[1]) ?? 0) && (1...31).contains(Int(parts[2]) ?? 0)
    guard isDay else { throw .invalid("Must be a date as YYYY-MM-DD.") }
    if let day, value.string != day { throw .invalid("Must be the day on which the customer was created.") }
}
