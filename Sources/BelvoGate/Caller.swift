/// The kind of caller on whose behalf Belvo is called.
package enum Caller: String, Sendable, CaseIterable {
    /// A user waits for the answer.
    case person
    /// A worker polls by itself, and may as well poll later.
    case background
    /// A redirect that belongs to no enrollment known here. It may be invented, so that it comes behind the
    /// others, with every tenth turn, and what Belvo answers to it says nothing about them.
    case stranger
}

/// One value for each caller.
package struct PerCaller<Value: Sendable>: Sendable {
    var person: Value
    var background: Value
    var stranger: Value

    /// The value of one caller.
    package subscript(caller: Caller) -> Value {
        get {
            switch caller {
            case .person: person
            case .background: background
            case .stranger: stranger
            }
        }
        set {
            switch caller {
            case .person: person = newValue
            case .background: background = newValue
            case .stranger: stranger = newValue
            }
        }
    }
}

extension PerCaller: Equatable where Value: Equatable {}
