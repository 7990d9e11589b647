import HTTP
import JSON
import Transport

/// What the page can have go wrong, by the stand-in's control API.
enum Mishap: String, CaseIterable {
    /// The bank refuses the payment.
    case refused
    /// Belvo makes the payment, and its answer is lost.
    case createLost = "create_lost"
    /// Belvo takes the signature, and its answer is lost.
    case authorizeLost = "authorize_lost"
    /// Belvo takes nothing for 20 seconds.
    case away
    /// No webhook comes.
    case webhooksLost = "webhooks_lost"
    /// The user gives up, and the bank pays all the same.
    case lateSuccess = "late_success"
    /// The server dies while Belvo works on the signature.
    case killed
}

/// The mishap that is switched on, if any.
struct Mishaps: Sendable {
    private struct State {
        var armed: Mishap?
        /// Belvo's id of the payment that it has befallen.
        var intent: String?
        /// What the stand-in did before.
        var settlement: String?
        var count = 0
    }

    private static let awayFor = Duration.seconds(20)
    private let state = Box(State())

    var isArmed: Bool { state.change { $0.armed != nil } }

    /// Switches one on. Says whether the stand-in has taken it.
    func arm(_ mishap: Mishap, on stage: Backstage) async -> Bool {
        guard let sandbox = stage.sandbox, await disarm(on: stage) else { return false }
        let count = state.change { state in
            state.armed = mishap
            state.intent = nil
            state.count += 1
            return state.count
        }
        let isTaken =
            switch mishap {
            case .refused, .lateSuccess: await hold(sandbox)
            case .createLost: await add(#"{"endpoint": "create_payment_intent", "fault": "drop_answer"}"#, sandbox)
            case .authorizeLost:
                await add(#"{"endpoint": "authorize_payment_intent", "fault": "drop_answer"}"#, sandbox)
            case .away: await add(#"{"fault": "drop_request", "always": true}"#, sandbox)
            case .webhooksLost: await change(#"{"webhook_copies": "0"}"#, sandbox)
            case .killed:
                await add(
                    #"{"endpoint": "authorize_payment_intent", "fault": "delay_answer", "milliseconds": 3000}"#, sandbox
                )
            }
        stage.journal.add("mishap") { $0.member("armed", mishap.rawValue) }
        if mishap == .away, isTaken, let loop = EventLoop.current {
            _ = loop.task {
                try await loop.sleep(for: Mishaps.awayFor)
                if state.change({ $0.count }) == count { _ = await disarm(on: stage) }
            }
        }
        return isTaken
    }

    /// Puts everything right again.
    func disarm(on stage: Backstage) async -> Bool {
        guard let sandbox = stage.sandbox else { return false }
        let (armed, settlement) = state.change { state in
            defer { (state.armed, state.settlement) = (nil, nil) }
            return (state.armed, state.settlement)
        }
        guard let armed else { return true }
        var isDone = await sandbox.send(.delete, "/sandbox/faults")?.status.isSuccess == true
        if let settlement {
            isDone = await change(#"{"payment_settlement": "\#(settlement)"}"#, sandbox) && isDone
        }
        if armed == .webhooksLost { isDone = await change(#"{"webhook_copies": "1"}"#, sandbox) && isDone }
        stage.journal.add("mishap") {
            $0.memberNull("armed")
            $0.member("over", armed.rawValue)
        }
        return isDone
    }

    /// A call to Belvo: the moment that some mishaps wait for.
    func hear(of call: JSONValue, from stage: Backstage) async {
        guard let sandbox = stage.sandbox, call["endpoint"]?.string == "authorize_payment_intent",
            let path = call["path"]?.string
        else { return }
        let parts = path.split(separator: "/").map(String.init)
        guard parts.count >= 2 else { return }
        let intent = parts[parts.count - 2]
        let (armed, isFirst) = state.change { state in
            defer { state.intent = intent }
            return (state.armed, state.intent != intent)
        }
        switch armed {
        case .refused where call["status"]?.int64 != nil && isFirst:
            _ = await sandbox.send(
                .post, "/sandbox/payment-intents/\(intent)/fail",
                Array(#"{"code": "insufficient_funds", "message": "The payer has not enough funds."}"#.utf8))
        case .killed where isFirst:
            if stage.killServer() { stage.journal.add("killed") { _ in } }
        default: break
        }
    }

    /// The bank pays a payment that the user has given up.
    func settle(_ intent: String, on stage: Backstage) async -> Bool {
        guard let sandbox = stage.sandbox, !intent.isEmpty,
            intent.utf8.allSatisfy({ $0 == 0x2D || (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return false }
        let answer = await sandbox.send(.post, "/sandbox/payment-intents/\(intent)/settle")
        return answer?.status.isSuccess == true
    }

    private func add(_ fault: String, _ sandbox: Remote) async -> Bool {
        await sandbox.send(.post, "/sandbox/faults", Array(fault.utf8))?.status.isSuccess == true
    }

    private func change(_ variants: String, _ sandbox: Remote) async -> Bool {
        await sandbox.send(.patch, "/sandbox/variants", Array(variants.utf8))?.status.isSuccess == true
    }

    /// Payments reach no end by themselves from now on.
    private func hold(_ sandbox: Remote) async -> Bool {
        guard let before = await sandbox.json("/sandbox/variants")?["payment_settlement"]?["value"]?.string else {
            return false
        }
        state.change { $0.settlement = before }
        return await change(#"{"payment_settlement": "when_told"}"#, sandbox)
    }
}
