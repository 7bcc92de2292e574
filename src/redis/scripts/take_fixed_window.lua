-- One key under one fixed window: take_one() with its calls written out.
function fixed_window.take(key, c, cost, asked)
  local stored, now = ask('GET', key), now_of_store()
  local limit, period = c.limit, c.period
  local window, used = now - now % period, 0
  if stored then
    local tag, kept, count
    if #stored == 18 then tag, kept, count = read('<Hdd', stored) end
    if tag ~= 12646 then return no_state(key, c) end -- f1
    if kept > window or cost > limit then
      return take_of(key, c, cost, asked, {kept, count}, true, now)
    end
    if kept == window then used = count end
  elseif cost > limit then
    return take_of(key, c, cost, asked, {never, 0}, false, now)
  end
  local opens, verdict, ready_at = window + period, 0, now
  if used + cost > limit then
    local patience = asked and (asked < c.slack and asked or c.slack) or 0
    if opens - now <= patience then
      return take_of(key, c, cost, asked, {window, used}, true, now)
    end
    verdict, ready_at = 2, opens - patience
  elseif cost > 0 then
    used = used + cost
    call('SET', key, pack('<Hdd', 12646, window, used), 'PX', kept_for(opens - now))
  end
  return {verdict, now, ready_at, limit, used < limit and limit - used or 0,
    used > 0 and opens or now, 0, never, 0}
end
