/// One thing that is wrong with the meaning of a document, placed by a JSON Pointer (RFC 6901).
public struct JSONFault: Error, Equatable, Sendable {
    /// Where: `""` for the whole document, `/customer/name` for a member. Names of the document stand in it.
    public var pointer: String

    /// The code of the fault, for programs: one of `Code`, or the caller's own in snake_case. Stable.
    public var code: String

    /// The message about the fault, for people: an English sentence that holds no value of the document.
    public var message: String

    /// A parser of one value leaves the pointer out: `JSONReader.read` puts in the member's.
    public init(pointer: String = "", code: String, message: String) {
        self.pointer = pointer
        self.code = code
        self.message = message
    }

    /// Compares by bytes: the pointer holds names of the document, which a client chooses.
    public static func == (one: JSONFault, other: JSONFault) -> Bool {
        one.pointer.isSameBytes(as: other.pointer) && one.code == other.code && one.message == other.message
    }

    /// The codes that this module gives.
    public enum Code {
        /// The member is missing, or null.
        public static let required = "required"
        /// A value of another kind was expected.
        public static let wrongType = "wrong_type"
        /// The object has a member that has no meaning here.
        public static let unknownMember = "unknown_member"
        public static let tooLong = "too_long"
        public static let tooShort = "too_short"
        /// The value is of the right kind and none of those possible.
        public static let notAllowed = "not_allowed"
    }
}

/// All faults of a document, in the order in which they were found. Never empty.
public struct JSONFaults: Error, Equatable, Sendable {
    public private(set) var all: [JSONFault]

    /// The first fault apart from the others, so that there is one.
    public init(_ first: JSONFault, _ others: [JSONFault] = []) {
        all = [first] + others
    }
}
