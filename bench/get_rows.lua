-- wrk's GET /rows/{id}: a thousand requests for rows spread over the table, made once and sent in turn.
local requests, sent = {}, 0

init = function()
    for number = 1, 1000 do
        requests[number] = wrk.format("GET", "/rows/" .. (number * 7919 % 10000 + 1))
    end
end

request = function()
    sent = sent % 1000 + 1
    return requests[sent]
end
