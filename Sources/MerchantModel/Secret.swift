import Crypto
import Payments

/// A text that only its holders may read: a password, a token, an address with a password in it.
package struct Secret: Sendable, Redacted {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// Whether the text is this one, in a time that says nothing about how much of it is right.
    package func isEqual(to candidate: String) -> Bool {
        // Comparing digests hides the length as well, and Crypto compares them in constant time.
        SHA256.hash(data: Array(text.utf8)) == SHA256.hash(data: Array(candidate.utf8))
    }
}
