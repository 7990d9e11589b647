import JSON
import Payments

extension JSONWriter {
    mutating func member(_ name: String, _ moment: Timestamp) {
        member(name, moment.description)
    }

    mutating func memberRaw(_ name: String, json: [UInt8]?) {
        if let json { memberRaw(name, json as [UInt8]) } else { memberNull(name) }
    }
}
