import Glibc
import HTTP
import JSON
import Synchronization
import Transport

/// What happens behind the page, gathered for its live view: calls to Belvo, webhooks, rows, history. Only while a page
/// is looking.
///
/// No shop has this part: it is the demonstration's own.
struct Backstage: Sendable {
    private struct State {
        var lookedAt = Int64.min
        var subjects: [Records.Subject] = []
        var calls = 0
        var webhooks: [String: String] = [:]
        var rows: [Records.Subject: [UInt8]] = [:]
        var history: [Records.Subject: Int64] = [:]
        var isServerUp = true
    }

    let journal: Journal
    let merchant: Remote
    let sandbox: Remote?
    let records: Records?
    let processFile: String?
    let mishaps = Mishaps()
    private let state = Box(State())

    init(journal: Journal, merchant: Remote, sandbox: Remote?, records: Records?, processFile: String?) {
        self.journal = journal
        self.merchant = merchant
        self.sandbox = sandbox
        self.records = records
        self.processFile = processFile
    }

    /// A page is looking, at these records.
    func look(at subjects: [Records.Subject]) {
        state.change {
            $0.lookedAt = Clock.milliseconds
            $0.subjects = subjects
        }
    }

    /// Looks again and again, for ever.
    func watch(on loop: EventLoop) async {
        while true {
            let isLooking = Clock.milliseconds - state.change { max($0.lookedAt, 0) } < 40_000
            if isLooking || mishaps.isArmed {
                await watchServer()
                await watchCalls()
                await watchWebhooks()
                await watchRecords()
            }
            do { try await loop.sleep(for: .milliseconds(isLooking ? 150 : 400)) } catch { return }
        }
    }

    /// Whether the merchant server answers.
    private func watchServer() async {
        let isUp = await merchant.send(.get, "/readyz", deadline: .seconds(2))?.status == .ok
        guard state.change({ exchange(&$0.isServerUp, with: isUp) }) != isUp else { return }
        journal.add("server") { $0.member("up", isUp) }
    }

    private func watchCalls() async {
        guard let sandbox else { return }
        let after = state.change { $0.calls }
        guard let calls = await sandbox.json("/sandbox/calls?after=\(after)")?["results"] else { return }
        for call in calls.elements {
            await mishaps.hear(of: call, from: self)
            // The rest waits, so that the calls are shown in their order. A call without an answer has no status.
            let isOver = call["status"]?.int64 != nil || call["fault"]?.string != nil
            guard isOver, let number = call["number"]?.int64 else { return }
            state.change { $0.calls = Int(number) }
            journal.add("belvo_call", at: call["at"]?.string) { line in
                for name in ["method", "path", "endpoint", "external_id", "processed", "status", "fault", "remark"] {
                    if let value = call[name] { line.memberRaw(name, value.raw) }
                }
            }
        }
    }

    private func watchWebhooks() async {
        guard let webhooks = await sandbox?.json("/sandbox/webhooks")?["results"] else { return }
        for webhook in webhooks.elements.suffix(40) {
            guard let id = webhook["id"]?.string, let stage = webhook["state"]?.string,
                ["delivered", "lost"].contains(stage), state.change({ $0.webhooks[id] }) != stage
            else { continue }
            state.change { $0.webhooks[id] = stage }
            journal.add("webhook") { line in
                line.member("state", stage)
                for name in ["webhook_type", "webhook_code", "object_id", "attempts"] {
                    if let value = webhook[name] { line.memberRaw(name, value.raw) }
                }
            }
        }
    }

    private func watchRecords() async {
        guard let records else { return }
        for subject in state.change({ $0.subjects }) {
            // The database is away at that moment: the next reading shows it.
            guard let row = try? await records.row(of: subject), let history = try? await records.history(of: subject)
            else { continue }
            let isNew = state.change { exchange(&$0.rows[subject], with: row.rows) } != row.rows
            if isNew, row.rows.count > 2 {
                journal.add("row") { line in
                    line.member("record_type", subject.kind.rawValue)
                    line.memberRaw("row", row.rows.dropFirst().dropLast())
                }
            }
            let seen = state.change { $0.history[subject] ?? 0 }
            guard let lines = try? JSONDocument(parsing: history.rows).root else { continue }
            for line in lines.elements {
                guard let id = line["id"]?.int64, id > seen else { continue }
                state.change { $0.history[subject] = id }
                journal.add("state", at: line["changed_at"]?.string) { told in
                    told.member("record_type", subject.kind.rawValue)
                    told.member("record_id", subject.name)
                    for name in ["state_before", "state_after", "caused_by", "detail"] {
                        if let value = line[name] { told.memberRaw(name, value.raw) }
                    }
                }
            }
        }
    }
}

extension Backstage {
    /// Ends the merchant server's process at once, as a power cut would. The script that has started it starts it
    /// again.
    func killServer() -> Bool {
        guard let processFile, let text = try? ConfigurationFile.text(of: processFile), let id = pid_t(text), id > 1
        else { return false }
        return kill(id, SIGKILL) == 0
    }

    /// How often the order was paid: by our records, and by Belvo's.
    func verdict(reference: String) async -> [UInt8] {
        var (attempts, paid, created, executed) = (0, 0, 0, 0)
        if let records, let rows = try? await records.attempts(for: reference) {
            for row in rows.elements {
                attempts += 1
                if row["state"]?.string == "succeeded" { paid += 1 }
                guard let id = row["id"]?.string,
                    let counts = await sandbox?.json("/sandbox/intent-counts?external_id=\(id)")?["results"]
                else { continue }
                for count in counts.elements {
                    created += Int(count["created"]?.int64 ?? 0)
                    executed += Int(count["succeeded"]?.int64 ?? 0)
                }
            }
        }
        return JSONWriter.object {
            $0.member("attempts", attempts)
            $0.member("paid", paid)
            $0.member("created_at_belvo", created)
            $0.member("paid_at_belvo", executed)
        }
    }
}

private func exchange<Value>(_ place: inout Value, with value: Value) -> Value {
    defer { place = value }
    return place
}

/// A value that several tasks change, one at a time.
final class Box<Value: Sendable>: Sendable {
    private let content: Mutex<Value>

    init(_ value: Value) {
        content = Mutex(value)
    }

    @discardableResult
    func change<Result: Sendable>(_ body: (inout sending Value) -> sending Result) -> Result {
        content.withLock(body)
    }
}
