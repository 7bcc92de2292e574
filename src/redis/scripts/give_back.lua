-- Keeps what a key's state has become, where units were given back; returns how many. Where they
-- do not tell whether it changed, `before` is what it was: of several terms one may have given back
-- more than the least, and a lease may begin anew at the instant at which it began.
local function keep_less(c, s, key, units, before, now)
  local changed = units > 0
  if before then changed = before ~= c.machine.write(c, s) end
  if changed then
    local writes = {}
    save_state(c, s, key, true, now, writes)
    run(writes)
  end
  return units
end
