import FoundationEssentials
import Payments
import Postgres

// What a dump of the database must not show. It is sealed for its column and its row.
extension Store {
    func seal(_ plaintext: [UInt8]?, in column: VaultColumn, of row: UUID) -> [UInt8]? {
        plaintext.map { vault.seal($0, in: column, of: row) }
    }

    func seal(_ text: String?, in column: VaultColumn, of row: UUID) -> [UInt8]? {
        text.map { vault.seal(Array($0.utf8), in: column, of: row) }
    }

    func open(_ ciphertext: [UInt8]?, in column: VaultColumn, of row: UUID) throws -> [UInt8]? {
        try ciphertext.map { try vault.open($0, in: column, of: row) }
    }

    /// A text that servers of an earlier version write to `name` in plain, and this one to `name_ciphertext`. What
    /// stands in plain was written later: this version empties it with each write.
    func text(_ row: Row, _ name: String, in column: VaultColumn) throws -> String? {
        if let plain = try row.decode(name, as: String?.self) { return plain }
        let sealed: [UInt8]? = try row.decode("\(name)_ciphertext")
        return try open(sealed, in: column, of: row.decode("id")).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads the columns that say why a record failed; the message is in `column`.
    func failure(_ row: Row, in column: VaultColumn) throws -> Failure? {
        guard let code = try row.decode("failure_code", as: String?.self) else { return nil }
        return Failure(
            code: code, message: try text(row, "failure_message", in: column),
            authority: try row.decode("failure_authority"))
    }

    /// Encrypts up to `limit` values of a column that a server of an earlier version has left in plain, and says how
    /// many it did. A value that is changed meanwhile is left to the next pass.
    package func encryptPlaintext(of column: VaultColumn, limit: Int) async throws -> Int {
        let (place, id) = (column.place, column.place.id)
        guard let plain = place.plain else { return 0 }
        let rows = try await database.execute(
            """
            SELECT \(fragment: id) AS id, \(fragment: place.plainBytes ?? plain) AS plaintext
            FROM \(fragment: place.table) WHERE \(fragment: plain) IS NOT NULL ORDER BY \(fragment: id) LIMIT \(limit)
            """)
        var count = 0
        for row in rows {
            let (key, plaintext): (UUID, [UInt8]) = (try row.decode("id"), try row.decode("plaintext"))
            count += try await database.execute(
                """
                UPDATE \(fragment: place.table) SET \(fragment: plain) = NULL,
                    \(fragment: place.column) = \(vault.seal(plaintext, in: column, of: key))
                WHERE \(fragment: id) = \(key) AND \(fragment: place.plainBytes ?? plain) = \(plaintext)
                RETURNING 1 AS encrypted
                """
            ).count
        }
        return count
    }
}

/// Where ciphertexts stand.
struct SealedPlace {
    let table: SQL
    let column: SQL
    /// The id that each of them is bound to.
    var id: SQL = "id"
    /// Where earlier versions keep the same in plain, and that column as bytes.
    var plain: SQL?
    var plainBytes: SQL?
}

extension VaultColumn {
    var place: SealedPlace {
        switch self {
        case .customersPerson: SealedPlace(table: "customers", column: "person_ciphertext")
        case .enrollmentsDevice: SealedPlace(table: "enrollments", column: "device_ciphertext")
        case .enrollmentsRegistrationOptions:
            SealedPlace(table: "enrollments", column: "registration_options_ciphertext")
        case .enrollmentsPayerInformation: SealedPlace(table: "enrollments", column: "payer_information_ciphertext")
        case .enrollmentsName:
            SealedPlace(
                table: "enrollments", column: "name_ciphertext", plain: "name",
                plainBytes: "convert_to(name, 'UTF8')")
        case .enrollmentsRedirectURL:
            SealedPlace(
                table: "enrollments", column: "redirect_url_ciphertext", plain: "redirect_url",
                plainBytes: "convert_to(redirect_url, 'UTF8')")
        case .enrollmentsFailureMessage:
            SealedPlace(
                table: "enrollments", column: "failure_message_ciphertext", plain: "failure_message",
                plainBytes: "convert_to(failure_message, 'UTF8')")
        case .paymentsFailureMessage:
            SealedPlace(
                table: "payments", column: "failure_message_ciphertext", plain: "failure_message",
                plainBytes: "convert_to(failure_message, 'UTF8')")
        case .idempotencyKeysAnswer:
            SealedPlace(
                table: "idempotency_keys", column: "response_body_ciphertext", id: "record_id", plain: "response_body")
        case .redirectReceiptsBody: SealedPlace(table: "redirect_receipts", column: "body_ciphertext")
        case .webhookReceiptsBody: SealedPlace(table: "webhook_receipts", column: "body_ciphertext")
        case .widgetTokensAccess: SealedPlace(table: "widget_tokens", column: "access_ciphertext")
        case .widgetTokensRefresh: SealedPlace(table: "widget_tokens", column: "refresh_ciphertext")
        }
    }
}
