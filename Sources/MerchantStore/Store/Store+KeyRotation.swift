import FoundationEssentials
import Postgres

/// The result of encrypting one column's ciphertexts anew.
package struct RotatedColumn: Sendable, Equatable {
    /// The column as `table.column`.
    package let name: String
    /// Ciphertexts that are under the first key now and were not before.
    package let encrypted: Int
    /// Ciphertexts that are still under another key: they do not open, or a server that does not know the new key
    /// wrote them meanwhile. While there are some the old key has to stay.
    package let left: Int
}

extension Store {
    /// Encrypts every ciphertext of a column anew that is not under the first of `ENCRYPTION_KEYS`, in batches, while
    /// the servers keep running.
    ///
    /// It can be ended at any moment and begun again: what was done stays done. A row that is changed meanwhile
    /// is left to that change, which encrypts under the first key itself. One that does not open is reported and left.
    /// What an earlier version left in plain is encrypted first.
    package func rotateKeys(of column: VaultColumn, batch: Int) async throws -> RotatedColumn {
        var count = 0
        while case let done = try await encryptPlaintext(of: column, limit: batch), done > 0 { count += done }
        var last = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        while true {
            let rows = try await database.execute(stale(column, after: last, limit: batch))
            for row in rows {
                try Task.checkCancellation()
                let id: UUID = try row.decode("id")
                last = id
                let old: [UInt8] = try row.decode("ciphertext")
                let plaintext: [UInt8]
                do {
                    plaintext = try vault.open(old, in: column, of: id)
                } catch {
                    onUnreadable(column.rawValue, "\(id)", error)
                    continue
                }
                let new = vault.seal(plaintext, in: column, of: id)
                if try await !database.execute(replacing(old, with: new, in: column, of: id)).isEmpty { count += 1 }
            }
            if rows.count < batch { break }
        }
        let left: Int64 = try await database.execute(countOfStale(column))[0].decode("left")
        return RotatedColumn(name: column.rawValue, encrypted: count, left: Int(left))
    }

    /// How many are not under the first key.
    private func countOfStale(_ column: VaultColumn) -> SQL {
        let prefix = vault.currentPrefix
        let place = column.place
        return """
            SELECT count(*) AS left FROM \(fragment: place.table)
            WHERE \(fragment: place.column) IS NOT NULL
                AND substring(\(fragment: place.column) FROM 1 FOR \(Int32(prefix.count))) <> \(prefix)
            """
    }

    /// Rows behind `id` whose ciphertext is not under the first key.
    private func stale(_ column: VaultColumn, after id: UUID, limit: Int) -> SQL {
        let prefix = vault.currentPrefix
        let place = column.place
        return """
            SELECT \(fragment: place.id) AS id, \(fragment: place.column) AS ciphertext FROM \(fragment: place.table)
            WHERE \(fragment: place.id) > \(id) AND \(fragment: place.column) IS NOT NULL
                AND substring(\(fragment: place.column) FROM 1 FOR \(Int32(prefix.count))) <> \(prefix)
            ORDER BY \(fragment: place.id) LIMIT \(limit)
            """
    }

    private func replacing(_ old: [UInt8], with new: [UInt8], in column: VaultColumn, of id: UUID) -> SQL {
        let place = column.place
        return """
            UPDATE \(fragment: place.table) SET \(fragment: place.column) = \(new)
            WHERE \(fragment: place.id) = \(id) AND \(fragment: place.column) = \(old) RETURNING 1 AS replaced
            """
    }
}
