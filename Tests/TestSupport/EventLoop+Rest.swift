import Transport

extension EventLoop {
    /// Returns when every task of this loop has gone as far as it can without an event from elsewhere.
    ///
    /// A test then sees all that follows from what it did, and need not wait for what does not come.
    public func comeToRest() async {
        await Task(executorPreference: self) {
            await withCheckedContinuation { continuation in
                self.onIdle = {
                    self.onIdle = nil
                    continuation.resume()
                }
            }
        }.value
    }
}
