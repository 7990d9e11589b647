-- What a trigger refuses for each row, an emptied table would escape: TRUNCATE fires no trigger of rows.
CREATE FUNCTION refuse_to_empty() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is not emptied: its rows hold what may be paid, or say what was', TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TRIGGER payments_are_not_emptied
    BEFORE TRUNCATE ON payments FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_empty();
CREATE TRIGGER orders_are_not_emptied
    BEFORE TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_empty();
CREATE TRIGGER widget_tokens_are_not_emptied
    BEFORE TRUNCATE ON widget_tokens FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_empty();
CREATE TRIGGER money_alarms_are_not_emptied
    BEFORE TRUNCATE ON money_alarms FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_empty();
CREATE TRIGGER history_is_not_emptied
    BEFORE TRUNCATE ON state_history FOR EACH STATEMENT EXECUTE FUNCTION refuse_to_empty();
