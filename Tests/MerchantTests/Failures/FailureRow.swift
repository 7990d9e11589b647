/// What one mishap of one call comes to.
struct FailureRow: Sendable {
    let mishap: String
    /// What the app hears: a status, and the code of a problem.
    let told: String
    /// The record right after it.
    let record: String
    /// What becomes of the record by itself, and after which time.
    let later: String
    /// How often the call was made in all that time.
    let calls: Int
    /// What the app hears when it asks for the same again after that.
    let again: String

    static let heading = [
        "| what goes wrong | the app is told | the record | later, by itself | calls | the same again, then |",
        "|---|---|---|---|---|---|",
    ]

    var line: String { "| \(mishap) | \(told) | \(record) | \(later) | \(calls) | \(again) |" }
}
