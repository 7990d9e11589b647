import BelvoSandbox
import Payments
import Transport

/// The time of day in a simulation, in the words of all those who ask.
enum SimulatedTime {
    /// A day like others, at ten in the morning (UTC).
    private static let microseconds: Int64 = 1_795_255_200_000_000

    static let beginning = moment(.zero)

    static func moment(_ elapsed: Duration) -> Payments.Timestamp {
        Payments.Timestamp(microsecondsSince1970: microseconds + elapsed.wholeNanoseconds / 1_000)
    }

    static func atBelvo(_ elapsed: Duration) -> BelvoSandbox.Timestamp {
        BelvoSandbox.Timestamp(microseconds: microseconds + elapsed.wholeNanoseconds / 1_000)
    }

    static func monotonic(_ elapsed: Duration) -> Monotonic {
        Monotonic(nanoseconds: 1_000_000_000_000 + elapsed.wholeNanoseconds)
    }
}
