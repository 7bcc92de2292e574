-- A fixed window by INCR: it begins at the first hit and ends when the key expires. The key holds
-- the units taken, a whole number, as INCR and EXPIRE leave it.
--
-- KEYS   the counter
-- ARGV   limit, period in microseconds, cost
-- reply  verdict (0 granted, 2 denied, 3 impossible), decided_at, ready_at (-1: never), limit,
--        remaining, reset_at; instants are microseconds since 1970 by this server's clock
local counter = KEYS[1]
local limit, period, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if #KEYS ~= 1 or #ARGV ~= 3 or not limit or not period or not cost or limit < 1 or period < 1
    or cost < 0 or limit > 9007199254740991 or period > 1125899906842624
    or limit % 1 + period % 1 + cost % 1 ~= 0 then
  return {err = 'ERR weir: expected one key, its limit, period in microseconds and cost'}
end
local text = redis.pcall('GET', counter)
if text and (type(text) == 'table' or not string.find(text, '^%-?%d+$')) then
  return {err = 'WRONGTYPE weir: key ' .. counter .. ' holds something else; expected a counter'}
end

local used = text and tonumber(text) or 0
if used < 0 then used = 0 end -- units given back after the window had ended
local window = math.ceil(period / 1000)
local left = text and redis.call('PTTL', counter) or -2
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- No hit of this window's made such an end: the EXPIRE behind an INCR was lost, or the clock has
-- been set back. Left alone it would lock out for as long, or for ever.
local astray = left == -1 or left > window + 60000
if astray or left == -2 then left = window end

local verdict, ready_at = 0, now
-- A key lives through the millisecond at which it expires.
local ends_at = (math.floor(now / 1000) + left + 1) * 1000
if cost > limit then
  verdict, ready_at = 3, -1
elseif used + cost > limit then
  verdict, ready_at = 2, ends_at
end
if verdict == 0 and cost > 0 then
  used = used + cost
  if not text or astray or string.sub(text, 1, 1) == '-' then
    redis.call('SET', counter, string.format('%.0f', used), 'PX', left > 0 and left or 1)
  else
    redis.call('INCRBY', counter, cost)
  end
elseif astray then
  redis.call('PEXPIRE', counter, left)
end
return {verdict, now, ready_at, limit, used < limit and limit - used or 0,
  used > 0 and ends_at or now}
