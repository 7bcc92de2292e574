-- What the holder of a permit asks: limit, permit. Who has left, or whose lease has ended, gets 0
-- and changes nothing.
local function ask_for_permit(verb, keys, argv)
  if not call then open() end
  local key, c, permit = keys[1], config_of(argv[1] or ''), whole_number(argv[2] or '')
  if not c then return no_config(argv[1] or '') end
  if #keys ~= 1 or not permit then
    return failure('ERR weir: expected one key, its limit and a permit')
  end
  local s, kept = load_state(c, key)
  if not s then return kept end
  if not kept or not c.machine[verb] then return 0 end
  local now = now_of_store()
  c.machine.settle(c, s, now, c.slack)
  local before = c.machine.write(c, s)
  return keep_less(c, s, key, c.machine[verb](c, s, now, permit), before, now)
end

-- The units that it gives back.
local function release(keys, argv) return ask_for_permit('release', keys, argv) end

-- The microseconds that are left of its lease, which begins anew.
local function renew(keys, argv) return ask_for_permit('renew', keys, argv) end
