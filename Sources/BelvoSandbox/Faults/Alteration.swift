import JSON

extension Fault.Alteration {
    /// JSON text with the value at the pointer replaced or taken out; what the pointer does not meet stays.
    func apply(to text: [UInt8]) -> [UInt8] {
        // An answer that is no JSON, such as an empty one, has nothing to alter.
        guard let document = try? JSONDocument(parsing: text) else { return text }
        let path = pointer.split(separator: "/").map {
            $0.split(separator: "~1", omittingEmptySubsequences: false).joined(separator: "/")
        }
        return rewritten(document.root, path[...])
    }

    private func rewritten(_ value: JSONValue, _ path: ArraySlice<String>) -> [UInt8] {
        guard let token = path.first else { return Array((self.value ?? "null").utf8) }
        let rest = path.dropFirst()
        switch value.kind {
        case .object:
            return JSONWriter.object { writer in
                for (name, member) in value.members {
                    if name != token {
                        writer.memberRaw(name, member.raw)
                    } else if !rest.isEmpty || self.value != nil {
                        writer.memberRaw(name, rewritten(member, rest))
                    }
                }
            }
        case .array where token == "*":
            return JSONWriter.array { writer in
                for element in value.elements { writer.elementRaw(rewritten(element, rest)) }
            }
        default:
            return Array(value.raw)
        }
    }
}
