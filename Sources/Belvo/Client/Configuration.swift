import HTTP

/// Belvo's address, this program's credentials, and the bounds of calls.
public struct Configuration: Sendable {
    /// The scheme, host and port of Belvo's API; every path is built below it (belvo-api.md §1).
    public var origin: URL.Origin

    /// The Payments API keys, which are not those of Belvo's other products.
    public var credentials: Credentials

    /// The choices that Belvo's documents leave open.
    public var dialect: Dialect {
        get { currentDialect() }
        set { currentDialect = { newValue } }
    }

    /// Where each call reads them: a probe changes them while it finds out what Belvo takes.
    package var currentDialect: @Sendable () -> Dialect = { Dialect() }

    /// How long one call may take, all pages of a list together.
    public var timeout: Duration = .seconds(10)

    /// The name under which this program shows itself. Firewalls like the one before Belvo's API tend to
    /// refuse requests without one.
    public var userAgent: UserAgent = "biometric-pix-merchant"

    /// The longest answer that is read, in bytes.
    ///
    /// A page of a hundred institutions with their logos' addresses is near 100 kB, one of five hundred payments near
    /// 1 MB. The client that carries the requests must allow as much.
    public static let answerBytesMax = 2_097_152
    /// The same, unless it is to be less.
    public var answerBytesMax = Configuration.answerBytesMax

    /// The most pages of one list that are followed before the list is called endless.
    public var pagesMax = 50

    /// The most entries of one list, all pages together, that are kept in memory.
    public var itemsMax = 10_000

    /// Entries of one page of a day's list. Belvo gives 100 unless it is asked for more, and 1,000 at most
    /// (belvo-api.md §1); 250 of the longest fit into `answerBytesMax`.
    public var dayPageSize = 250

    /// Entries of one page of a list of which one page is read: pending intents are of middling length.
    public var glimpsePageSize = 500

    /// The most pages of a day's list: a million payments.
    public var dayPagesMax = 4_000

    public init(origin: URL.Origin, credentials: Credentials) {
        self.origin = origin
        self.credentials = credentials
    }
}

/// A `User-Agent` value, written in our own source.
public struct UserAgent: Sendable, ExpressibleByStringLiteral {
    let text: String

    /// Takes a text of our own without control characters.
    public init(stringLiteral text: StaticString) {
        self.text = text.description
        precondition(Headers.isValidValue(self.text), "a field value holds no control character")
    }
}
