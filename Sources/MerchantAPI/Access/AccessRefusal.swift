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
    /// The limit of requests in flight is reached.
    case busy
    /// The limit of this user's requests in flight is reached.
    case tooManyOfUserUnderWay
    /// The limit of waiting long polls is reached.
    case tooManyLongPolls(retryAfter: Duration)
}
