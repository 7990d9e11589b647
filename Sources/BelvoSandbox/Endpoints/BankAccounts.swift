import HTTP
import JSON

extension SandboxState {
    /// `GET /payments/br/bank-accounts/`: the one account of the merchant.
    func listBankAccounts(_ call: Call) throws(Refusal) -> Response {
        try list(bankAccounts.all, call, canBeBare: false) { $1.write(to: &$0, createdBy: merchant) }
    }

    /// `GET /payments/br/bank-accounts/{id}/`.
    func getBankAccount(_ call: Call) throws(Refusal) -> Response {
        guard let account = bankAccounts[call.id] else { throw .notFound }
        return Answer.object(.ok) { account.write(to: &$0, createdBy: merchant) }
    }
}
