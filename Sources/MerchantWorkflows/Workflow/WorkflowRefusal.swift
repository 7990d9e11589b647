import Payments

/// Why a request was not granted, in the merchant's terms. What each case means over HTTP stands in `APIError`.
package enum WorkflowRefusal: Error, Sendable, Equatable {
    /// There is no such record of this user's.
    case notFound
    /// The user has to become a customer first.
    case customerRequired
    /// The user is a customer with another tax number.
    case identifierDiffers
    /// Belvo has the tax number under another account.
    case identifierInUse
    /// The risk signals name another day than the customer's own.
    case accountTenureDiffers(expected: AccountTenure)
    /// The bank does not offer Biometric Pix, or does not exist.
    case institutionUnavailable
    /// Belvo knows no enrollment with this `state`.
    case redirectUnknown
    /// So many redirects of strangers wait that there is no room for another one.
    case unknownRedirectsFull
    /// So many redirects of the enrollment wait, or have come within a day, that there is no room for another.
    case tooManyRedirectsOfEnrollment
    /// The user has so many open enrollments that there may be no other.
    case tooManyOpenEnrollments(retryAfter: Duration)
    /// The user has so many open payments that there may be no other.
    case tooManyOpenPayments
    /// The user has begun so many enrollments within a day that the next one has to wait.
    case tooManyEnrollments(retryAfter: Duration)
    /// Belvo has refused the user's data so often within a day that the next attempt has to wait.
    case tooManyCustomerCreations(retryAfter: Duration)
    /// The user has opened so many payments within a day that the next one has to wait.
    case tooManyPayments(retryAfter: Duration)
    /// So many of the user's payments did not get to Belvo that the next one has to wait.
    case tooManyUnsentPayments(retryAfter: Duration)
    /// The enrollment has failed.
    case enrollmentFailed
    /// Belvo has refused the phone's registration, and with it the enrollment.
    case confirmationRefused(Failure?, belvoRequestID: String?)
    /// The request does not fit the record's present state.
    case wrongState(String)
    /// It was done before, with something else.
    case alreadyDone
    /// The payment names an enrollment that the user does not have.
    case enrollmentUnknown
    /// The payment names an enrollment that cannot be used.
    case enrollmentNotUsable
    /// An earlier payment for the reference may still be paid. Apps know it as `payment_in_doubt`.
    case referenceBusy(Payment.ID?)
    /// Belvo refused it, or it has failed since.
    case paymentFailed(Failure?)
    /// The reference was paid.
    case alreadyPaid(Payment.ID?)
    /// Without an order no price can be trusted.
    case orderRequired
    /// The merchant has no such order for this user.
    case orderUnknown
    /// The order's time is over.
    case orderExpired
    /// Without an order these have to be named.
    case termsMissing([String])
    /// These members are not what the order says.
    case differsFromOrder([String])
    /// A payment for the order is live, in doubt, or has paid it.
    case orderInUse(Payment.ID?)
    /// The amount is more than a payment without redirection may be.
    case amountTooHigh(max: Money)
    /// The idempotency key stands for another request.
    case idempotencyKeyReused
    /// The first request with this key is still being worked on.
    case inProgress
    /// The phone signed something else than what it was given.
    case clientDataInvalid(SignedPart)
    /// Many changed the record at once, and this writer lost every race.
    case contended
}

/// The member of a request whose client data is wrong, and how.
package struct SignedPart: Sendable, Equatable {
    /// A JSON Pointer.
    package let member: String
    package let fault: ClientData.Fault
}
