-- Webhooks are kept in partitions by month. A partitioned table takes the place of the present one, under the same name
-- and with the same columns, constraints, indexes, comments, grants and views, so that a server of the version before
-- goes on; the present one is its first partition. All of it changes the catalog alone, so that the lock is held for
-- milliseconds.
--
-- The primary key is a partition's own: ids are made to be unique, and a key of the whole table would have to name the
-- time as well.
CREATE FUNCTION keep_in_partitions(whole text, key text) RETURNS void LANGUAGE plpgsql
    SET timezone = 'UTC' AS $$
DECLARE
    opening  text := whole || '_first';
    fallback text := whole || '_default';
    bound    text;
    options  text[];
    made     text[];
    owner    regrole;
    meaning  text := obj_description(whole::regclass, 'pg_class');
    numbered record;
    found    record;
BEGIN
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', whole);
    SELECT substring(pg_get_constraintdef(oid) FROM '''([^'']+)''') INTO STRICT bound
    FROM pg_constraint WHERE conrelid = whole::regclass AND conname = 'rows_are_of_the_first_partition';
    SELECT reloptions, relowner::regrole INTO STRICT options, owner FROM pg_class WHERE oid = whole::regclass;

    -- What stands on the table, as it is now: in this order it is made again. Views are bound to a table, not to a
    -- name.
    SELECT array_agg(definition ORDER BY place, definition) INTO made FROM (
        SELECT 1 AS place, format('ALTER TABLE %I ADD CONSTRAINT %I %s', whole, conname, pg_get_constraintdef(oid))
            AS definition
        FROM pg_constraint WHERE conrelid = whole::regclass AND contype = 'u'
        UNION ALL
        SELECT 1, pg_get_indexdef(indexrelid) FROM pg_index
        WHERE indrelid = whole::regclass AND NOT indisprimary
            AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
        UNION ALL
        SELECT 2, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = whole::regclass AND NOT tgisinternal
        UNION ALL
        SELECT 3, format('GRANT %s ON %I TO %s%s', privilege_type, whole,
            CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END,
            CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
        FROM pg_class, aclexplode(relacl) WHERE pg_class.oid = whole::regclass AND grantee <> relowner
        UNION ALL
        SELECT DISTINCT 4, format('CREATE OR REPLACE VIEW %s AS %s', ev_class::regclass, pg_get_viewdef(ev_class))
        FROM pg_depend JOIN pg_rewrite ON pg_rewrite.oid = objid
        WHERE refclassid = 'pg_class'::regclass AND refobjid = whole::regclass
            AND classid = 'pg_rewrite'::regclass
    ) AS present;
    SELECT attname, pg_get_serial_sequence(whole, attname) AS sequence, NULL::bigint AS latest INTO numbered
    FROM pg_attribute WHERE attrelid = whole::regclass AND attidentity <> '';

    -- The names go to the whole.
    FOR found IN SELECT indexrelid::regclass AS name, relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE indrelid = whole::regclass
    LOOP
        EXECUTE format('ALTER INDEX %s RENAME TO %I', found.name, found.relname || '_first');
    END LOOP;
    FOR found IN SELECT tgname FROM pg_trigger WHERE tgrelid = whole::regclass AND NOT tgisinternal LOOP
        EXECUTE format('DROP TRIGGER %I ON %I', found.tgname, whole);
    END LOOP;
    EXECUTE format('ALTER TABLE %I RENAME TO %I', whole, opening);
    EXECUTE format(
        'CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS INCLUDING STORAGE '
        'INCLUDING COMPRESSION) PARTITION BY RANGE (%I)', whole, opening, key);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT rows_are_of_the_first_partition', whole);
    EXECUTE format('COMMENT ON TABLE %I IS %L', whole, meaning);
    -- Partitions have no numbers of their own. The sequence goes on under its name where it stood.
    IF numbered.attname IS NOT NULL THEN
        EXECUTE format('SELECT nextval(%L)', numbered.sequence) INTO numbered.latest;
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I DROP IDENTITY', opening, numbered.attname);
        EXECUTE format('CREATE SEQUENCE %s START %s OWNED BY %I.%I', numbered.sequence, numbered.latest, whole,
            numbered.attname);
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT nextval(%L)', whole, numbered.attname,
            numbered.sequence);
    END IF;
    FOR place IN 1..coalesce(cardinality(made), 0) LOOP
        EXECUTE made[place];
    END LOOP;

    -- Each later partition is made like this one: its primary key and its options, too.
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', fallback, whole);
    IF EXISTS (SELECT FROM pg_index WHERE indrelid = opening::regclass AND indisprimary) THEN
        EXECUTE format('ALTER TABLE %I ADD PRIMARY KEY (id)', fallback);
    END IF;
    IF options IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %I SET (%s)', fallback, array_to_string(options, ', '));
    END IF;
    EXECUTE format('COMMENT ON TABLE %I IS %L', opening, format('The rows of %s from before %s.', whole, bound));
    EXECUTE format('COMMENT ON TABLE %I IS %L', fallback,
        format('The rows of %s for whose time there is no partition. Normally empty.', whole));
    EXECUTE format('ALTER TABLE %I OWNER TO %s', whole, owner);
    EXECUTE format('ALTER TABLE %I OWNER TO %s', fallback, owner);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', whole, opening, bound);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', whole, fallback);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT rows_are_of_the_first_partition', opening);
END
$$;

ALTER TABLE webhook_receipts DROP CONSTRAINT one_receipt_per_webhook;
ALTER TABLE webhook_receipts
    ADD CONSTRAINT one_receipt_per_webhook UNIQUE USING INDEX webhook_receipts_by_digest;

SELECT keep_in_partitions('webhook_receipts', 'stored_on');

COMMENT ON TABLE webhook_receipts IS
    'What Belvo told by webhook, stored before it was answered. Partitioned by the month in which it came.';
