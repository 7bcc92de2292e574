-- One key under one limit without a penalty: the same decision as decide(), without places.
local function take_of(key, c, cost, asked, s, kept, now)
  local machine = c.machine
  local changed = machine.settle(c, s, now, c.slack)
  local verdict, ready_at = 3, -1
  if cost <= c.limit then
    local earliest = machine.earliest(c, s, now, cost)
    local patience = patience_of(asked, machine.own_wait(c, cost), c.slack)
    if earliest - now > patience then
      verdict, ready_at = 2, earliest - patience
    else
      verdict, ready_at = earliest == now and 0 or 1, earliest
    end
  end
  if verdict < 2 and cost > 0 then
    machine.charge(c, s, ready_at, cost)
    changed = true
  end
  local limit, remaining = machine.room(c, s, now)
  local fresh_at = machine.fresh_at(c, s)
  if changed then
    if fresh_at > now and not machine.save then
      call('SET', key, c.tag .. machine.write(c, s), 'PX', kept_for(fresh_at - now))
    else
      local writes = {}
      save_state(c, s, key, kept, now, writes)
      run(writes)
    end
  end
  local reply = {verdict, now, ready_at, limit, remaining, fresh_at > now and fresh_at or now, 0}
  machine.mark(c, s, reply)
  return reply
end

local function take_one(key, c, cost, asked)
  local s, kept = load_state(c, key)
  if not s then return kept end
  return take_of(key, c, cost, asked, s, kept, now_of_store())
end
