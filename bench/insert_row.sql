-- pgbench's side of POST /rows. The values are parameters, as the servers' are.
\set centavos random(1, 100000)
INSERT INTO bench_added (reference, centavos, description)
VALUES (:reference, :centavos, :description) RETURNING id;
