import HTTP
import JSON

extension SandboxState {
    /// Processes one call, whatever faults there are on the way.
    mutating func process(_ request: Request, endpoint: Endpoint, ids: [String]) -> Response {
        catchUp()
        do throws(Refusal) {
            return try answer(try Call(request, endpoint: endpoint, ids: ids))
        } catch {
            return refuse(error)
        }
    }

    func refuse(_ refusal: Refusal) -> Response {
        refusal.response(form: variants.errors, requestID: entropy.hexadecimal(16))
    }

    private mutating func answer(_ call: Call) throws(Refusal) -> Response {
        try authenticate(call.request)
        switch call.endpoint {
        case .createWidgetToken: return try createWidgetToken(call)
        case .refreshWidgetToken: return try refreshWidgetToken(call)
        case .listInstitutions: return try listInstitutions(call)
        case .createCustomer: return try createCustomer(call)
        case .listCustomers: return try listCustomers(call)
        case .getCustomer: return try getCustomer(call)
        case .listBankAccounts: return try listBankAccounts(call)
        case .getBankAccount: return try getBankAccount(call)
        case .createEnrollment: return try createEnrollment(call)
        case .completeRedirection: return try completeRedirection(call)
        case .getFIDORegistrationOptions: return try getFIDORegistrationOptions(call)
        case .confirmEnrollment: return try confirmEnrollment(call)
        case .getEnrollment: return try getEnrollment(call)
        case .listEnrollments: return try listEnrollments(call)
        case .createPaymentIntent: return try createPaymentIntent(call)
        case .authorizePaymentIntent: return try authorizePaymentIntent(call)
        case .getPaymentIntent: return try getPaymentIntent(call)
        case .listPaymentIntents: return try listPaymentIntents(call)
        case .listIntentCharges: return try listCharges(call, of: call.id)
        case .getIntentCharge: return try getCharge(call, of: call.id)
        case .listCharges: return try listCharges(call, of: nil)
        case .getCharge: return try getCharge(call, of: nil)
        case .listTransactions: return try listTransactions(call)
        case .getTransaction: return try getTransaction(call)
        }
    }

    /// Whether a body has no fault that counts; the last question to its reader.
    func accepts(_ reader: JSONReader) -> Bool {
        reader.isFaultless || countedFaults(reader).isEmpty
    }

    /// Why a body is not accepted.
    func refusal(_ reader: JSONReader) -> Refusal {
        Refusal(countedFaults(reader), unknownMembers: variants.unknownMembers)
    }

    private func countedFaults(_ reader: JSONReader) -> [JSONFault] {
        reader.faults.all.filter {
            variants.unknownMembers != .ignored || $0.code != JSONFault.Code.unknownMember
        }
    }

    /// Whether a new object is to be seen already in lists.
    func isListed(_ createdAt: Timestamp) -> Bool {
        now - createdAt >= .milliseconds(variants.listLagMilliseconds)
    }

    /// Whether a new object is to be seen already by its id.
    func isReadable(_ createdAt: Timestamp) -> Bool {
        now - createdAt >= .milliseconds(variants.readLagMilliseconds)
    }

    /// A list in the shape that the variants ask for.
    func list<Item>(
        _ items: [Item], _ call: Call, canBeBare: Bool = true, _ write: (inout JSONWriter, Item) -> Void
    ) throws(Refusal) -> Response {
        guard variants.lists == .envelope || !canBeBare else {
            return Answer.json(
                .ok,
                JSONWriter.array { array in
                    for item in items { array.object { write(&$0, item) } }
                })
        }
        let page = try Pagination(call.query, sizeMax: variants.pageSizeMax)
        return Answer.json(
            .ok,
            try page.envelope(
                items, path: call.request.target.path, query: call.query, publicURL: configuration.publicURL, write))
    }
}
