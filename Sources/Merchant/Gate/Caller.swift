/// For whom Belvo is called.
enum Caller: String, Sendable, CaseIterable {
    /// Somebody holds a phone and waits for the answer.
    case person
    /// A worker looks by itself, and may as well look later.
    case background
}

/// One value for each caller.
struct PerCaller<Value: Sendable>: Sendable {
    var person: Value
    var background: Value

    subscript(caller: Caller) -> Value {
        get { caller == .person ? person : background }
        set { if caller == .person { person = newValue } else { background = newValue } }
    }
}

extension PerCaller: Equatable where Value: Equatable {}
