-- One key under one token bucket, the commonest request of all: take_one() with its calls written
-- out.
function token_bucket.take(key, c, cost, asked)
  local stored, now = ask('GET', key), now_of_store()
  local full, full_rest, slack = now + c.capacity, c.capacity_rest, c.slack
  local kept, kept_rest, whole, rest = never, 0, now, 0
  if stored then
    local tag
    if #stored == 18 then tag, kept, kept_rest = read('<Hdd', stored) end
    if tag ~= 12660 then return no_state(key, c) end -- t1
    if kept - full >= slack and (kept - full > slack or kept_rest > full_rest) then
      return take_of(key, c, cost, asked, {kept, kept_rest}, true, now) -- to settle()
    end
    if kept_rest > 0 then
      whole, rest = start(c, kept, kept_rest, now)
    elseif kept > now then
      whole = kept
    end
  end
  local most, step = c.limit, c.whole
  if cost > most then
    local left, left_rest = subtract(c, full, full_rest, whole, rest)
    local fresh_at = forgotten_at(kept, kept_rest)
    return {3, now, -1, most, units_in(c, left, left_rest, most),
      fresh_at > now and fresh_at or now, 0, kept, kept_rest}
  end
  local ends, ends_rest = whole + cost * step, 0
  if c.rest > 0 then
    ends, ends_rest = times(c, cost)
    ends, ends_rest = add(c, whole, rest, ends, ends_rest)
  end
  local wait = ends - full
  if ends_rest > full_rest then wait = wait + 1 end
  local verdict, ready_at = 0, now
  if wait > 0 then
    local patience = asked and (asked < slack and asked or slack) or 0
    if wait > patience then
      verdict, ready_at = 2, now + wait - patience
    else
      verdict, ready_at = 1, now + wait
    end
  end
  if verdict < 2 and cost > 0 then
    whole, rest, kept, kept_rest = ends, ends_rest, ends, ends_rest
    local fresh_at = forgotten_at(ends, ends_rest)
    if fresh_at > now then
      call('SET', key, pack('<Hdd', 12660, ends, ends_rest), 'PX', kept_for(fresh_at - now))
    elseif stored then
      call('DEL', key)
    end
  end
  local left, remaining = full - whole, 0
  if c.rest > 0 then
    local left_rest = full_rest - rest
    if left_rest < 0 then left, left_rest = left - 1, left_rest + c.parts end
    remaining = units_in(c, left, left_rest, most)
  elseif left >= step then
    remaining = (left - left % step) / step
  end
  local reset_at = kept_rest > 0 and kept + 2 or kept
  return {verdict, now, ready_at, most, remaining, reset_at > now and reset_at or now, 0,
    kept, kept_rest}
end
