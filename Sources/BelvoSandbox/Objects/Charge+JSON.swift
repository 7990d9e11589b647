import JSON

extension Charge {
    func write(
        to writer: inout JSONWriter, intent: PaymentIntent, transactions: [Transaction], createdBy: String,
        variants: Variants
    ) {
        writer.member("id", id)
        writer.member("status", status.rawValue)
        writer.member("amount", intent.amount.text)
        writer.member("currency", "BRL")
        writer.member("customer", intent.customer)
        writer.member("payment_intent", paymentIntent)
        writer.member("payment_method_type", "open_finance_biometric_pix")
        writer.memberObject("payment_method_details") { details in
            details.memberObject("open_finance_biometric_pix") { method in
                method.member("beneficiary_bank_account", intent.beneficiary)
                method.member("enrollment", intent.enrollment)
            }
        }
        writer.memberObject("payment_method_information") { information in
            information.memberObject("open_finance_biometric_pix") { $0.member("end_to_end_id", intent.endToEndID) }
        }
        writer.member("description", intent.description)
        writer.member("statement_description", intent.statementDescription)
        writer.member("failure_code", failure.map { variants.failureCodes.apply($0.code) })
        writer.member("failure_message", failure?.message)
        writer.memberRaw("metadata", intent.metadata)
        writer.member("provider", "belvo")
        writer.memberArray("transactions") { list in
            for transaction in transactions {
                list.object { transaction.write(to: &$0, intent: intent, createdBy: createdBy) }
            }
        }
        writer.member("created_by", createdBy)
        writer.member("created_at", createdAt.text)
        writer.member("updated_at", updatedAt.text)
    }
}

extension Transaction {
    func write(to writer: inout JSONWriter, intent: PaymentIntent, createdBy: String) {
        writer.member("id", id)
        writer.member("amount", intent.amount.text)
        writer.member("currency", "BRL")
        writer.member("description", intent.description)
        writer.member("transaction_type", "INFLOW")
        writer.member("beneficiary", intent.beneficiary)
        writer.member("payment_intent", paymentIntent)
        writer.member("customer", intent.customer)
        writer.member("created_by", createdBy)
        writer.member("created_at", createdAt.text)
    }
}
