-- Twin of weir/algorithm/window_counter.hpp: gives a machine that has window_at(c, at), which tells
-- where a window begins and where it turns, all that a counter does.
local function count_windows(machine)
  local window_at = machine.window_at

  function machine.first() return {never, 0} end
  function machine.read(c, text, from, count)
    if count ~= 2 then return nil end
    local window, used = read('<dd', text, from)
    return {window, used}
  end
  function machine.write(c, s) return pack('<dd', s[1], s[2]) end

  function machine.own_wait() return nil end

  -- The window that counts at `now`, and its count: the state's own when it lies ahead, else the
  -- one now is in.
  local function window_seen(c, s, now)
    local begins, turns = window_at(c, now)
    local window = s[1]
    if window == begins then return begins, turns, s[2] end
    if window < begins then return begins, turns, 0 end
    begins, turns = window_at(c, window)
    return begins, turns, s[2]
  end

  function machine.earliest(c, s, now, cost)
    local window, turns, used = window_seen(c, s, now)
    if used + cost > c.limit then window = turns end
    return window > now and window or now
  end

  function machine.charge(c, s, at, cost)
    local window, turns, used = window_seen(c, s, at)
    if window > at then return end
    used = used + cost
    s[1], s[2] = window, used < c.limit and used or c.limit
  end

  function machine.room(c, s, now)
    local window, turns, used = window_seen(c, s, now)
    if window > now or used > c.limit then return c.limit, 0 end
    return c.limit, c.limit - used
  end

  function machine.fresh_at(c, s)
    local window = s[1]
    if window == never or s[2] <= 0 then return window end
    local begins, turns = window_at(c, window)
    return turns
  end

  function machine.mark(c, s, marks)
    marks[#marks + 1] = never
    marks[#marks + 1] = 0
  end

  function machine.cancel(c, s, now, grant)
    if window_at(c, grant.acts_at) ~= s[1] then return 0 end
    local units = grant.cost < s[2] and grant.cost or s[2]
    s[2] = s[2] - units
    return units
  end

  function machine.refund(c, s, now, units)
    if machine.fresh_at(c, s) <= now then return 0 end
    if units > s[2] then units = s[2] end
    s[2] = s[2] - units
    return units
  end

  return machine
end
