-- Asks weir about one request. Sets txn.weir_verdict to one of
--   allowed, refused   what weir said
--   away               no answer within 200 ms, or a 5xx
--   mistaken           weir does not understand the question (400, 404, 431): the log says why
-- and txn.weir_standing, _policy, _retry and _body to what the client is to read.

local weir = os.getenv("WEIR")  -- its address: setenv in haproxy.cfg

-- 403 as no other answer is; a 503 might be HAProxy's own, for a weir that is away.
local verdicts = {[200] = "allowed", [403] = "refused"}

local function field(response, name)
  local values = response.headers and response.headers[name]
  return values and values[0]
end

core.register_action("weir", {"http-req"}, function(txn)
  -- What HAProxy saw; nothing that the client says of itself passes. A field that a rule reads is
  -- added here: ["x-user"] = {txn.f:req_hdr("x-user")}
  local response = core.httpclient():get({
    url = "http://" .. weir .. "/v1/forward?deny=403",
    timeout = 200,
    headers = {
      ["x-forwarded-for"] = {txn.f:src()},
      ["x-forwarded-method"] = {txn.f:method()},
      ["x-forwarded-host"] = {txn.f:req_hdr("host")},
      ["x-forwarded-uri"] = {txn.c:url_dec(txn.f:path())},
    },
  })
  local status = response and response.status or 0
  local away = status == 0 or status >= 500
  local verdict = verdicts[status] or (away and "away" or "mistaken")
  txn:set_var("txn.weir_verdict", verdict)
  if verdict == "mistaken" then
    core.Warning("weir answered " .. status .. ": " .. (response.body or ""))
  end
  if verdict ~= "allowed" and verdict ~= "refused" then return end
  for variable, name in pairs({standing = "ratelimit", policy = "ratelimit-policy",
                               retry = "retry-after"}) do
    local value = field(response, name)
    if value then txn:set_var("txn.weir_" .. variable, value) end
  end
  if verdict == "refused" then txn:set_var("txn.weir_body", response.body) end
end, 0)
