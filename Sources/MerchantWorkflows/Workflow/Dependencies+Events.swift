import MerchantModel
import Payments

extension Dependencies {
    /// What the shop is told of a payment's change, where it wants to hear.
    func event(_ after: Payment, before: Payment, at moment: Timestamp) -> ShopEvent? {
        policy.emitsShopEvents ? ShopEvent(after, before: before, at: moment, id: identities.next) : nil
    }

    /// What the shop is told of an enrollment's change, where it wants to hear.
    func event(_ after: Enrollment, before: Enrollment, at moment: Timestamp) -> ShopEvent? {
        policy.emitsShopEvents ? ShopEvent(after, before: before, at: moment, id: identities.next) : nil
    }
}
