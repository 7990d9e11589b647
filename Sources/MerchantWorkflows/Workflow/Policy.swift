import FoundationEssentials
import MerchantAuth
import Payments

/// The merchant's fixed decisions, from the settings.
package struct Policy: Sendable {
    /// The account that is paid. It never comes from an app.
    let beneficiaryBankAccount: UUID
    /// The most that one payment may be.
    package let paymentMax: Money
    /// Whether a payment needs an order that sets its price.
    package let requiresOrders: Bool
    /// The token with which the shop places orders; without it they come by SQL alone.
    package let shop: SharedBearer?
    /// Whether the shop wants events about payments and enrollments.
    let emitsShopEvents: Bool
    /// The token that Belvo's webhooks carry.
    package let webhooks: SharedBearer
    /// Whether apps get tokens for Belvo's SDK, which can do more at Belvo than one user should.
    package let mintsWidgetTokens: Bool
    /// Where Belvo renews those tokens; nil where they are minted anew.
    let tokenRefreshPath: String?
    /// Redirects of strangers that may wait for Belvo at a time.
    let unknownRedirectsMax: Int
    /// The bounds of one user.
    package let userBounds: UserBounds
    /// Where banks may send users back to; the first one unless an app names another.
    package let callbackURLs: [String]

    package init(
        beneficiaryBankAccount: UUID, paymentMax: Money, requiresOrders: Bool, shop: SharedBearer?,
        emitsShopEvents: Bool, webhooks: SharedBearer, mintsWidgetTokens: Bool, tokenRefreshPath: String?,
        unknownRedirectsMax: Int, userBounds: UserBounds, callbackURLs: [String]
    ) {
        self.beneficiaryBankAccount = beneficiaryBankAccount
        self.paymentMax = paymentMax
        self.requiresOrders = requiresOrders
        self.shop = shop
        self.emitsShopEvents = emitsShopEvents
        self.webhooks = webhooks
        self.mintsWidgetTokens = mintsWidgetTokens
        self.tokenRefreshPath = tokenRefreshPath
        self.unknownRedirectsMax = unknownRedirectsMax
        self.userBounds = userBounds
        self.callbackURLs = callbackURLs
    }
}

/// Bounds of what one user may have open, beside requests.
package struct UserBounds: Sendable, Equatable {
    /// Enrollments that are not at their end; 0 is no limit.
    package var openEnrollmentsMax = 20
    /// Enrollments that wait for Belvo, while there are more of these than calls.
    static let polledEnrollmentsMaxWhileBusy = 2
    /// Enrollments that were begun within a day; 0 is no limit.
    package var enrollmentsPerDayMax = 50
    /// Payments that are not at their end; 0 is no limit.
    package var openPaymentsMax = 20
    /// Payments that were opened within a day; 0 is no limit.
    package var paymentsPerDayMax = 200

    package init() {}
}
