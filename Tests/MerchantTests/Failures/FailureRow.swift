/// The consequences of one fault in one call.
struct FailureRow: Sendable {
    let mishap: String
    /// The app's answer: a status, and the code of a problem.
    let told: String
    /// The record right after it.
    let record: String
    /// The record's end without the app, and after which time.
    let later: String
    /// How often the call was made in all that time.
    let calls: Int
    /// The app's answer when it asks for the same again after that.
    let again: String

    static let heading = [
        "| what goes wrong | the app is told | the record | later, by itself | calls | the same again, then |",
        "|---|---|---|---|---|---|",
    ]

    var line: String { "| \(mishap) | \(told) | \(record) | \(later) | \(calls) | \(again) |" }
}
