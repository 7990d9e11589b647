/// Text from outside, made fit to be stored and shown as plain text.
enum PlainText {
    /// Without control characters and invisible formatting, which could forge lines of a log or turn the
    /// direction of writing; line breaks become spaces. Cut to `scalarsMax` Unicode scalars.
    static func clean(_ text: some StringProtocol, scalarsMax: Int) -> String {
        // Nearly every text is plain ASCII, and nothing has to be looked up for it.
        if text.utf8.count <= scalarsMax, text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return String(text) }
        var clean = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            guard count < scalarsMax else { break }
            switch scalar.properties.generalCategory {
            case .control where !scalar.properties.isWhitespace, .format, .surrogate, .privateUse, .unassigned: continue
            case .control, .lineSeparator, .paragraphSeparator: clean.append(" ")
            default: clean.append(scalar)
            }
            count += 1
        }
        return String(clean)
    }
}
