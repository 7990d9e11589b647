-- Redirects that are made up by the hundred keep others waiting for as long as all of them take, unless senders have
-- their turns one after the other. A turn is given when a redirect is stored, because any server may take it.
ALTER TABLE redirect_receipts
    ADD COLUMN sender_lookup bytea,
    ADD COLUMN turn bigint NOT NULL DEFAULT 0;

CREATE INDEX unknown_redirects_in_turn ON redirect_receipts (turn, id)
    WHERE enrollment_id IS NULL AND next_poll_at IS NOT NULL;

COMMENT ON COLUMN redirect_receipts.sender_lookup IS
    'Keyed digest of the address that brought a redirect of no enrollment known here; gone as soon as it is settled.';
COMMENT ON COLUMN redirect_receipts.turn IS
    'In which round of senders a redirect of no enrollment known here is passed on: one of each sender''s in a round.';
