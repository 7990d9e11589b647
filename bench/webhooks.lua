-- For wrk: webhooks of Belvo's (belvo-api.md §8), each about an object that none before it was about, for the token in
-- WEBHOOK_TOKEN.
local headers = { ["content-type"] = "application/json", ["authorization"] = "Bearer " .. os.getenv("WEBHOOK_TOKEN") }
local format = '{"webhook_id":"%s","webhook_type":"PAYMENT_INTENTS","webhook_code":"STATUS_UPDATE","object_id":"%s",'
    .. '"data":{"status":"SUCCEEDED"}}'
local round, count = os.time() % 0x100000000, 0

request = function()
    count = count + 1
    local id = string.format("%08x-0000-4000-8000-%012x", round, count)
    return wrk.format("POST", "/webhooks/belvo", headers, string.format(format, id, id))
end
