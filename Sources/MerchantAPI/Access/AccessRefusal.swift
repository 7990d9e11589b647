/// Why a request was not let in, before its content was read. What each case means over HTTP is in
/// `APIError`.
enum AccessRefusal: Error, Sendable, Equatable {
    /// This user has made too many requests.
    case tooManyRequests(retryAfter: Duration)
    /// Too many requests without a valid token have come from this address.
    case tooManyWithoutToken(retryAfter: Duration)
    /// Too many wrong tokens have come from this address.
    case tooManyWrongTokens(retryAfter: Duration)
    /// Too many different redirects have come.
    case tooManyRedirects(retryAfter: Duration)
    /// As many requests are in flight as may be.
    case busy
    /// As many requests of this user are in flight as may be.
    case tooManyOfUserUnderWay
    /// As many long polls wait as may.
    case tooManyLongPolls(retryAfter: Duration)
}
