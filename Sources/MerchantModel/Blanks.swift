extension Substring {
    /// The text without spaces, tabs and line ends at its two ends.
    package func trimmingBlanks() -> Substring {
        func isBlank(_ scalar: Unicode.Scalar) -> Bool { " \t\r\n".unicodeScalars.contains(scalar) }
        let trimmed = unicodeScalars.drop(while: isBlank)
        let end = trimmed.lastIndex { !isBlank($0) }.map(trimmed.index(after:))
        return Substring(trimmed[..<(end ?? trimmed.startIndex)])
    }
}
