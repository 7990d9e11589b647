-- A payment to another account than the shop's is no twin, whatever name its user gave it: where its amount was equal
-- the alarm `double_paid` was raised, though the shop had received one of the two.
CREATE OR REPLACE FUNCTION is_twin(one payments, other payments) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT (one.bears_name_of = other.id OR other.bears_name_of = one.id OR one.bears_name_of = other.bears_name_of)
        AND one.amount_centavos = other.amount_centavos AND one.id <> other.id
        AND coalesce(one.beneficiary_bank_account = other.beneficiary_bank_account, true)
$$;

COMMENT ON FUNCTION is_twin(payments, payments) IS
    'Whether Belvo has several intents for one payment, and these are two of them, to one account as far as Belvo has '
    'shown it; with a reference they have that in common.';

CREATE OR REPLACE TRIGGER imported_payments_are_checked_when_named
    AFTER UPDATE OF reference, bears_name_of, amount_centavos, beneficiary_bank_account ON payments FOR EACH ROW
    WHEN (
        NEW.origin <> 'own'
        AND (NEW.reference, NEW.bears_name_of, NEW.amount_centavos, NEW.beneficiary_bank_account)
            IS DISTINCT FROM (OLD.reference, OLD.bears_name_of, OLD.amount_centavos, OLD.beneficiary_bank_account)
        AND has_received_money(NEW.*))
    EXECUTE FUNCTION raise_money_alarms();
