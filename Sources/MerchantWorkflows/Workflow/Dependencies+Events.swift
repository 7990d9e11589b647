import MerchantModel
import Payments

extension Dependencies {
    /// The shop's event about a payment's change, where it wants one and the money is its own.
    ///
    /// A token for Belvo's SDK can pay any account (belvo-api.md §2.1): what is paid to another one than the
    /// merchant's, or to one that Belvo does not show, is no income.
    func event(_ after: Payment, before: Payment, at moment: Timestamp) -> ShopEvent? {
        let isForMerchant =
            after.origin == .own || after.parties.beneficiaryBankAccount == policy.beneficiaryBankAccount
        guard policy.emitsShopEvents, isForMerchant else { return nil }
        return ShopEvent(after, before: before, at: moment, id: identities.next)
    }

    /// The shop's event about an enrollment's change, where it wants one.
    func event(_ after: Enrollment, before: Enrollment, at moment: Timestamp) -> ShopEvent? {
        policy.emitsShopEvents ? ShopEvent(after, before: before, at: moment, id: identities.next) : nil
    }
}
