/// One call in the future, until it is made or cancelled. Touched on its loop's thread only.
public final class LoopTimer {
    let deadline: Monotonic
    private var handler: (() -> Void)?
    fileprivate var queue: CancelledCount?

    init(deadline: Monotonic, handler: @escaping () -> Void) {
        self.deadline = deadline
        self.handler = handler
    }

    /// Makes sure that the handler is not called any more, and lets go of it.
    public func cancel() {
        guard isLive else { return }
        handler = nil
        queue?.value += 1
    }

    fileprivate var isLive: Bool { handler != nil }

    func fire() {
        let handler = handler
        self.handler = nil
        handler?()
    }
}

/// How many timers of a queue are dead but still in it.
private final class CancelledCount {
    var value = 0
}

/// Timers by deadline: a binary heap in which a cancelled timer stays until it comes up, or until half are dead.
///
/// Most timers are deadlines that are cancelled soon after, so cancelling has to cost nothing.
struct TimerQueue {
    private var heap: [LoopTimer] = []
    private let cancelled = CancelledCount()

    /// The earliest deadline; may be that of a cancelled timer, which costs one idle wake-up.
    var nextDeadline: Monotonic? { heap.first?.deadline }

    mutating func insert(_ timer: LoopTimer) {
        timer.queue = cancelled
        if cancelled.value > 64, cancelled.value * 2 > heap.count { dropCancelled() }
        heap.append(timer)
        siftUp(heap.count - 1)
    }

    /// Takes out the first live timer whose deadline has passed.
    mutating func popDue(at now: Monotonic) -> LoopTimer? {
        while let first = heap.first, first.deadline <= now {
            removeFirst()
            if first.isLive { return first }
            cancelled.value -= 1
        }
        return nil
    }

    private mutating func dropCancelled() {
        let live = heap.filter(\.isLive).sorted { $0.deadline < $1.deadline }
        heap = live  // A sorted array is a heap.
        cancelled.value = 0
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        siftDown(0)
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[index].deadline < heap[parent].deadline else { return }
            heap.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            let left = 2 * index + 1
            guard left < heap.count else { return }
            let right = left + 1
            let child = right < heap.count && heap[right].deadline < heap[left].deadline ? right : left
            guard heap[child].deadline < heap[index].deadline else { return }
            heap.swapAt(index, child)
            index = child
        }
    }
}
