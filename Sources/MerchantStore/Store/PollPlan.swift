import MerchantModel
import Payments
import Transport

/// When a record is polled next, and until when its state may last.
package struct PollPlan: Sendable {
    /// From now until the next poll; nil when there is nothing left to poll.
    package let nextPoll: Duration?
    /// From now until the deadline, where the state is new.
    let deadline: Duration?
    /// The deadline that stays, where it is not.
    let keptDeadline: Timestamp?
    /// Whether the writer is about to send something, and claims the row until the next poll.
    var isClaimed = false
    /// Whether a next poll that is ahead stays as it is.
    var keepsNextPoll = false

    /// Until when the state may last, as it is written at this moment.
    package func deadline(at moment: Timestamp) -> Timestamp? { keptDeadline ?? deadline.map { moment + $0 } }

    /// A state that was just entered.
    package static func entered(_ schedule: Schedule?) -> PollPlan {
        PollPlan(nextPoll: schedule?.firstPoll, deadline: schedule?.deadline, keptDeadline: nil)
    }

    /// A state that lasts.
    package static func goesOn(nextPoll: Duration, deadline: Timestamp?) -> PollPlan {
        PollPlan(nextPoll: nextPoll, deadline: nil, keptDeadline: deadline)
    }

    /// The same, but for a next poll that is ahead: what is due when stands in an index, and need not be written again.
    package var keepingNextPoll: PollPlan {
        var plan = self
        plan.keepsNextPoll = true
        return plan
    }

    /// The same, for a writer that is about to send something.
    package var claimed: PollPlan {
        var plan = self
        plan.isClaimed = true
        return plan
    }

    var leaseMicroseconds: Int64? { isClaimed ? nextPollMicroseconds : nil }
    var nextPollMicroseconds: Int64? { nextPoll.map(\.wholeMicroseconds) }
    var deadlineMicroseconds: Int64? { deadline.map(\.wholeMicroseconds) }
}

extension Duration {
    package var wholeMicroseconds: Int64 { wholeNanoseconds / 1_000 }
}
