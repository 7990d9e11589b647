import JSON
import Payments

extension JSONWriter {
    /// Writes a moment as text.
    package mutating func member(_ name: String, _ moment: Timestamp) {
        member(name, moment.description)
    }

    /// Writes JSON that is there already, or null.
    package mutating func memberRaw(_ name: String, json: [UInt8]?) {
        if let json { memberRaw(name, json as [UInt8]) } else { memberNull(name) }
    }
}
