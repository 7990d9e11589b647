import BelvoSandbox
import HTTP
import Transport

/// Belvo's webhooks on their way: late, lost, twice, and in any order.
///
/// `@unchecked Sendable`, because it is touched on the scheduler's loop only.
final class WebhookDelivery: @unchecked Sendable {
    private let scheduler: Scheduler
    /// Where they are delivered to.
    var fleet: Fleet?

    init(scheduler: Scheduler) {
        self.scheduler = scheduler
    }

    /// Sends what the sandbox has to tell. Returns at once.
    func collect(from sandbox: Sandbox) {
        _ = scheduler.loop.task { await sandbox.runDue() }
    }

    /// Delivers one webhook; nil when there was no answer.
    func deliver(_ request: Request) async -> Status? {
        await scheduler.pause(.fate("mail"), "carries a webhook", weight: 4)
        if scheduler.fault(among: [.webhookLost]) != nil { return nil }
        if scheduler.fault(among: [.webhookDoubled]) != nil {
            _ = scheduler.loop.task { [self] in await fleet?.send(request, of: "belvo", by: .fate("mail")) }
        }
        return await fleet?.send(request, of: "belvo", by: .fate("mail"))?.status
    }
}
