import Payments

/// The tokens that were found good lately, and whose they are: looking one up takes a hundredth of the time that
/// checking a signature with a public key does.
///
/// It is bounded without ever being searched for something to drop: what is new goes into one of two generations, and
/// when that is full it becomes the old one in place of the one before. What is used stays, because it is taken over
/// from the old generation into the new.
struct TokenCache {
    private struct Entry {
        let user: UserSubject
        let validity: Range<Timestamp>
    }

    private var young: [TokenDigest: Entry] = [:]
    private var old: [TokenDigest: Entry] = [:]
    private var keysVersion: UInt64 = 0
    private let generationMax: Int

    /// The most tokens that are remembered, a third of a kilobyte each.
    static let countMax = 10_000

    init(countMax: Int = TokenCache.countMax) {
        generationMax = max(countMax / 2, 1)
    }

    var count: Int { young.count + old.count }

    /// The user of the token, if it was found good with the present keys and has not expired.
    mutating func user(of digest: TokenDigest, keysVersion: UInt64, at now: Timestamp) -> UserSubject? {
        forgetUnlessCurrent(keysVersion)
        let entry: Entry
        if let known = young[digest] {
            entry = known
        } else if let known = old.removeValue(forKey: digest) {
            entry = known
            keep(known, under: digest)
        } else {
            return nil
        }
        return entry.validity.contains(now) ? entry.user : nil
    }

    /// Remembers a token that was found good with the keys of that version; not if they have been replaced since.
    mutating func remember(_ digest: TokenDigest, _ claims: TokenClaims, keysVersion: UInt64) {
        forgetUnlessCurrent(keysVersion)
        guard keysVersion == self.keysVersion else { return }
        keep(Entry(user: claims.user, validity: claims.validity), under: digest)
    }

    private mutating func keep(_ entry: Entry, under digest: TokenDigest) {
        if young.count >= generationMax {
            old = young
            young = [:]
        }
        young[digest] = entry
    }

    private mutating func forgetUnlessCurrent(_ version: UInt64) {
        guard version > keysVersion else { return }
        self = TokenCache(countMax: generationMax * 2)
        keysVersion = version
    }
}
