/// Request bodies that are right, to be made wrong in one place.
enum Bodies {
    static let institution = "188716fb-39ad-44a7-a992-6c278d2b24a4"

    static let signals = """
        {"deviceId":"device-1","osVersion":"18.2","userTimeZoneOffset":"-03:00","language":"pt",\
        "screenDimensions":{"height":2556,"width":1179},"accountTenure":"2026-11-21","isCharging":true}
        """

    static func customer(_ identifier: String = "52998224725") -> String {
        #"{"identifier":"\#(identifier)","name":"Ana Souza","external_id":"user-1"}"#
    }

    static func enrollment(
        customer: String, institution: String = institution, signals: String = signals,
        callback: String = "https://shop.example/enrollment/callback", externalID: String = "enrollment-1"
    ) -> String {
        """
        {"type":"open_finance_biometric_pix","external_id":"\(externalID)","metadata":{"a": 1},"details":{\
        "customer":"\(customer)","institution":"\(institution)","name":"iPhone","platform":"IOS",\
        "callback_url":"\(callback)","risk_signals":\(signals)}}
        """
    }

    static func intent(
        amount: String = "0.13", customer: String, enrollment: String, beneficiary: String,
        externalID: String = "payment-1"
    ) -> String {
        """
        {"amount":\(amount),"allowed_payment_method_types":["open_finance_biometric_pix"],"customer":"\(customer)",\
        "description":"Pedido 1","statement_description":"LOJA","external_id":"\(externalID)","metadata":{},\
        "payment_method_details":{"open_finance_biometric_pix":{"beneficiary_bank_account":"\(beneficiary)",\
        "enrollment":"\(enrollment)"}},"confirm":true}
        """
    }
}
