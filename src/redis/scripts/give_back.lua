-- Keeps what a key's state has become, where units were given back; returns how many. Of several
-- terms one may have given back more than the least.
local function keep_less(c, s, key, units, before, now)
  if units > 0 or (before and before ~= c.machine.write(c, s)) then
    local writes = {}
    save_state(c, s, key, true, now, writes)
    run(writes)
  end
  return units
end
