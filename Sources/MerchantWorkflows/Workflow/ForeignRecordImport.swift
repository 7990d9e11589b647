import MerchantModel
import MerchantStore
import Payments

/// The outcome of an attempt to import an object at Belvo that has no row here.
enum ForeignRecordImport: Sendable, Equatable {
    /// There is a row for it now.
    case imported
    /// Its customer is none of ours, or is not named.
    case notOurs
    /// Nothing was written: another writer was faster, or its customer is being erased.
    case overtaken
}

/// Why what Belvo shows of an object was not recorded now, and may be later.
enum SyncDeferred: Error, Sendable, Equatable {
    /// Something of this user's is being made here whose outcome is not known.
    case mayBeOwn
    /// Belvo does not show this member, or not so that a record could be made of it.
    case incomplete(String)
    /// Two readings, one after the other, show it differently.
    case readingsDiffer
    /// It takes a last status back, and its reading may lag.
    case takesLastStatusBack
}

extension Owner {
    /// How long ago Belvo says that something was made; an hour where that cannot be read.
    func age(of createdAt: String?) -> Duration {
        guard let made = createdAt.flatMap({ try? Timestamp($0) }) else { return WebhookKind.lagMax }
        return clock.now - made
    }

    /// When Belvo says that something was made, as far as that can be read, and not after now.
    func moment(_ text: String?) -> Timestamp {
        let now = clock.now
        // A moment that cannot be read decides nothing; the record is then as old as our knowledge of it.
        return min(text.flatMap { try? Timestamp($0) } ?? now, now)
    }
}
