-- A sliding log in a sorted set: a member for each unit granted, its score the instant. A unit
-- leaves a period after it came; what is refused is not recorded.
--
-- KEYS   the log
-- ARGV   limit, period in microseconds, cost, microseconds in one of the scores' units
-- reply  verdict (0 granted, 2 denied, 3 impossible), decided_at, ready_at (-1: never), limit,
--        remaining, reset_at; instants are microseconds since 1970 by this server's clock
local log = KEYS[1]
local limit, period, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local unit = tonumber(ARGV[4])
if #KEYS ~= 1 or #ARGV ~= 4 or not limit or not period or not cost or limit < 1 or period < 1
    or cost < 0 or limit > 100000 or period > 1125899906842624
    or limit % 1 + period % 1 + cost % 1 ~= 0
    or unit ~= 1 and unit ~= 1000 and unit ~= 1000000 then
  return {err = 'ERR weir: expected one key, its limit (at most 100000), period in ' ..
    'microseconds, cost, and the unit of the scores: 1, 1000 or 1000000 microseconds'}
end

-- The first microsecond that is not before a score. Ours are instants divided by the unit: as
-- doubles they stay apart in each of the units.
local function instant_of(score)
  local instant = math.floor(score * unit + 0.5)
  return instant / unit < score and instant + 1 or instant
end

local newest = redis.pcall('ZRANGE', log, -1, -1, 'WITHSCORES')
if newest.err then
  return {err = 'WRONGTYPE weir: key ' .. log .. ' holds something else; expected a sorted set'}
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- No clock but one that has been set back since can have said this: it would count for as long.
local horizon = (now + period + 60000000) / unit
if newest[1] and tonumber(newest[2]) > horizon then
  redis.call('ZREMRANGEBYSCORE', log, string.format('(%.17g', horizon), '+inf')
  newest = redis.call('ZRANGE', log, -1, -1, 'WITHSCORES')
end
local gone, count, latest = 0, 0, now
if newest[1] then
  gone = redis.call('ZCOUNT', log, '-inf', string.format('%.17g', (now - period) / unit))
  count = redis.call('ZCARD', log) - gone
  latest = instant_of(tonumber(newest[2]))
end

local verdict, ready_at = 0, now
local over = count + cost - limit
if cost > limit then
  verdict, ready_at = 3, -1
elseif over > 0 then
  local leaves = redis.call('ZRANGE', log, gone + over - 1, gone + over - 1, 'WITHSCORES')
  verdict, ready_at = 2, instant_of(tonumber(leaves[2])) + period
elseif cost > 0 then
  if gone > 0 then redis.call('ZREMRANGEBYRANK', log, 0, gone - 1) end
  -- The number tells apart what comes in one microsecond; after a clock was set back, a name may
  -- be there already.
  local name, number, added = string.format('%.0f-', now), count, 0
  while added < cost do
    added = added + redis.call('ZADD', log, string.format('%.17g', now / unit), name .. number)
    number = number + 1
  end
  if latest < now then latest = now end
  redis.call('PEXPIRE', log, math.floor((latest + period - now) / 1000) + 1)
  count = count + cost
end
return {verdict, now, ready_at, limit, count < limit and limit - count or 0,
  count > 0 and latest + period or now}
