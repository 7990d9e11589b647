import HTTP
import JSON

extension Sandbox {
    /// `GET /sandbox/state`.
    func describeState() -> Response {
        withState { state in
            Answer.object(.ok) { body in
                body.member("beneficiary_bank_account", state.configuration.beneficiary)
                body.member("now", state.now.text)
                body.member("customers", state.customers.all.count)
                body.member("enrollments", state.enrollments.all.count)
                body.member("payment_intents", state.intents.all.count)
                body.member("transactions", state.transactions.all.count)
            }
        }
    }

    /// `POST /sandbox/advance` with `{"seconds": N}`.
    func advanceClock(_ request: Request) throws(ControlFault) -> Response {
        let reader = try request.controlReader()
        let seconds = reader.int64("seconds")
        try reader.finish()
        guard let seconds, (0...31_536_000).contains(seconds) else { throw .malformed("seconds: 0 to 31536000.") }
        return done { advance(by: .seconds(seconds)) }
    }

    /// `GET /sandbox/variants`: each switch with its value and its choices.
    func describeVariants() -> Response {
        let variants = variants
        return Answer.object(.ok) { body in
            for named in Variants.all {
                body.memberObject(named.name) { entry in
                    entry.member("value", named.read(variants))
                    entry.memberArray("choices") { choices in
                        for choice in named.choices { choices.element(choice) }
                    }
                }
            }
        }
    }

    /// `PATCH /sandbox/variants` with `{"name": "value", …}`: all of them, or none when one is unknown.
    func changeVariants(_ request: Request) throws(ControlFault) -> Response {
        let reader = try request.controlReader()
        var changes: [(Variants.Named, String)] = []
        for named in Variants.all {
            guard let value = reader.optionalValue(named.name) else { continue }
            guard let text = value.string ?? value.numberText else { throw .malformed("\(named.name): a text.") }
            changes.append((named, text))
        }
        try reader.finish()
        var changed = variants
        for (named, text) in changes where !named.write(&changed, text) {
            throw .malformed("\(named.name): one of \(named.choices.joined(separator: ", ")).")
        }
        // Only what was named, since another call may change other switches at the same time.
        return done {
            change { state in
                for (named, text) in changes { _ = named.write(&state.variants, text) }
            }
        }
    }

    /// `GET /sandbox/calls`, with `?after=N` those behind that number.
    func describeCalls(_ request: Request) -> Response {
        // Without a number that can be read: from the beginning.
        let after = (try? FormFields(parsing: request.target.query ?? ""))?["after"].flatMap { Int($0) } ?? 0
        return Answer.object(.ok) { body in
            body.memberArray("results") { results in
                for call in calls where call.number > after { results.object { call.write(to: &$0) } }
            }
        }
    }
}
