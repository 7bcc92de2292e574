-- How states lie in the store: two bytes (a machine's letter and the form's version), then its
-- fields as doubles, lowest byte first.

local function no_state(key, c)
  return failure('WRONGTYPE weir: key ' .. key ..
    ' holds something else; expected a state of form ' .. c.tag)
end

-- The state of a key, and whether something is kept; or an error.
local function load_state(c, key)
  local machine = c.machine
  if machine.load then
    local s, kept = machine.load(c, key)
    if not s then return nil, no_state(key, c) end
    return s, kept
  end
  local text = ask('GET', key)
  if not text then return machine.first(c), false end
  if type(text) == 'table' or sub(text, 1, 2) ~= c.tag then return nil, no_state(key, c) end
  local s = machine.read(c, text, 3, (#text - 2) / 8)
  if not s then return nil, no_state(key, c) end
  return s, true
end

-- Adds what keeps the state: nothing where it says no more than one never seen.
local function save_state(c, s, key, kept, now, writes)
  local fresh_at = c.machine.fresh_at(c, s)
  if fresh_at <= now then
    if kept then writes[#writes + 1] = {'DEL', key} end
  elseif c.machine.save then
    c.machine.save(c, s, key, kept_for(fresh_at - now), writes)
  else
    writes[#writes + 1] =
      {'SET', key, c.tag .. c.machine.write(c, s), 'PX', kept_for(fresh_at - now)}
  end
end

local function run(writes)
  for at = 1, #writes do call(spread(writes[at])) end
end
