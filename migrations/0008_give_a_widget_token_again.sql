-- A user's token for Belvo's SDK is given again until shortly before it ends, by whichever instance is asked, so that
-- an app that asks often does not have Belvo mint a token each time. One request at a time has the user's turn to ask
-- Belvo; the row is there before the token is, because it carries the turn.
CREATE TABLE widget_tokens (
    id                 uuid        PRIMARY KEY,
    subject            text        NOT NULL,
    access_ciphertext  bytea,
    refresh_ciphertext bytea,
    expires_at         timestamptz,
    reuse_until        timestamptz,
    obtained_at        timestamptz,
    version            bigint      NOT NULL DEFAULT 1,
    leased_until       timestamptz,
    CONSTRAINT one_widget_token_per_user UNIQUE (subject),
    CONSTRAINT user_id_has_1_to_128_characters CHECK (char_length(subject) BETWEEN 1 AND 128),
    CONSTRAINT kept_tokens_say_how_long_they_are_given_again CHECK (
        (access_ciphertext IS NULL) = (reuse_until IS NULL) AND (access_ciphertext IS NULL) = (obtained_at IS NULL)),
    CONSTRAINT refresh_tokens_come_with_a_token
        CHECK (access_ciphertext IS NOT NULL OR (refresh_ciphertext IS NULL AND expires_at IS NULL)),
    CONSTRAINT tokens_are_not_given_after_their_end CHECK (reuse_until <= expires_at)
);

COMMENT ON TABLE  widget_tokens IS
    'The latest token for Belvo''s SDK of each user. A row may be deleted at any time: the next request mints anew.';
COMMENT ON COLUMN widget_tokens.id IS 'Ours; the ciphertexts are bound to it.';
COMMENT ON COLUMN widget_tokens.subject IS 'Whose token it is: sub of the user''s token.';
COMMENT ON COLUMN widget_tokens.access_ciphertext IS
    'The token that the app gets, encrypted; null until Belvo gave one.';
COMMENT ON COLUMN widget_tokens.refresh_ciphertext IS
    'The token that renews it, encrypted. It is sent to Belvo only; null when Belvo gave none.';
COMMENT ON COLUMN widget_tokens.expires_at IS 'When the access token ends, by its own word; null when it says nothing.';
COMMENT ON COLUMN widget_tokens.reuse_until IS 'Until when it is given again.';
COMMENT ON COLUMN widget_tokens.obtained_at IS 'When Belvo gave it.';
COMMENT ON COLUMN widget_tokens.version IS
    'Grows with every turn and every token: who writes names the version that was read, and a late write finds '
    'another.';
COMMENT ON COLUMN widget_tokens.leased_until IS 'Until when one request has the turn to ask Belvo.';
