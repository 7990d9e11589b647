-- What ./dev bench-http selects from and inserts into: the same tables for every program that is compared.
CREATE TABLE bench_rows (
    id bigint PRIMARY KEY,
    reference text NOT NULL,
    centavos bigint NOT NULL,
    description text NOT NULL
);
INSERT INTO bench_rows
SELECT number, 'order-' || number, number * 7, 'Two coffees and a cake, table ' || number
FROM generate_series(1, 10000) AS number;

CREATE TABLE bench_added (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    reference text NOT NULL,
    centavos bigint NOT NULL,
    description text NOT NULL
);
VACUUM ANALYZE bench_rows;
