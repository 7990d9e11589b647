import HTTP
import JSON

extension Refusal {
    /// Belvo's answer to a body with these faults: all of them at once, in the words of the framework
    /// that Belvo's errors come from.
    init(_ faults: [JSONFault], unknownMembers: UnknownMembers) {
        let unknown = faults.filter { $0.code == JSONFault.Code.unknownMember }
        if !unknown.isEmpty, unknownMembers == .forbidden {
            self = .forbiddenPage
        } else {
            self.init(status: .badRequest, items: faults.map(Item.init))
        }
    }
}

extension Refusal.Item {
    fileprivate init(_ fault: JSONFault) {
        let field = fault.pointer.dropFirst().split(separator: "/").joined(separator: ".")
        let words: (code: String, message: String) =
            switch fault.code {
            case JSONFault.Code.required: ("required", "This field is required.")
            case JSONFault.Code.wrongType: ("invalid", fault.message)
            case JSONFault.Code.tooLong: ("max_length", fault.message)
            case JSONFault.Code.tooShort: ("min_length", fault.message)
            case JSONFault.Code.notAllowed: ("invalid_choice", fault.message)
            default: (fault.code, fault.message)
            }
        self.init(code: words.code, message: words.message, field: field.isEmpty ? nil : field)
    }
}

extension JSONFault {
    static let notUUID = JSONFault(code: "invalid", message: "Must be a valid UUID.")
    static func doesNotExist(_ noun: String) -> JSONFault {
        JSONFault(code: "does_not_exist", message: "There is no such \(noun).")
    }
    static func invalid(_ message: String) -> JSONFault { JSONFault(code: "invalid", message: message) }
}

extension JSONReader {
    /// A required UUID, in lower case.
    func uuid(_ name: String) -> String? {
        read(name) { value throws(JSONFault) in
            guard let text = value.string, let id = UUIDText.parse(text) else { throw .notUUID }
            return id
        }
    }

    /// A required value in base64 that is not empty, or that may be.
    func bytes(_ name: String, _ form: CredentialForm, canBeEmpty: Bool = false) -> [UInt8]? {
        read(name) { value throws(JSONFault) in
            guard let text = value.string, let bytes = form.decode(text), canBeEmpty || !bytes.isEmpty else {
                throw .invalid(form.expectation)
            }
            return bytes
        }
    }

    /// An optional object, kept as it was written; `{}` without one.
    func metadata() -> [UInt8] {
        let text = readOptional("metadata") { value throws(JSONFault) in
            guard value.kind == .object else { throw .invalid("Must be an object.") }
            return Array(value.raw)
        }
        return text ?? Array("{}".utf8)
    }
}
