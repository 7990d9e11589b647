-- Every deadline comes from the database's clock, and every statement asks it here: server instances may
-- disagree about the time, the database does not, and a test can put its own clock in this one place.
CREATE FUNCTION app_now() RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    AS 'SELECT now()';

COMMENT ON FUNCTION app_now() IS 'The present moment for every deadline and every row. Replaced only by simulations.';
