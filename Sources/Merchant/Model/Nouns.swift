import Payments

// Where Belvo has a noun of the same name, the bare word is ours and the bank's is spelled out: `Belvo.Enrollment`.
typealias Customer = Payments.Customer
typealias Enrollment = Payments.Enrollment
