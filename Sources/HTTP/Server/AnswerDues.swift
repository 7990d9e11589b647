/// The data kept with a connection's answers until they have left: whose they are, what is kept for their requests,
/// and the number under which their unsent bytes are counted.
///
/// It belongs to one connection, and so to one thread.
struct AnswerDues {
    /// The owner of the answers.
    var owner: UInt64
    /// The data kept for the request that is being answered.
    private var permit: AnyObject?
    /// The data kept for answers that have yet to leave.
    private var leaving: [AnyObject] = []
    /// 0 while no byte waits.
    private(set) var debt: UInt64 = 0

    /// Until another owner is named the answers are those of the owner with this number.
    init(owner: UInt64) {
        self.owner = owner
    }

    /// Keeps something for the present request.
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

    /// So many bytes wait to be taken; `hangUp` is asked when others need their room.
    mutating func count(_ bytes: Int, in budget: UnsentBudget, hangUp: @escaping @Sendable (_ number: UInt64) -> Void) {
        if debt == 0 {
            debt = budget.begin(bytes, of: owner, hangUp: hangUp)
        } else {
            budget.change(debt, to: bytes)
        }
    }

    /// No byte waits any more.
    mutating func answersAreGone(from budget: UnsentBudget) {
        if !leaving.isEmpty { leaving = [] }
        guard debt != 0 else { return }
        budget.end(debt)
        debt = 0
    }
}
