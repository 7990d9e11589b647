/// Why an answer that claims success cannot be used.
///
/// The reason names a place in the answer and never repeats what stood there.
struct MalformedAnswer: Error {
    let reason: String
    /// Whether the answer was JSON at all: Belvo's own, and not the page of something in front of it.
    var isJSON = true
}
