import Payments

// Where Belvo has a noun of the same name, the bare word is ours and the bank's is spelled out: `Belvo.Enrollment`.

/// A user of the merchant as Belvo knows one.
package typealias Customer = Payments.Customer
/// A device bound to a user's bank.
package typealias Enrollment = Payments.Enrollment
