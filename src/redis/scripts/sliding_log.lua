-- Twin of weir/algorithm/sliding_log.hpp. The entries stay packed, oldest first, in s.text; those
-- of a large log stay in the store, in a ring that is changed in place, and s.key tells which.
local sliding_log = {number = 4, fields = 2}
local whole_entries = 128 -- of a log that is read and written whole
local whole_end = '1025'  -- of its bytes, as text: a number costs more to print
local ring_front = 34     -- bytes before a ring's entries: r1, head, size, slots, newest

function sliding_log.configure(c, limit, period)
  c.limit, c.period = limit, period
  return limit > 0 and limit <= 100000 and period > 0 and period <= 1125899906842624
end

function sliding_log.first() return {text = '', size = 0, appended = 0} end
function sliding_log.read(c, text, from, count)
  if count > 100000 then return nil end
  return {text = sub(text, from, from + 8 * count - 1), size = count, appended = 0}
end
function sliding_log.write(c, s) return s.text end

function sliding_log.own_wait() return nil end

-- The entry at `at`: 0 is the oldest.
local function entry(s, at)
  if s.text then return (read('<d', s.text, 8 * at + 1)) end
  if at >= s.size - s.appended then return s.newest end
  local from = ring_front + (s.head + at) % s.slots * 8
  return (read('<d', call('GETRANGE', s.key, from, from + 7)))
end

-- How many entries are at `instant` or before.
local function entries_until(s, instant)
  local low, high = 0, s.size
  while low < high do
    local middle = low + (high - low - (high - low) % 2) / 2
    if entry(s, middle) <= instant then low = middle + 1 else high = middle end
  end
  return low
end

-- Brings the entries of a ring here.
local function gather(s)
  if s.text then return end
  local first = s.slots - s.head
  if first > s.size then first = s.size end
  local from = ring_front + s.head * 8
  s.text = ''
  if first > 0 then s.text = call('GETRANGE', s.key, from, from + 8 * first - 1) end
  if first < s.size then
    s.text = s.text .. call('GETRANGE', s.key, ring_front, ring_front + 8 * (s.size - first) - 1)
  end
end

function sliding_log.earliest(c, s, now, cost)
  if s.size == 0 then return now end
  local newest = s.newest or entry(s, s.size - 1)
  if newest < now then newest = now end
  local stay = c.limit - cost
  if s.size <= stay then return newest end
  local leaves = entry(s, s.size - 1 - stay) + c.period
  return leaves > newest and leaves or newest
end

function sliding_log.charge(c, s, at, cost)
  if s.size > 0 then
    local newest = s.newest or entry(s, s.size - 1)
    if newest > at then at = newest end
  end
  local keep = c.limit - cost
  if keep > s.size then keep = s.size end
  if not s.text and keep + cost > s.slots then
    gather(s)
  end
  if s.text then
    local entries = pack('<d', at)
    if cost > 1 then entries = rep(entries, cost) end
    s.text = (keep < s.size and sub(s.text, 8 * (s.size - keep) + 1) or s.text) .. entries
  else
    s.head = (s.head + s.size - keep) % s.slots
    s.appended = cost
  end
  s.newest, s.size = at, keep + cost
end

function sliding_log.room(c, s, now)
  if s.size > 0 and (s.newest or entry(s, s.size - 1)) > now then return c.limit, 0 end
  local left = c.limit - s.size
  if s.size > 0 and entry(s, 0) + c.period <= now then
    left = left + entries_until(s, now - c.period)
  end
  return c.limit, left > 0 and left or 0
end

function sliding_log.fresh_at(c, s)
  if s.size == 0 then return never end
  return (s.newest or entry(s, s.size - 1)) + c.period
end

function sliding_log.mark(c, s, marks)
  marks[#marks + 1] = never
  marks[#marks + 1] = 0
end

-- In the place of units given back: what had to leave for them, none of it later than `latest`.
-- Only where the log is full has anything left for want of room.
local function put_back(c, s, units, latest)
  s.newest = nil
  if s.size < c.limit then
    s.size = s.size - units
    return
  end
  if #s.text > 0 then
    local oldest = read('<d', s.text)
    if oldest < latest then latest = oldest end
  end
  s.text = rep(pack('<d', latest), units) .. s.text
end

function sliding_log.cancel(c, s, now, grant)
  gather(s)
  local behind = entries_until(s, grant.acts_at)
  local begin = entries_until(s, grant.acts_at - 1)
  if behind - begin > grant.cost then begin = behind - grant.cost end
  local units = behind - begin
  s.text = sub(s.text, 1, 8 * begin) .. sub(s.text, 8 * behind + 1)
  put_back(c, s, units, grant.acts_at - c.period)
  return units
end

function sliding_log.refund(c, s, now, units)
  gather(s)
  local inside = s.size - entries_until(s, now - c.period)
  if units > inside then units = inside end
  if units == 0 then return 0 end
  local newest = entry(s, s.size - 1)
  s.text = sub(s.text, 1, 8 * (s.size - units))
  put_back(c, s, units, newest - c.period)
  return units
end

function sliding_log.settle(c, s, now, slack)
  local latest = now + slack
  if s.size == 0 or (s.newest or entry(s, s.size - 1)) <= latest then return false end
  gather(s)
  local stay = entries_until(s, latest)
  s.text, s.newest = sub(s.text, 1, 8 * stay) .. rep(pack('<d', latest), s.size - stay), latest
  return true
end

-- One read brings a small log whole, or the front of a ring.
function sliding_log.load(c, key)
  local text = ask('GETRANGE', key, '0', whole_end)
  if text == '' then return sliding_log.first(), false end
  if type(text) == 'table' then return nil end
  local form, length = sub(text, 1, 2), #text
  if form == 'o1' and (length - 2) % 8 == 0 and length <= 8 * whole_entries + 2 then
    local s = {text = sub(text, 3), size = (length - 2) / 8, appended = 0}
    if s.size > 0 then s.newest = entry(s, s.size - 1) end
    return s, true
  end
  if form ~= 'r1' or length < ring_front then return nil end
  local head, size, slots, newest = read('<dddd', text, 3)
  if not (size > 0 and size <= slots and slots <= 100000 and head >= 0 and head < slots) then
    return nil
  end
  if call('STRLEN', key) ~= ring_front + 8 * slots then return nil end
  return {key = key, head = head, size = size, slots = slots, newest = newest, appended = 0}, true
end

-- What has to be written, as commands for the caller to run once all is decided.
function sliding_log.save(c, s, key, span, writes)
  if s.text and s.size <= whole_entries then
    writes[#writes + 1] = {'SET', key, 'o1' .. s.text, 'PX', span}
    return
  end
  if s.text then
    local slots = 2 * s.size
    if slots > c.limit then slots = c.limit > s.size and c.limit or s.size end
    local front = pack('<dddd', 0, s.size, slots, entry(s, s.size - 1))
    local value = 'r1' .. front .. s.text .. rep('\0', 8 * (slots - s.size))
    writes[#writes + 1] = {'SET', key, value, 'PX', span}
    return
  end
  local at = (s.head + s.size - s.appended) % s.slots
  local first = s.slots - at
  if first > s.appended then first = s.appended end
  local entries = rep(pack('<d', s.newest), s.appended)
  writes[#writes + 1] = {'SETRANGE', key, ring_front + 8 * at, sub(entries, 1, 8 * first)}
  if first < s.appended then
    writes[#writes + 1] = {'SETRANGE', key, ring_front, sub(entries, 8 * first + 1)}
  end
  local front = pack('<dddd', s.head, s.size, s.slots, s.newest)
  writes[#writes + 1] = {'SETRANGE', key, 2, front}
  writes[#writes + 1] = {'PEXPIRE', key, span}
end
