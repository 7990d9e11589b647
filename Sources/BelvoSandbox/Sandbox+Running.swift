import HTTP
import JSON

extension Sandbox {
    /// Does what is due, and sends webhooks, until the task is cancelled.
    ///
    /// Each webhook has its own child task, so that a slow receiver delays no other.
    public func run() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let (due, next) = withState { state in
                    state.catchUp()
                    return (state.takeDueWebhooks(), state.nextDue.map { $0 - state.now })
                }
                for webhook in due { group.addTask { await self.send(webhook) } }
                if due.isEmpty { await wait(next) }
            }
            group.cancelAll()
        }
    }

    /// Does what is due now and returns when the webhooks of it have arrived or failed.
    public func runDue() async {
        while true {
            let due = withState { state in
                state.catchUp()
                return state.takeDueWebhooks()
            }
            guard !due.isEmpty else { return }
            await withDiscardingTaskGroup { group in
                for webhook in due { group.addTask { await self.send(webhook) } }
            }
        }
    }

    private func send(_ webhook: Webhook) async {
        let request = withState { $0.request(webhook) }
        let status = await configuration.webhookSubscriptions[webhook.subscription].send(request)
        withState { $0.finish(webhook, status) }
        wakeUp.signal()
    }

    /// Waits for a signal, at most that long.
    private func wait(_ span: Duration?) async {
        await withDiscardingTaskGroup { group in
            if let span {
                group.addTask {
                    // Cancelled means that another task woke this one: signalling then would wake it twice.
                    guard (try? await self.configuration.sleep(span)) != nil else { return }
                    self.wakeUp.signal()
                }
            }
            await wakeUp.wait()
            group.cancelAll()
        }
    }
}
