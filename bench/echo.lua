-- wrk's POST /echo: the document in ECHO_DOCUMENT, always the same, made into a request once.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local file = assert(io.open(os.getenv("ECHO_DOCUMENT")))
wrk.body = file:read("a*")
file:close()
