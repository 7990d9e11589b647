-- pgbench's side of GET /rows/{id}.
\set id random(1, 10000)
SELECT reference, centavos, description FROM bench_rows WHERE id = :id;
