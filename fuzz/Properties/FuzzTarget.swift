/// One of the readers of bytes from outside, and what it promises about any bytes at all.
///
/// The promises are checked in two places: by the fuzzer on bytes that it makes up (`./dev fuzz`), and by
/// `Tests/FuzzTests` on the corpus.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// The parser of requests, and what a request's target, query and tags are read with.
    case request
    /// The parser of answers.
    case response
    case json
    /// Queries, forms and URLs.
    case query
    /// CBOR, as far as attestations have it.
    case cbor

    /// The promise that the bytes break, in words; nil when every promise is kept.
    public func findBrokenPromise(_ bytes: [UInt8]) -> String? {
        do throws(BrokenPromise) {
            switch self {
            case .request: try RequestPromises.check(bytes)
            case .response: try ResponsePromises.check(bytes)
            case .json: try JSONPromises.check(bytes)
            case .query: try QueryPromises.check(bytes)
            case .cbor: try CBORPromises.check(bytes)
            }
            return nil
        } catch {
            return error.promise
        }
    }
}

/// A promise that some bytes break.
struct BrokenPromise: Error {
    let promise: String

    init(_ promise: String) { self.promise = promise }
}

/// Throws the promise when it does not hold.
func promise(_ promise: @autoclosure () -> String, _ holds: Bool) throws(BrokenPromise) {
    if !holds { throw BrokenPromise(promise()) }
}
