-- One key under one sliding log that is small: take_one() with its calls written out, and the text
-- copied once.
function sliding_log.take(key, c, cost, asked)
  local text, now = ask('GETRANGE', key, '0', whole_end), now_of_store()
  if text == '' then return take_of(key, c, cost, asked, sliding_log.first(), false, now) end
  local length, limit, period = #text, c.limit, c.period
  local size, stay = (length - 2) / 8, limit - cost
  local keep = size < stay and size or stay
  if size < 1 or size % 1 ~= 0 or sub(text, 1, 2) ~= 'o1' or cost == 0 or stay < 0 or
    keep + cost > whole_entries or read('<d', text, length - 7) > now then
    return take_one(key, c, cost, asked)
  end
  local verdict, ready_at, reset_at = 0, now, now + period
  if size > stay then
    local leaves = read('<d', text, 8 * (size - stay) - 5) + period
    if leaves > now then
      local patience = asked and (asked < c.slack and asked or c.slack) or 0
      if leaves - now <= patience then return take_one(key, c, cost, asked) end
      verdict, ready_at, reset_at = 2, leaves - patience, read('<d', text, length - 7) + period
    end
  end
  if verdict == 0 then
    local entries = pack('<d', now)
    if cost > 1 then entries = rep(entries, cost) end
    if keep < size then
      text = 'o1' .. sub(text, 8 * (size - keep) + 3) .. entries
    else
      text = text .. entries
    end
    size = keep + cost
    call('SET', key, text, 'PX', kept_for(period))
  end
  -- Those that have left, by halves.
  local low, high, since = 0, size, now - period
  if size > 0 and read('<d', text, 3) > since then high = 0 end
  while low < high do
    local middle = low + (high - low - (high - low) % 2) / 2
    if read('<d', text, 8 * middle + 3) <= since then low = middle + 1 else high = middle end
  end
  local left = limit - size + low
  return {verdict, now, ready_at, limit, left > 0 and left or 0, reset_at > now and reset_at or now,
    0, never, 0}
end
