import FoundationEssentials
import MerchantModel
import Payments
import Postgres

/// A user's token for Belvo's SDK.
package struct WidgetTokenPair: Sendable {
    package let access: Secret
    /// Renews it. It is for Belvo's eyes only.
    let refresh: Secret?
    /// The end of the access token by its own word; nil when it says nothing.
    package let expiresAt: Timestamp?
    /// For how long it can sign from when it was made, by whatever clock Belvo has; nil when it says nothing.
    let lifetime: Duration?

    package init(access: Secret, refresh: Secret?, expiresAt: Timestamp?, lifetime: Duration? = nil) {
        self.access = access
        self.refresh = refresh
        self.expiresAt = expiresAt
        self.lifetime = lifetime
    }
}

/// How long a token is given again.
package struct WidgetTokenReuse: Sendable {
    /// How long before its end a token is not given any more, at most half of the life that it has left.
    let margin: Duration
    /// How long one is given again that does not say when it ends.
    let withoutEnd: Duration

    package init(margin: Duration, withoutEnd: Duration) {
        self.margin = margin
        self.withoutEnd = withoutEnd
    }
}

/// The claim to ask Belvo for a user's token; other requests wait for the outcome.
package struct WidgetTokenClaim: Sendable {
    fileprivate let id: UUID
    fileprivate let version: Int64
    /// The refresh token of the last token.
    package let refresh: Secret?
    /// How this server reads the database's clock.
    package let clock: DatabaseClock
}

extension Store {
    /// The user's token, if it may be given again. One that cannot be decrypted counts as none, and is reported.
    package func widgetToken(of subject: UserSubject) async throws -> WidgetTokenPair? {
        let rows = try await database.rows(
            """
            SELECT id, version, access_ciphertext, refresh_ciphertext, expires_at FROM widget_tokens
            WHERE subject = \(subject) AND reuse_until > app_now()
            """)
        guard let row = rows.first else { return nil }
        let id: UUID = try row.decode("id")
        do {
            let access = try vault.open(row.decode("access_ciphertext"), in: .widgetTokensAccess, of: id)
            return WidgetTokenPair(
                access: Secret(String(decoding: access, as: UTF8.self)), refresh: try refreshToken(in: row, of: id),
                expiresAt: try row.decode("expires_at"))
        } catch let fault as VaultFault {
            onUnreadable("widget_tokens", "\(id)", fault)
            try await forgetWidgetToken(id, version: row.decode("version"))
            return nil
        }
    }

    /// Claims the user's token for a call to Belvo, for so long. Nil when another request has the claim,
    /// or when there is a token meanwhile.
    package func claimWidgetToken(of subject: UserSubject, id: UUID, lease: Duration) async throws -> WidgetTokenClaim?
    {
        let rows = try await database.execute(
            """
            INSERT INTO widget_tokens AS known (id, subject, leased_until)
            VALUES (\(id), \(subject), app_now() + \(lease.wholeMicroseconds) * interval '1 microsecond')
            ON CONFLICT ON CONSTRAINT one_widget_token_per_user DO UPDATE SET
                version = known.version + 1, leased_until = excluded.leased_until
            WHERE (known.leased_until IS NULL OR known.leased_until <= app_now())
                AND (known.reuse_until IS NULL OR known.reuse_until <= app_now())
            RETURNING id, version, refresh_ciphertext, app_now() AS read_at
            """)
        guard let row = rows.first else { return nil }
        let id: UUID = try row.decode("id")
        var refresh: Secret?
        do {
            refresh = try refreshToken(in: row, of: id)
        } catch let fault as VaultFault {
            // Minting does without it, and what is minted takes its place.
            onUnreadable("widget_tokens", "\(id)", fault)
        }
        return WidgetTokenClaim(
            id: id, version: try row.decode("version"), refresh: refresh, clock: try clock(row))
    }

    /// Stores the token that a claim has led to, and ends the claim. False when the claim had passed to another
    /// request.
    ///
    /// The token can sign whatever of the user's is open at Belvo, also what was given up here: that is polled again.
    package func keep(_ token: WidgetTokenPair, reuse: WidgetTokenReuse, of claim: WidgetTokenClaim) async throws
        -> Bool
    {
        let access = vault.seal(Array(token.access.text.utf8), in: .widgetTokensAccess, of: claim.id)
        let refresh = token.refresh.map { vault.seal(Array($0.text.utf8), in: .widgetTokensRefresh, of: claim.id) }
        return try await !database.execute(
            """
            WITH kept AS (
            UPDATE widget_tokens SET
                access_ciphertext = \(access), refresh_ciphertext = \(refresh), expires_at = \(token.expiresAt),
                reuse_until = CASE
                    WHEN \(token.expiresAt) IS NULL
                        THEN app_now() + \(reuse.withoutEnd.wholeMicroseconds) * interval '1 microsecond'
                    ELSE \(token.expiresAt) - least(
                        \(reuse.margin.wholeMicroseconds) * interval '1 microsecond',
                        greatest(\(token.expiresAt) - app_now(), interval '0') / 2)
                    END,
                -- Belvo's clock need not be this one's: what counts is for how long it can sign from now on.
                held_until = greatest(
                    held_until,
                    app_now() + (\((token.lifetime ?? .zero).wholeMicroseconds) * interval '1 microsecond')
                        + interval '2 minutes'),
                obtained_at = app_now(), version = version + 1, leased_until = NULL
            WHERE id = \(claim.id) AND version = \(claim.version)
            RETURNING id, subject
            ), polled AS (
                -- The version tells whoever is about to give one up that there is a token now.
                UPDATE payments SET
                    version = payments.version + 1,
                    next_poll_at = CASE WHEN state = 'failed' THEN app_now() ELSE next_poll_at END,
                    deadline_at = CASE WHEN state = 'failed' THEN app_now() ELSE deadline_at END
                FROM kept
                WHERE payments.subject = kept.subject AND closed_at_belvo IS NULL AND (
                    -- One whose creation is under way, too: it may be refused, and made all the same.
                    belvo_id IS NOT NULL OR state <> 'failed'
                    -- What was refused or counted as lost may be there all the same; what is older has lapsed there.
                    OR failure_code <> 'not_sent' AND payments.created_at > app_now() - interval '7 days')
            )
            SELECT id FROM kept
            """
        ).isEmpty
    }

    /// Ends a claim that has led to no token, so that the next request need not wait for its end.
    package func release(_ claim: WidgetTokenClaim) async throws {
        try await database.execute(
            """
            UPDATE widget_tokens SET version = version + 1, leased_until = NULL
            WHERE id = \(claim.id) AND version = \(claim.version)
            """)
    }

    private func forgetWidgetToken(_ id: UUID, version: Int64) async throws {
        // Until when a token may be held is still true.
        try await database.execute(
            """
            UPDATE widget_tokens SET
                access_ciphertext = NULL, refresh_ciphertext = NULL, expires_at = NULL, reuse_until = NULL,
                obtained_at = NULL, version = version + 1
            WHERE id = \(id) AND version = \(version)
            """)
    }

    private func refreshToken(in row: Row, of id: UUID) throws -> Secret? {
        guard let ciphertext = try row.decode("refresh_ciphertext", as: [UInt8]?.self) else { return nil }
        return Secret(
            String(decoding: try vault.open(ciphertext, in: .widgetTokensRefresh, of: id), as: UTF8.self))
    }
}
