-- The servers make each partition before it is needed, and drop those of webhooks and events that are past their time.
-- For a moment both keep all waiting who use the table, so they wait for their own locks for half a second. What does
-- not get them is tried again in the next pass: rows go to the default partition meanwhile, and nothing is lost.
CREATE FUNCTION partitions_of(whole text) RETURNS TABLE (name text, begins_at timestamptz, ends_at timestamptz)
    LANGUAGE sql STABLE SET timezone = 'UTC' AS $$
    SELECT relname::text, coalesce(substring(bounds FROM 'FROM \(''([^'']+)''\)'), '-infinity')::timestamptz,
        substring(bounds FROM 'TO \(''([^'']+)''\)')::timestamptz
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid, pg_get_expr(relpartbound, pg_class.oid) AS bounds
    WHERE inhparent = whole::regclass AND bounds <> 'DEFAULT'
$$;

COMMENT ON FUNCTION partitions_of(text) IS 'The partitions of a table, and the time that each is for; without its end.';

CREATE FUNCTION make_partitions(whole text) RETURNS SETOF text LANGUAGE plpgsql
    SET lock_timeout = '500ms' SET timezone = 'UTC' AS $$
DECLARE
    unit     text := CASE whole WHEN 'state_history' THEN 'year' ELSE 'month' END;
    fallback text := whole || '_default';
    key      text := substring(pg_get_partkeydef(whole::regclass) FROM '\((.*)\)');
    part     text;
    low      timestamptz;
    high     timestamptz;
    options  text[];
BEGIN
    FOR low IN SELECT date_trunc(unit, app_now()) + ahead * ('1 ' || unit)::interval FROM generate_series(0, 1) AS ahead
    LOOP
        CONTINUE WHEN EXISTS (SELECT FROM partitions_of(whole) WHERE begins_at <= low AND low < ends_at);
        high := low + ('1 ' || unit)::interval;
        part := whole || to_char(low, CASE unit WHEN 'year' THEN '_YYYY' ELSE '_YYYY_MM' END);
        BEGIN
            EXECUTE format('LOCK TABLE ONLY %I IN SHARE UPDATE EXCLUSIVE MODE', whole);
            -- Another server may have made it meanwhile.
            CONTINUE WHEN to_regclass(part) IS NOT NULL;
            EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', fallback);
            -- All of them are read for the new partition. Where there are many, retention has to take some first.
            CONTINUE WHEN pg_relation_size(fallback) > 16777216;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part, fallback);
            SELECT reloptions INTO options FROM pg_class WHERE oid = fallback::regclass;
            IF options IS NOT NULL THEN
                EXECUTE format('ALTER TABLE %I SET (%s)', part, array_to_string(options, ', '));
            END IF;
            EXECUTE format('COMMENT ON TABLE %I IS %L', part,
                format('The rows of %s from %s until before %s.', whole, low::date, high::date));
            -- Rows that came before there was a partition for them; a line of the history may not be deleted otherwise.
            PERFORM set_config('merchant.retention', 'on', true);
            EXECUTE format(
                'WITH moved AS (DELETE FROM %1$I WHERE %2$I >= %3$L AND %2$I < %4$L RETURNING *) '
                'INSERT INTO %5$I SELECT * FROM moved', fallback, key, low, high, part);
            PERFORM set_config('merchant.retention', 'off', true);
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', whole, part, low, high);
            RETURN NEXT part;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected THEN NULL;
        END;
    END LOOP;
END
$$;

COMMENT ON FUNCTION make_partitions(text) IS
    'Makes the partitions of a table for the present and the next month (of state_history: year), where they are not '
    'there yet, and says which it made.';

CREATE FUNCTION drop_partitions(whole text, period interval) RETURNS SETOF text LANGUAGE plpgsql
    SET lock_timeout = '500ms' AS $$
DECLARE
    -- Empty once there is nothing left to do about a row. What happened is not dropped by itself.
    moment  text := CASE whole WHEN 'webhook_receipts' THEN 'next_poll_at' WHEN 'events' THEN 'next_attempt_at' END;
    part    text;
    is_open boolean;
BEGIN
    IF moment IS NULL THEN
        RAISE EXCEPTION 'no partition of % is dropped here', whole USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR part IN SELECT name FROM partitions_of(whole) WHERE ends_at <= app_now() - period ORDER BY ends_at LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE %I IS NOT NULL)', part, moment) INTO is_open;
        CONTINUE WHEN is_open;
        BEGIN
            -- In the order in which statements take them. An operator may have requeued a row meanwhile.
            EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', whole);
            EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', part);
            EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE %I IS NOT NULL)', part, moment) INTO is_open;
            CONTINUE WHEN is_open;
            EXECUTE format('DROP TABLE %I', part);
            RETURN NEXT part;
        EXCEPTION
            WHEN lock_not_available OR deadlock_detected OR undefined_table THEN NULL;
        END;
    END LOOP;
END
$$;

COMMENT ON FUNCTION drop_partitions(text, interval) IS
    'Drops the partitions of webhooks or events whose end is past by so much and in which nothing is left to do, and '
    'says which it dropped.';
