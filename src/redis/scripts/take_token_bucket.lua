-- One key under one token bucket, the commonest request of all: take_one() with its calls written
-- out.
function token_bucket.take(key, c, cost, asked)
  local stored = ask('GET', key)
  local time = call('TIME')
  local now = time[1] * 1000000 + time[2]
  local kept, kept_rest, whole, rest = never, 0, now, 0
  local full, full_rest, parts = now + c.capacity, c.capacity_rest, c.parts
  if stored then
    local tag
    if #stored == 18 then tag, kept, kept_rest = read('<Hdd', stored) end
    if tag ~= 12660 then return no_state(key, c) end -- t1
    if kept > full + c.slack or (kept == full + c.slack and kept_rest > full_rest) then
      kept, kept_rest = full + c.slack, full_rest -- as settle()
    end
    if kept_rest > 0 then
      whole, rest = start(c, kept, kept_rest, now)
    elseif kept > now then
      whole = kept
    end
  end
  if cost > c.limit then
    local left, left_rest = subtract(c, full, full_rest, whole, rest)
    local fresh_at = forgotten_at(kept, kept_rest)
    return {3, now, -1, c.limit, units_in(c, left, left_rest, c.limit),
      fresh_at > now and fresh_at or now, 0, kept, kept_rest}
  end
  local patience = asked and (asked < c.slack and asked or c.slack) or 0
  local ends, ends_rest
  if c.rest == 0 then
    ends, ends_rest = whole + cost * c.whole, 0
  else
    ends, ends_rest = times(c, cost)
    ends, ends_rest = add(c, whole, rest, ends, ends_rest)
  end
  local ready_at = ends - full
  if ends_rest > full_rest then ready_at = ready_at + 1 end
  local wait = ready_at > 0 and ready_at or 0
  ready_at = now + wait
  local verdict = wait == 0 and 0 or 1
  if wait > patience then
    verdict, ready_at = 2, ready_at - patience
  elseif cost > 0 then
    whole, rest, kept, kept_rest = ends, ends_rest, ends, ends_rest
    local fresh_at = ends_rest > 0 and ends + 2 or ends
    if fresh_at > now then
      call('SET', key, pack('<Hdd', 12660, ends, ends_rest), 'PX', kept_for(fresh_at - now))
    elseif stored then
      call('DEL', key)
    end
  end
  local left, remaining = full - whole, 0
  if c.rest == 0 then
    if left > 0 then
      remaining = (left - left % c.whole) / c.whole
    end
  else
    local left_rest = full_rest - rest
    if left_rest < 0 then left, left_rest = left - 1, left_rest + parts end
    remaining = units_in(c, left, left_rest, c.limit)
  end
  local reset_at = kept_rest > 0 and kept + 2 or kept
  return {verdict, now, ready_at, c.limit, remaining, reset_at > now and reset_at or now, 0,
    kept, kept_rest}
end
