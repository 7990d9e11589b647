/// Why an answer that claims success cannot be used.
///
/// The reason names a place in the answer and never repeats what stood there.
struct MalformedAnswer: Error {
    let reason: String
}
