import MerchantModel
import Payments

extension Dependencies {
    /// The shop's event about a payment's change, where it wants one.
    func event(_ after: Payment, before: Payment, at moment: Timestamp) -> ShopEvent? {
        policy.emitsShopEvents ? ShopEvent(after, before: before, at: moment, id: identities.next) : nil
    }

    /// The shop's event about an enrollment's change, where it wants one.
    func event(_ after: Enrollment, before: Enrollment, at moment: Timestamp) -> ShopEvent? {
        policy.emitsShopEvents ? ShopEvent(after, before: before, at: moment, id: identities.next) : nil
    }
}
