-- One key under one sliding window that has room: take_one() with its calls written out.
function sliding_window.take(key, c, cost, asked)
  local stored, now = ask('GET', key), now_of_store()
  if not stored then
    return take_of(key, c, cost, asked, sliding_window.first(c), false, now)
  elseif #stored ~= c.bytes or sub(stored, 1, 2) ~= 'w1' then
    return take_one(key, c, cost, asked)
  end
  local s, limit, length, counted = {read(c.form, stored, 3)}, c.limit, c.part, c.counted
  local part = part_of(c, now)
  local passed = part - part_of(c, s[1])
  local used = cost
  for at = 2, counted + 1 do used = used + s[at] end
  if passed > counted then passed = counted end
  for leaves = part - passed + 1, part do used = used - s[leaves % counted + 2] end
  if passed < 0 or used > limit or cost == 0 then
    return take_of(key, c, cost, asked, s, true, now)
  end
  if passed > 0 then
    for leaves = part - passed + 1, part do s[leaves % counted + 2] = 0 end
    s[1] = part * length
  end
  local index, ends = part % counted + 2, (part + counted) * length
  s[index] = s[index] + cost
  call('SET', key, 'w1' .. pack(c.form, spread(s, 1, counted + 1)), 'PX', kept_for(ends - now))
  return {0, now, now, limit, limit - used, ends, 0, never, 0}
end
