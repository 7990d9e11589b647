-- wrk's POST /rows: always the same row.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"reference":"order-731","centavos":4790,"description":"Two coffees and a cake, table 731"}'
