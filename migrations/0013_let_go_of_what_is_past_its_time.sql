-- The law asks that personal data goes when it has served its purpose, and when the person asks for it (LGPD, articles
-- 15, 16 and 18). What tells of money stays for as long as books are kept, without what tells of the person.
ALTER TABLE customers ALTER COLUMN person_ciphertext DROP NOT NULL;
ALTER TABLE customers ALTER COLUMN tax_id_lookup DROP NOT NULL;
ALTER TABLE customers ADD COLUMN erased_at timestamptz;
ALTER TABLE customers ADD CONSTRAINT only_erased_customers_are_nameless
    CHECK ((person_ciphertext IS NULL) = (erased_at IS NOT NULL) AND (tax_id_lookup IS NULL) = (erased_at IS NOT NULL));

ALTER TABLE enrollments ALTER COLUMN device_ciphertext DROP NOT NULL;
ALTER TABLE enrollments ALTER COLUMN device_lookup DROP NOT NULL;
ALTER TABLE enrollments ADD COLUMN hollowed_at timestamptz;
ALTER TABLE payments ADD COLUMN hollowed_at timestamptz;

-- Belvo may tell of an enrollment long after its device was removed here, and shows the payer's account again then.
CREATE FUNCTION keep_enrollments_hollow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.redirect_url = NULL;
    NEW.redirect_state_lookup = NULL;
    NEW.registration_options_ciphertext = NULL;
    NEW.payer_information_ciphertext = NULL;
    RETURN NEW;
END
$$;

COMMENT ON FUNCTION keep_enrollments_hollow() IS
    'An enrollment without its device keeps nothing that tells of a person.';

CREATE TRIGGER enrollments_without_a_device_stay_hollow
    BEFORE UPDATE ON enrollments
    FOR EACH ROW WHEN (NEW.device_ciphertext IS NULL) EXECUTE FUNCTION keep_enrollments_hollow();

CREATE INDEX enrollments_to_hollow_out ON enrollments (updated_at)
    WHERE hollowed_at IS NULL AND state IN ('succeeded', 'failed');
CREATE INDEX payments_to_hollow_out ON payments (updated_at)
    WHERE hollowed_at IS NULL AND state IN ('succeeded', 'failed');

COMMENT ON COLUMN customers.erased_at IS 'When the person''s data was erased; the subject is a pseudonym from then on.';
COMMENT ON COLUMN enrollments.hollowed_at IS
    'When what had served its purpose was removed: redirect address, registration options, device, payer account.';
COMMENT ON COLUMN payments.hollowed_at IS 'When what had served its purpose was removed: the FIDO options.';
