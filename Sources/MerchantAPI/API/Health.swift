import BelvoGate
import HTTP
import JSON
import MerchantAuth
import MerchantStore
import Synchronization
import Transport

/// Whether the process lives, and whether it should be given work.
package final class Health: Sendable {
    private let store: Store
    private let authenticator: Authenticator
    private let gate: BelvoGate
    private let isDraining = Atomic(false)
    private let isReachable: SharedReading

    package init(
        store: Store, authenticator: Authenticator, gate: BelvoGate,
        now: @escaping @Sendable () -> Monotonic = { Monotonic.now() }
    ) {
        self.store = store
        isReachable = SharedReading(now: now) { await store.isReachable() }
        self.authenticator = authenticator
        self.gate = gate
    }

    /// From now on no new work is wanted.
    package func drain() {
        isDraining.store(true, ordering: .relaxed)
    }

    /// `GET /livez`: the process answers, and that is all it says.
    package func live() -> Response {
        Self.alive
    }

    /// `GET /readyz`: requests can be served now. Any client may ask, so the database is read once a second
    /// at most.
    func ready() async -> Response {
        let missing = missing(isReachable: await isReachable.value())
        return Response(
            missing.isEmpty ? .ok : .serviceUnavailable,
            headers: ["content-type": "application/json", "cache-control": "no-store"],
            body: missing.isEmpty ? Self.ok : Self.unavailable)
    }

    /// `/readyz` for operators: what is missing, by name, and what is wrong without keeping requests from being
    /// served. Without Belvo much is still answered, and no other instance would have more of it.
    package func readyInDetail() async -> Response {
        let missing = missing(isReachable: await store.isReachable())
        let body = JSONWriter.object { answer in
            answer.member("status", missing.isEmpty ? "ok" : "unavailable")
            answer.memberArray("missing") { list in
                for name in missing { list.element(name) }
            }
            answer.memberArray("warnings") { list in
                for name in warnings { list.element(name) }
            }
        }
        return Response(
            missing.isEmpty ? .ok : .serviceUnavailable,
            headers: ["content-type": "application/json", "cache-control": "no-store"], body: body)
    }

    private func missing(isReachable: Bool) -> [String] {
        var missing: [String] = []
        if isDraining.load(ordering: .relaxed) { missing.append("draining") }
        if !isReachable { missing.append("database") }
        if !authenticator.hasKeys { missing.append("keys") }
        return missing
    }

    private var warnings: [String] {
        let belvo = gate.snapshot
        var warnings: [String] = []
        if belvo.circuit != .closed { warnings.append("belvo_circuit_open") }
        if belvo.isLockedOut { warnings.append("belvo_locked_out") }
        if belvo.quiet != nil { warnings.append("belvo_asked_for_silence") }
        return warnings
    }

    private static let alive = Response(.ok, headers: ["content-type": "application/json"], body: ok)
    private static let ok = JSONWriter.object { $0.member("status", "ok") }
    private static let unavailable = JSONWriter.object { $0.member("status", "unavailable") }
}
