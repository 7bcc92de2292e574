-- The token bucket of Spring Cloud Gateway's RedisRateLimiter, in its keys and by its arithmetic:
-- tokens come once a second, on the second.
--
-- KEYS   the bucket's tokens, and the second up to which tokens have come
-- ARGV   rate (a second), capacity, cost
-- reply  verdict (0 granted, 2 denied, 3 impossible), decided_at, ready_at (-1: never), limit,
--        remaining, reset_at; instants are microseconds since 1970 by this server's clock
--
-- Called as the gateway calls its own script, it answers as that does:
-- ARGV   rate, capacity, the second (empty: this server's clock), cost
-- reply  1 granted or 0, tokens left
local rate, capacity = tonumber(ARGV[1]), tonumber(ARGV[2])
local cost = tonumber(ARGV[#ARGV])
local as_gateway = #ARGV == 4
if #KEYS ~= 2 or not as_gateway and #ARGV ~= 3 or not rate or not capacity or not cost
    or not (rate > 0 and rate <= 9007199254740991 and capacity >= 0
      and capacity <= 9007199254740991 and cost >= 0) then
  return {err = 'ERR weir: expected the keys of the tokens and of the timestamp; ' ..
    'rate, capacity and cost'}
end
local function number_in(key, otherwise)
  local text = redis.pcall('GET', key)
  if not text then return otherwise end
  local number = type(text) == 'string' and tonumber(text)
  return number and number - number == 0 and number or nil -- neither infinite nor none
end
local tokens, second = number_in(KEYS[1], capacity), number_in(KEYS[2], 0)
if not tokens or not second then
  return {err = 'WRONGTYPE weir: key ' .. KEYS[tokens and 2 or 1] ..
    ' holds something else; expected a number'}
end

local time = redis.call('TIME')
local now = as_gateway and tonumber(ARGV[3]) or tonumber(time[1])
local fill = capacity / rate
-- No clock but one that has been set back since can have said this: it would keep tokens from
-- coming for as long.
local astray = second > now + fill + 60
if astray then second = math.ceil(now + fill + 60) end
local filled = math.min(capacity, tokens + math.max(0, now - second) * rate)
local granted = filled >= cost
local left = granted and filled - cost or filled
-- The time never goes back, else the tokens of one second would come twice.
local since = math.max(second, now)
if granted and cost > 0 or astray then
  -- By then it is full; the gateway keeps it as long, but for a bucket that it would never write.
  local expiry = string.format('%.0f', math.max(1, math.min(math.floor(fill * 2), 1073741824)))
  redis.call('SETEX', KEYS[1], expiry, string.format('%.17g', left))
  redis.call('SETEX', KEYS[2], expiry, string.format('%.17g', since))
end
if as_gateway then return {granted and 1 or 0, left} end

-- The instant of the first second at which there are so many.
local function instant_with(wanted)
  local at = math.ceil(since + (wanted - left) / rate)
  if left + (at - since) * rate < wanted then at = at + 1 end
  return math.min(at * 1000000, 4503599627370496)
end
local decided_at = time[1] * 1000000 + time[2]
local ready_at = decided_at
if cost > capacity then
  ready_at = -1
elseif not granted then
  ready_at = instant_with(cost)
end
return {granted and 0 or cost > capacity and 3 or 2, decided_at, ready_at, capacity, left,
  left < capacity and instant_with(capacity) or decided_at}
