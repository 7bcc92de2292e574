-- Twin of weir/algorithm/concurrency.hpp. The permits inside stay packed in s.text, in the order in
-- which they end: when, the permit's number, its weight. latest is 0 where nobody ever entered.
local concurrency = {number = 6, fields = 2}
local permit_bytes = 24

function concurrency.configure(c, limit, lease)
  c.limit, c.lease = limit, lease
  return limit > 0 and limit <= 10000 and lease > 0 and lease <= 1125899906842624
end

function concurrency.first()
  return {latest = 0, granted_at = never, weight = 0, size = 0, text = ''}
end
function concurrency.read(c, text, from, count)
  if count == 0 then return concurrency.first() end
  local size = (count - 3) / 3
  if size % 1 ~= 0 or size < 0 or size > 10000 then return nil end
  local latest, granted_at, weight = read('<ddd', text, from)
  return {latest = latest, granted_at = granted_at, weight = weight, size = size,
    text = sub(text, from + 24, from + 8 * count - 1)}
end
function concurrency.write(c, s)
  if s.latest == 0 then return '' end
  return pack('<ddd', s.latest, s.granted_at, s.weight) .. s.text
end

-- Nobody waits in line.
function concurrency.own_wait() return 0 end

-- Of the permit at `at`, from 0: when it ends, its number, its weight.
local function permit_at(s, at) return read('<ddd', s.text, permit_bytes * at + 1) end

-- When the last one ends.
local function last_ends(s)
  return (read('<d', s.text, permit_bytes * (s.size - 1) + 1))
end

-- How many permits have ended by `instant`, and what they weigh.
local function ended_by(s, instant)
  local count, weight = 0, 0
  while count < s.size do
    local ends, _, its_weight = permit_at(s, count)
    if ends > instant then break end
    count, weight = count + 1, weight + its_weight
  end
  return count, weight
end

local function insert(s, ends, permit, weight)
  local at = s.size
  while at > 0 and permit_at(s, at - 1) > ends do at = at - 1 end
  local entry = pack('<ddd', ends, permit, weight)
  if at == s.size then
    s.text = s.text .. entry
  else
    s.text = sub(s.text, 1, permit_bytes * at) .. entry .. sub(s.text, permit_bytes * at + 1)
  end
  s.size, s.weight = s.size + 1, s.weight + weight
end

local function erase(s, at, weight)
  s.text = sub(s.text, 1, permit_bytes * at) .. sub(s.text, permit_bytes * (at + 1) + 1)
  s.size, s.weight = s.size - 1, s.weight - weight
end

function concurrency.earliest(c, s, now, cost)
  local first, held, at = now, s.weight, 0
  if s.granted_at > first then first = s.granted_at end
  while held + cost > c.limit and at < s.size do
    local ends, _, weight = permit_at(s, at)
    if ends > first then first = ends end
    held, at = held - weight, at + 1
  end
  return first
end

-- At an instant that earliest() allows there is room once those have gone whose leases have ended.
function concurrency.charge(c, s, at, cost)
  local gone, weight = ended_by(s, at)
  if gone > 0 then
    s.text = sub(s.text, permit_bytes * gone + 1)
    s.size, s.weight = s.size - gone, s.weight - weight
  end
  s.latest = s.latest + 1 > at and s.latest + 1 or at
  s.granted_at = at
  insert(s, at + c.lease, s.latest, cost)
end

function concurrency.room(c, s, now)
  if s.granted_at > now then return c.limit, 0 end
  local _, ended = ended_by(s, now)
  local left = c.limit - s.weight + ended
  return c.limit, left > 0 and left or 0
end

-- A state that begins anew counts its permits from the time, so one whose numbers have run ahead of
-- it is kept until then: no permit is given twice.
function concurrency.fresh_at(c, s)
  if s.latest == 0 then return never end
  local unused = s.latest + 1
  local ends = s.size > 0 and last_ends(s) or unused
  return ends > unused and ends or unused
end

function concurrency.mark(c, s, marks)
  marks[#marks + 1] = s.latest > 0 and s.latest or never
  marks[#marks + 1] = 0
end

-- Where a permit that is still inside lies, when it ends and what it weighs.
local function find_permit(s, now, permit)
  local number, from = pack('<d', permit), 1
  while true do
    local found = find(s.text, number, from, true)
    if not found then return nil end
    if found % permit_bytes == 9 then -- behind when it ends
      local at = (found - 9) / permit_bytes
      local ends, _, weight = permit_at(s, at)
      if ends <= now then return nil end
      return at, ends, weight
    end
    from = found + 1
  end
end

function concurrency.release(c, s, now, permit)
  local at, _, weight = find_permit(s, now, permit)
  if not at then return 0 end
  erase(s, at, weight)
  return weight
end

function concurrency.renew(c, s, now, permit)
  local at, ends, weight = find_permit(s, now, permit)
  if not at then return 0 end
  if now + c.lease > ends then ends = now + c.lease end
  erase(s, at, weight)
  insert(s, ends, permit, weight)
  return ends - now
end

function concurrency.cancel(c, s, now, grant, permit)
  return concurrency.release(c, s, now, permit)
end

-- Units of no permit in particular are those of somebody who is still inside.
function concurrency.refund() return 0 end

function concurrency.settle(c, s, now, slack)
  local latest = now + slack
  local settled = s.granted_at > latest
  if settled then s.granted_at = latest end
  local most = latest + c.lease
  if s.size == 0 or last_ends(s) <= most then return settled end
  local stay = ended_by(s, most)
  local entries = {sub(s.text, 1, permit_bytes * stay)}
  for at = stay, s.size - 1 do
    local _, permit, weight = permit_at(s, at)
    entries[#entries + 1] = pack('<ddd', most, permit, weight)
  end
  s.text = table.concat(entries)
  return true
end
