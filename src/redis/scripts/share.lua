-- Twin of redis/share_registry.hpp. One key for a limit: two bytes, then as doubles until when the
-- registry learns and the longest lease, and for each member its number, that of its last request,
-- the most that it may hold, what it wants, and when its lease ends.
--
-- Arguments: division (e equal, p proportional, f fair), lease in microseconds (0: leave), member,
-- number of the request, wants, holds. Shares are in millionths of the limit.
local share
do
  local whole, most_members = 1000000, 1000

  local function number(word, most)
    local value = number_of(word or '')
    if value and value >= 0 and value <= most and value % 1 == 0 then return value end
  end

  local function floor_of(value, by) return (value - value % by) / by end

  -- The holders whose leases last, none longer than it was given for; and at which of them `member`
  -- is.
  local function load_holders(text, s, now, member)
    local latest, holders, own = now + s.lease, {}, nil
    for at = 19, #text, 40 do
      local holder = {read('<ddddd', text, at)}
      if holder[5] > latest then holder[5] = latest end
      if holder[5] > now then
        holders[#holders + 1] = holder
        if holder[1] == member then own = #holders end
      end
    end
    return holders, own
  end

  local function save(key, s, holders)
    local texts = {pack('<dd', s.learns_until, s.lease)}
    for at = 1, #holders do
      local holder = holders[at]
      texts[at + 1] = pack('<ddddd', holder[1], holder[2], holder[3], holder[4], holder[5])
    end
    call('SET', key, 's1' .. table.concat(texts), 'PX', kept_for(s.lease))
  end

  -- As much for each as for the one before, of those who want more than what is left for each.
  local function fair_level(holders)
    local wants = {}
    for at = 1, #holders do wants[at] = holders[at][4] end
    table.sort(wants)
    local left = whole
    for at = 1, #wants do
      local level = floor_of(left, #wants - at + 1)
      if wants[at] > level then return level end
      left = left - wants[at]
    end
    return left
  end

  local function due(holders, own, division)
    local count, wants = #holders, holders[own][4]
    local equal = floor_of(whole, count)
    if division == 'e' then return equal end
    local wanted, spare, need = 0, 0, 0
    for at = 1, count do
      local its = holders[at][4]
      wanted = wanted + its
      if its < equal then spare = spare + equal - its else need = need + its - equal end
    end
    if wanted <= whole then return wants + floor_of(whole - wanted, count) end
    if division == 'f' then
      local level = fair_level(holders)
      return wants < level and wants or level
    end
    if wants <= equal then return wants end
    return equal + floor_of((wants - equal) * spare, need)
  end

  local function leave(key, s, holders, own, now)
    if own then
      table.remove(holders, own)
      save(key, s, holders)
    end
    local learns_for = s.learns_until > now and s.learns_until - now or 0
    return {0, #holders, learns_for, now}
  end

  function share(keys, argv)
    if not call then open() end
    local key, division = keys[1], argv[1]
    local lease, member = number(argv[2], 86400000000), number(argv[3], 9007199254740992)
    local asked = number(argv[4], 9007199254740992)
    local wants, holds = number(argv[5], whole), number(argv[6], whole)
    if #keys ~= 1 or #argv ~= 6 or (division ~= 'e' and division ~= 'p' and division ~= 'f') or
        not (lease and member and asked and wants and holds) then
      return failure('ERR weir: expected one key; a division (e, p or f), a lease, a member, ' ..
        'the number of its request, wants and holds')
    end
    local text = ask('GET', key)
    if text and (type(text) == 'table' or sub(text, 1, 2) ~= 's1' or #text % 40 ~= 18) then
      return failure('WRONGTYPE weir: key ' .. key ..
        ' holds something else; expected a registry of form s1')
    end
    local now = now_of_store()
    local s = {learns_until = now + lease, lease = lease}
    if text then s.learns_until, s.lease = read('<dd', text, 3) end
    if lease > s.lease then s.lease = lease end
    if s.learns_until > now + s.lease then s.learns_until = now + s.lease end
    local holders, own = load_holders(text or '', s, now, member)
    if own and holders[own][2] >= asked then
      return failure('ERR weir: a later request of this member was answered already')
    end
    if lease == 0 then return leave(key, s, holders, own, now) end
    if not own then
      if #holders == most_members then
        return failure('ERR weir: 1000 members share this limit, and no more can')
      end
      own = #holders + 1
    end
    holders[own] = {member, asked, holds, wants, now + lease}
    local room = whole
    for at = 1, #holders do
      if at ~= own then room = room - holders[at][3] end
    end
    local learns = s.learns_until > now
    local part = learns and holds or due(holders, own, division)
    if part > room then part = room end
    if part < 0 then part = 0 end
    if part > holds then holders[own][3] = part end
    save(key, s, holders)
    return {part, #holders, learns and s.learns_until - now or 0, now}
  end
end
