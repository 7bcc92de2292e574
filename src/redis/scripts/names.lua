-- What the store gives. A function library may not look at it while it loads, so the first call
-- does.
local call, ask, pack, read, spread, sub, rep, find, number_of, words_of
local function open()
  call, ask = redis.call, redis.pcall
  pack, read, spread = struct.pack, struct.unpack, unpack
  sub, rep, find = string.sub, string.rep, string.find
  words_of, number_of = string.gmatch, tonumber
end

-- The instant of what has never been; every other lies within 2^52.
local never = -9007199254740992

-- Microseconds since 1970, by the store's own clock: no client tells the time. Each second is read
-- as a number once.
local second, begins = nil, 0
local function now_of_store()
  local time = call('TIME')
  if time[1] ~= second then
    second = time[1]
    begins = second * 1000000
  end
  return begins + time[2]
end

-- How long a state is kept, as text: numbers cost more to print than to look up. Whole milliseconds
-- that end after fresh_at, whatever part of one the store's clock is at.
local spans, spans_known = {}, 0
local function kept_for(ticks)
  local ms = (ticks - ticks % 1000) / 1000 + 1
  local text = spans[ms]
  if text then return text end
  if spans_known == 4096 then spans, spans_known = {}, 0 end
  text = string.format('%.0f', ms)
  spans[ms] = text
  spans_known = spans_known + 1
  return text
end

local function failure(text) return {err = text} end
