-- What wrk sends to the API server: wrk -s load.lua URL -- OPERATION VOLUMES RUN
--
-- One thread only: the names of created volumes are counted here. `done` prints one line of numbers that
-- tests/bench/apiserver reads: requests, microseconds, failures, and latencies at 50 and 99 of a hundred.

local operation, volumes, run
local count = 0
local path = "/api/v1/persistentvolumes"
local template

local function volume_name()
    return string.format("pv-%06d", math.random(0, volumes - 1))
end

local requests = {
    livez = function()
        return wrk.format("GET", "/livez")
    end,
    get = function()
        return wrk.format("GET", path .. "/" .. volume_name())
    end,
    list = function()
        return wrk.format("GET", path)
    end,
    patch = function()
        count = count + 1
        local body = string.format('{"metadata":{"annotations":{"bench.example.com/turn":"%s-%d"}}}', run, count)
        return wrk.format("PATCH", path .. "/" .. volume_name(),
            { ["Content-Type"] = "application/merge-patch+json" }, body)
    end,
    create = function()
        count = count + 1
        local body = template:gsub("NAME", string.format("new-%s-%d", run, count))
        return wrk.format("POST", path, { ["Content-Type"] = "application/json" }, body)
    end,
}

function init(args)
    operation, volumes, run = args[1], tonumber(args[2]), args[3]
    math.randomseed(tonumber(args[2]))
    if operation == "create" then
        local file = assert(io.open(args[4]))
        template = file:read("*a")
        file:close()
    end
    request = requests[operation]
end

function done(summary, latency, _)
    local e = summary.errors
    io.write(string.format("figures %d %d %d %d %d\n", summary.requests, summary.duration,
        e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50), latency:percentile(99)))
end
