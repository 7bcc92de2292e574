-- Exact rates, twin of weir/algorithm/interval.hpp. One unit takes whole + rest / parts ticks, and
-- an instant is (whole, rest) too. All are integers within 2^53, where a % b and (a - a % b) / b
-- lose nothing in doubles.

local function times(c, n)
  if c.rest == 0 then return n * c.whole, 0 end
  local product = n * c.rest
  local rest = product % c.parts
  return n * c.whole + (product - rest) / c.parts, rest
end

local function add(c, whole, rest, more, more_rest)
  whole, rest = whole + more, rest + more_rest
  if rest >= c.parts then return whole + 1, rest - c.parts end
  return whole, rest
end

local function subtract(c, whole, rest, less, less_rest)
  whole, rest = whole - less, rest - less_rest
  if rest < 0 then return whole - 1, rest + c.parts end
  return whole, rest
end

local function later(whole, rest, than, than_rest)
  return whole > than or (whole == than and rest > than_rest)
end

-- The first tick that is not before the instant.
local function tick(whole, rest)
  if rest > 0 then return whole + 1 end
  return whole
end

-- Where the next unit's time begins: when the earlier ones are repaid, or now.
local function start(c, whole, rest, now)
  if rest >= c.parts then whole, rest = whole + 1, 0 end -- kept under other numbers
  if tick(whole, rest) >= now then return whole, rest end
  return now, 0
end

-- From when on start() forgets the state.
local function forgotten_at(whole, rest)
  if rest > 0 then return whole + 2 end
  return whole
end

-- How many whole units fit into the span, `most` at the most.
local function units_in(c, whole, rest, most)
  if whole < 0 then return 0 end
  local units
  if c.rest == 0 then
    units = (whole - whole % c.whole) / c.whole
    return units < most and units or most
  end
  if most > c.most then most = c.most end -- so that no product passes 2^53
  -- A guess good to one unit or so, then settled exactly.
  local guess = (whole + rest / c.parts) / (c.whole + c.rest / c.parts)
  units = guess < most and guess - guess % 1 or most
  while units > 0 do
    local time, time_rest = times(c, units)
    if not later(time, time_rest, whole, rest) then break end
    units = units - 1
  end
  while units < most do
    local time, time_rest = times(c, units + 1)
    if later(time, time_rest, whole, rest) then break end
    units = units + 1
  end
  return units
end

-- How many units it takes to cover the span.
local function units_covering(c, whole, rest, most)
  local units = units_in(c, whole, rest, most)
  local time, time_rest = times(c, units)
  if units < most and later(whole, rest, time, time_rest) then return units + 1 end
  return units
end

-- The numbers of a bucket: an interval and how many of it at once.
local function configure_interval(c, whole, rest, parts, burst)
  if parts < 1 or parts > 4503599627370496 or rest >= parts or whole + rest == 0 or burst < 1 then
    return false
  end
  c.whole, c.rest, c.parts, c.limit = whole, rest, parts, burst
  c.most = 9007199254740992
  if rest > 0 then c.most = (c.most - c.most % rest) / rest end
  if burst > c.most or whole * burst > 1125899906842624 then return false end
  c.capacity, c.capacity_rest = times(c, burst)
  return c.capacity <= 1125899906842624
end

-- Takes units off the debt, down to none.
local function repay(c, s, now, units)
  if not later(s[1], s[2], now, 0) then return 0 end
  local debt, debt_rest = subtract(c, s[1], s[2], now, 0)
  local owed = units_covering(c, debt, debt_rest, units)
  local back, back_rest = times(c, owed)
  if later(debt, debt_rest, back, back_rest) then
    s[1], s[2] = subtract(c, s[1], s[2], back, back_rest)
  else
    s[1], s[2] = now, 0
  end
  return owed
end

-- What buckets share: an instant is all that they remember.
local function instant_first() return {never, 0} end
local function instant_read(c, text, from, count)
  if count ~= 2 then return nil end
  local whole, rest = read('<dd', text, from)
  return {whole, rest}
end
local function instant_write(c, s) return pack('<dd', s[1], s[2]) end
local function instant_fresh_at(c, s) return forgotten_at(s[1], s[2]) end
local function instant_mark(c, s, marks)
  marks[#marks + 1] = s[1]
  marks[#marks + 1] = s[2]
end

-- All or nothing: the store's clock can be set back. Nothing was granted since, so the state stands
-- where this grant left it.
local function instant_cancel(c, s, now, grant, whole, rest)
  if grant.cost > c.limit or whole < grant.acts_at - 1 then return 0 end
  if rest < 0 or rest >= c.parts or s[1] ~= whole or s[2] ~= rest then return 0 end
  local back, back_rest = times(c, grant.cost)
  s[1], s[2] = subtract(c, whole, rest, back, back_rest)
  return grant.cost
end

local function charge_interval(c, s, at, cost)
  local whole, rest = start(c, s[1], s[2], at)
  local time, time_rest = times(c, cost)
  local ends, ends_rest = add(c, whole, rest, time, time_rest)
  local full, full_rest = at + c.capacity, c.capacity_rest
  if later(ends, ends_rest, full, full_rest) then
    if later(full, full_rest, whole, rest) then
      whole, rest = full, full_rest
    end
    s[1], s[2] = whole, rest
  else
    s[1], s[2] = ends, ends_rest
  end
end

local function settle_interval(c, s, now, slack)
  local most = now + c.capacity + slack
  if not later(s[1], s[2], most, c.capacity_rest) then return false end
  s[1], s[2] = most, c.capacity_rest
  return true
end
