/// The data kept with a connection's answers until they have left: whose they are, what is kept for their requests,
/// and the number under which their unsent bytes are counted.
///
/// It belongs to one connection, and so to one thread.
struct AnswerDues {
    /// The owner of the answers.
    var owner: UInt64
    /// The permit of the request that is being answered.
    private var permit: AnyObject?
    /// The permits of requests whose answers have yet to leave.
    private var leaving: [AnyObject] = []
    /// The number under which the budget counts the unsent bytes; 0 while no byte waits.
    private(set) var unsentNumber: UInt64 = 0

    /// Until another owner is named the answers are those of the owner with this number.
    init(owner: UInt64) {
        self.owner = owner
    }

    /// Keeps a permit for the present request.
    mutating func keep(_ permit: AnyObject) {
        self.permit = permit
    }

    /// The present request is answered, and the answer has yet to leave.
    mutating func answer() {
        if let permit { leaving.append(permit) }
        permit = nil
    }

    /// The present request is over, and its outcome is reported to none.
    mutating func giveUpRequest() {
        permit = nil
    }

    /// Counts so many unsent bytes; `hangUp` is called when others need their room.
    mutating func count(_ bytes: Int, in budget: ByteBudget, hangUp: @escaping @Sendable (_ number: UInt64) -> Void) {
        if unsentNumber == 0 {
            unsentNumber = budget.begin(bytes, of: owner, hangUp: hangUp)
        } else {
            budget.change(unsentNumber, to: bytes)
        }
    }

    /// Releases the permits and stops counting: no byte waits any more.
    mutating func answersAreGone(from budget: ByteBudget) {
        if !leaving.isEmpty { leaving = [] }
        guard unsentNumber != 0 else { return }
        budget.end(unsentNumber)
        unsentNumber = 0
    }
}
