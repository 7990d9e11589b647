// The kinds of text in the API, with the bounds of merchant-api.md where it names them.

/// The purpose of a payment, as the payer's bank shows it before the fingerprint.
public typealias PaymentDescription = BoundedText<PaymentDescriptionRule>
public enum PaymentDescriptionRule: TextRule { public static let length = 1...140 }

/// The name of a payment on the payer's account statement.
public typealias StatementDescription = BoundedText<StatementDescriptionRule>
public enum StatementDescriptionRule: TextRule { public static let length = 1...140 }

/// The merchant's own name for what is paid: an order number.
public typealias Reference = BoundedText<ReferenceRule>
public enum ReferenceRule: TextRule { public static let length = 1...64 }

/// The merchant's own id of a user: the `sub` of the token.
public typealias UserSubject = BoundedText<UserSubjectRule>
public enum UserSubjectRule: TextRule { public static let length = 1...128 }

/// A customer's name, a person's or a company's.
///
/// The upper bound is Belvo's (belvo-api.md §3.1). Its lower one, five characters in one of two versions,
/// is left to Belvo: there are shorter names.
public typealias PersonName = BoundedText<PersonNameRule>
public enum PersonNameRule: TextRule { public static let length = 1...200 }

/// The user's name for an enrollment; the bound is Open Finance Brasil's (belvo-api.md §4.1).
public typealias EnrollmentName = BoundedText<EnrollmentNameRule>
public enum EnrollmentNameRule: TextRule { public static let length = 1...140 }
