-- wrk's POST without a body.
wrk.method = "POST"
