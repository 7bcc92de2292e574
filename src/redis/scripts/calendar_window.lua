-- Twin of weir/algorithm/calendar_window.hpp, calendar.hpp and time_zone.hpp. Within the calendar
-- all is in whole seconds since 1970, as UTC has them or as the zone's clock shows them.
local calendar_window = {number = 7, fields = 2, has_word = true}

local minute, hour, day = 60, 3600, 86400
local far_away, farthest_offset, last_year = 9007199254740992, 93600, 2150

local function over(a, b) return (a - a % b) / b end

-- The number of a month's first day, from 1970 on; and the month that a day lies in. A year begins
-- in March here, so that its leap day comes last.
local function first_day(year, month)
  if month < 3 then year, month = year - 1, month + 9 else month = month - 3 end
  local of_era = year % 400
  return (year - of_era) / 400 * 146097 + of_era * 365 + over(of_era, 4) - over(of_era, 100) +
    over(153 * month + 2, 5) - 719468
end

local function month_of(number)
  number = number + 719468
  local of_era = number % 146097
  local year = over(of_era - over(of_era, 1460) + over(of_era, 36524) - over(of_era, 146096), 365)
  local of_year = of_era - 365 * year - over(year, 4) + over(year, 100)
  local month = over(5 * of_year + 2, 153)
  year = year + (number - of_era) / 146097 * 400
  if month < 10 then return year, month + 3 end
  return year + 1, month - 9
end

-- When the clocks are set in that year by the first or second yearly change.
local function change_in(c, year, which)
  local change, before = c.yearly[which], c.yearly[3 - which].offset
  local first = first_day(year, change.month)
  local date = first + (change.weekday - first - 4) % 7 + 7 * change.week - 7
  if change.week == 5 then
    local next_month = change.month < 12 and first_day(year, change.month + 1)
      or first_day(year + 1, 1)
    if date >= next_month then date = date - 7 end
  end
  return date * day + change.time - before
end

-- Of the yearly changes: from when to when the clock is set to what; nothing where they have not
-- begun.
local function yearly_stretch(c, at)
  local year = month_of(over(at, day))
  if year > last_year then year = last_year end
  if year < c.first_year then return nil end
  local first, second = change_in(c, year, 1), change_in(c, year, 2)
  if at < first then
    if year == c.first_year then return nil end
    return change_in(c, year - 1, 2), first, c.yearly[2].offset
  elseif at < second then
    return first, second, c.yearly[1].offset
  elseif year == last_year then
    return second, far_away, c.yearly[2].offset
  end
  return second, change_in(c, year + 1, 1), c.yearly[2].offset
end

-- The same of all changes.
local function stretch_of(c, at)
  if at >= c.from and at < c.to then return c.from, c.to, c.offset end
  local from, to, offset
  if c.yearly then from, to, offset = yearly_stretch(c, at) end
  if not from then
    local low, high = 0, #c.changes -- low of them have come, high of them at the most
    while low < high do
      local middle = over(low + high + 1, 2)
      if c.changes[middle] <= at then low = middle else high = middle - 1 end
    end
    from, offset = c.changes[low] or -far_away, c.offsets[low]
    to = c.changes[low + 1] or (c.yearly and change_in(c, c.first_year, 1)) or far_away
  end
  c.from, c.to, c.offset = from, to, offset
  return from, to, offset
end

-- The first second at which the clock shows this time or a later one.
local function first_showing(c, time)
  local at = time - farthest_offset
  for step = 1, 64 do -- no zone sets its clocks so often within four days
    local from, to, offset = stretch_of(c, at)
    local shown_at = time - offset > from and time - offset or from
    if shown_at < to then return shown_at end
    if to > at then at = to end
  end
  return at
end

local function begin_of(unit, time)
  local number = over(time, day)
  if unit == 2 then return number * day end
  if unit == 3 then return (number - (number + 3) % 7) * day end
  local year, month = month_of(number)
  return first_day(year, unit == 4 and month or 1) * day
end

local function next_of(unit, begin)
  if unit == 2 then return begin + day end
  if unit == 3 then return begin + 7 * day end
  local year, month = month_of(begin / day)
  if unit == 5 then return first_day(year + 1, 1) * day end
  return (month < 12 and first_day(year, month + 1) or first_day(year + 1, 1)) * day
end

local function window_of_days(c, at, offset)
  local unit_begin = begin_of(c.unit, at + offset)
  local begins = first_showing(c, unit_begin)
  while true do
    unit_begin = next_of(c.unit, unit_begin)
    local turns = first_showing(c, unit_begin)
    if turns > at then return begins, turns end
    begins = turns -- the clock was there already, before it was set back
  end
end

function calendar_window.window_at(c, at)
  if at >= c.begins and at < c.turns then return c.begins, c.turns end
  local second = over(at, 1000000)
  local from, to, offset = stretch_of(c, second)
  local begins, turns
  if c.unit < 2 then
    local length = c.unit == 0 and minute or hour
    begins = second - (second + offset) % length
    turns = begins + length
    if begins < from then begins = from end
    if turns > to then turns = to end
  else
    begins, turns = window_of_days(c, second, offset)
  end
  c.begins, c.turns = begins * 1000000, turns * 1000000
  return c.begins, c.turns
end
count_windows(calendar_window)

local function is_offset(number) return number <= farthest_offset and number >= -farthest_offset end

local function yearly_change(numbers, at)
  local change = {month = numbers[at], week = numbers[at + 1], weekday = numbers[at + 2],
    time = numbers[at + 3], offset = numbers[at + 4]}
  local has_day = change.month >= 1 and change.month <= 12 and change.week >= 1 and
    change.week <= 5 and change.weekday >= 0 and change.weekday <= 6 and
    change.time <= 8 * day and change.time >= -8 * day
  return has_day and is_offset(change.offset) and change or nil
end

-- The zone as integers with a comma between them.
local function configure_zone(c, zone)
  local numbers = {}
  for word in words_of(zone, '[^,]+') do
    local number = number_of(word)
    if not number or number % 1 ~= 0 then return false end
    numbers[#numbers + 1] = number
  end
  local count = numbers[2]
  if not count or count < 0 or not is_offset(numbers[1]) then return false end
  local behind = 3 + 2 * count
  c.changes, c.offsets = {}, {[0] = numbers[1]}
  for at = 3, behind - 1, 2 do
    local change, offset = numbers[at], numbers[at + 1]
    local before = c.changes[#c.changes] or -far_away
    if not offset or change <= before or not is_offset(offset) then return false end
    c.changes[#c.changes + 1] = change
    c.offsets[#c.changes] = offset
  end
  c.from, c.to, c.begins, c.turns = 0, 0, 0, 0
  if #numbers == behind - 1 then return true end
  if #numbers ~= behind + 10 then return false end
  c.first_year = numbers[behind]
  c.yearly = {yearly_change(numbers, behind + 1), yearly_change(numbers, behind + 6)}
  return c.first_year >= 1800 and c.first_year <= last_year and c.yearly[1] and c.yearly[2]
end

function calendar_window.configure(c, limit, unit, zone)
  c.limit, c.unit = limit, unit
  return limit > 0 and limit <= 1125899906842624 and unit <= 5 and configure_zone(c, zone)
end

function calendar_window.settle(c, s, now, slack)
  if s[1] <= now + slack then return false end
  local begins, turns = calendar_window.window_at(c, now + slack)
  if s[1] <= turns then return false end
  s[1] = turns
  return true
end
