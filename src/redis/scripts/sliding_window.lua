-- Twin of weir/algorithm/sliding_window.hpp. A state is {newest, cell...}: the part numbered n
-- counts in cell n % counted, which lies at index n % counted + 2.
local sliding_window = {number = 3, fields = 3}

function sliding_window.configure(c, limit, part, counted)
  c.limit, c.part, c.counted = limit, part, counted
  c.form = '<' .. rep('d', counted + 1)
  c.bytes = 8 * counted + 10
  return limit > 0 and limit <= 1125899906842624 and part > 0 and part <= 1125899906842624 and
    counted > 1 and counted <= 1025
end

function sliding_window.first(c)
  local s = {never}
  for at = 2, c.counted + 1 do s[at] = 0 end
  return s
end

local function part_of(c, at) return (at - at % c.part) / c.part end
local function newest_part(c, s)
  if s[1] == never then return never end
  return part_of(c, s[1])
end

-- A ring of another number of parts counts as if all of it lay in the newest one; nothing can be
-- given back from it.
function sliding_window.read(c, text, from, count)
  if count == c.counted + 1 then return {read(c.form, text, from)} end
  if count < 1 or count > 1026 then return nil end
  local s, sum = sliding_window.first(c), 0
  s[1] = read('<d', text, from)
  for at = 1, count - 1 do sum = sum + read('<d', text, from + 8 * at) end
  if s[1] ~= never then
    s[newest_part(c, s) % c.counted + 2] = sum < c.limit and sum or c.limit
  end
  s.foreign = true
  return s
end

function sliding_window.write(c, s)
  if s[1] == never then return pack('<d', never) end
  return pack(c.form, spread(s, 1, c.counted + 1))
end

function sliding_window.own_wait() return nil end

-- The sum over the parts that count when `part` is the current one.
local function counted_at(c, s, newest, part)
  local sum, counted = 0, c.counted
  if part <= newest then
    for at = 2, counted + 1 do sum = sum + s[at] end
    return sum
  end
  for at = newest, part - counted + 1, -1 do sum = sum + s[at % counted + 2] end
  return sum
end

function sliding_window.earliest(c, s, now, cost)
  local newest, part = newest_part(c, s), part_of(c, now)
  if newest > part then part = newest end
  local sum = counted_at(c, s, newest, part)
  local last = newest + c.counted -- by then all have left
  while sum > 0 and sum + cost > c.limit and part < last do
    part = part + 1
    local leaves = part - c.counted
    if leaves > newest - c.counted and leaves <= newest then
      sum = sum - s[leaves % c.counted + 2]
    end
  end
  local opens = part * c.part
  return opens > now and opens or now
end

function sliding_window.charge(c, s, at, cost)
  local part, newest, counted = part_of(c, at), newest_part(c, s), c.counted
  s.foreign = nil
  if part > newest then
    local passed = part - newest
    if passed > counted then passed = counted end
    for clear = part, part - passed + 1, -1 do s[clear % counted + 2] = 0 end
    s[1] = part * c.part
  elseif part <= newest - counted then
    return
  end
  local index = part % counted + 2
  local count = s[index] + cost
  s[index] = count < c.limit and count or c.limit
end

function sliding_window.room(c, s, now)
  local newest, part = newest_part(c, s), part_of(c, now)
  if newest > part then return c.limit, 0 end
  local left = c.limit - counted_at(c, s, newest, part)
  return c.limit, left > 0 and left or 0
end

function sliding_window.fresh_at(c, s)
  if s[1] == never then return never end
  local newest = newest_part(c, s)
  for part = newest, newest - c.counted + 1, -1 do
    if s[part % c.counted + 2] > 0 then return (part + c.counted) * c.part end
  end
  return s[1]
end

function sliding_window.mark(c, s, marks)
  marks[#marks + 1] = never
  marks[#marks + 1] = 0
end

function sliding_window.cancel(c, s, now, grant)
  local part, newest = part_of(c, grant.acts_at), newest_part(c, s)
  if s.foreign or part > newest or part <= newest - c.counted then return 0 end
  local index = part % c.counted + 2
  local units = grant.cost < s[index] and grant.cost or s[index]
  s[index] = s[index] - units
  return units
end

function sliding_window.refund(c, s, now, units)
  if s.foreign or s[1] == never then return 0 end
  local newest, current = newest_part(c, s), part_of(c, now)
  local last = (newest > current and newest or current) - c.counted
  local back = 0
  for part = newest, last + 1, -1 do
    if back == units then break end
    local index = part % c.counted + 2
    local taken = units - back
    if taken > s[index] then taken = s[index] end
    s[index] = s[index] - taken
    back = back + taken
  end
  return back
end

function sliding_window.settle(c, s, now, slack)
  local latest = part_of(c, now + slack)
  local newest = newest_part(c, s)
  if newest <= latest then return false end
  local sum = 0
  local last = latest > newest - c.counted and latest or newest - c.counted
  for part = newest, last + 1, -1 do
    local index = part % c.counted + 2
    sum = sum + s[index]
    s[index] = 0
  end
  local index = latest % c.counted + 2
  sum = sum + s[index]
  s[index] = sum < c.limit and sum or c.limit
  s[1] = latest * c.part
  return true
end
