/// `uri-host [ ":" port ]`: what a Host field says and what stands in an absolute URL (RFC 9110 §7.2).
///
/// User information is no part of it: it is refused wherever it could stand (RFC 9110 §4.2.4).
struct Authority: Sendable {
    let range: Range<Int>
    /// Where the host stands, an IPv6 address in its brackets.
    let host: Range<Int>
    /// Nothing when it is not said, or said to be nothing ("host:").
    let port: UInt16?

    /// Reads the range, or gives nothing when the host is empty or anything in it is against the grammar.
    init?(parsing range: Range<Int>, of bytes: Span<UInt8>) {
        guard let first = range.first else { return nil }
        let hostEnd: Int
        if bytes[first] == Octet.openingBracket {
            guard let bracket = bytes.firstIndex(of: Octet.closingBracket, in: range),
                AddressGrammar.isVersion6(first + 1..<bracket, of: bytes)
            else { return nil }
            hostEnd = bracket + 1
        } else {
            hostEnd = bytes.endOfEscapedRun(of: .hostName, in: range)
            guard hostEnd > first else { return nil }
        }
        self.range = range
        host = first..<hostEnd
        guard hostEnd < range.upperBound else {
            port = nil
            return
        }
        guard bytes[hostEnd] == Octet.colon else { return nil }
        var number: UInt16?
        for index in hostEnd + 1..<range.upperBound {
            guard Octet.isDigit(bytes[index]) else { return nil }
            let (tens, isTooBig) = (number ?? 0).multipliedReportingOverflow(by: 10)
            let (next, isTooBigNow) = tens.addingReportingOverflow(UInt16(bytes[index] - Octet.zero))
            if isTooBig || isTooBigNow { return nil }
            number = next
        }
        port = number
    }
}

/// The grammar of IP addresses (RFC 3986 §3.2.2), which also RFC 9110 uses.
enum AddressGrammar {
    /// Whether the range is an `IPv6address`: no brackets, no zone.
    static func isVersion6(_ range: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        var groups = 0
        var isShortened = false
        var index = range.lowerBound
        if range.count >= 2, bytes[index] == Octet.colon, bytes[index + 1] == Octet.colon {
            isShortened = true
            index += 2
        }
        while index < range.upperBound {
            let start = index
            while index < range.upperBound, Octet.hexValue(bytes[index]) != nil { index += 1 }
            guard index > start else { return false }
            if index < range.upperBound, bytes[index] == Octet.dot {
                guard isVersion4(start..<range.upperBound, of: bytes) else { return false }
                groups += 2
                break
            }
            guard index - start <= 4 else { return false }
            groups += 1
            guard index < range.upperBound else { break }
            guard bytes[index] == Octet.colon, index + 1 < range.upperBound else { return false }
            index += 1
            if bytes[index] == Octet.colon {
                guard !isShortened else { return false }
                isShortened = true
                index += 1
            }
        }
        return isShortened ? groups <= 7 : groups == 8
    }

    /// Whether the range is an `IPv4address`: four numbers to 255 without leading zeros.
    static func isVersion4(_ range: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        var numbers = 0
        var index = range.lowerBound
        while true {
            let start = index
            var number = 0
            while index < range.upperBound, index - start < 3, Octet.isDigit(bytes[index]) {
                number = number * 10 + Int(bytes[index] - Octet.zero)
                index += 1
            }
            guard index > start, number <= 255, index - start == 1 || bytes[start] != Octet.zero else { return false }
            numbers += 1
            guard index < range.upperBound else { return numbers == 4 }
            guard bytes[index] == Octet.dot else { return false }
            index += 1
        }
    }
}
