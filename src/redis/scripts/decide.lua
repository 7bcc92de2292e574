-- One request over one key or several: all or none, at one instant. Twin of step() in concept.hpp
-- and of Table::take_all.

-- The keys of the request, each with its limit, cost and state; the same key named twice pays once
-- for both.
local function places_of(keys, argv)
  local count = #keys
  if count == 0 or #argv ~= 2 * count + 1 then
    return failure('ERR weir: expected for n keys n limits, n costs and a patience')
  end
  local places, by_key = {}, {}
  for at = 1, count do
    local key, text, cost = keys[at], argv[at], whole_number(argv[count + at])
    local c = config_of(text)
    if not c then return no_config(text) end
    if not cost then return failure('ERR weir: expected a whole number as cost, 0 or more') end
    local place = by_key[key]
    if not place then
      local s, kept = load_state(c, key)
      if not s then return kept end
      place = {key = key, text = text, c = c, s = s, kept = kept, cost = 0, first = at}
      places[#places + 1], by_key[key] = place, place
    elseif place.text ~= text then
      return failure('ERR weir: key ' .. key .. ' is named twice, with two limits')
    end
    place.cost = place.cost + cost
  end
  return nil, places, by_key
end

-- How long the request may wait: at most as long as limits with a queue let it, and no longer than
-- any limit's slack.
local function patience_of(asked, own, slack)
  local patience = asked or own or 0
  if own and own < patience then patience = own end
  return patience < slack and patience or slack
end

-- The verdict on all places at once, its instant, and the place that binds.
local function judge(places, now, asked)
  local ready_at, binding, own, slack = now, 1, nil, 9007199254740992
  for at = 1, #places do
    local place = places[at]
    local c = place.c
    if place.cost > c.limit then return 3, -1, at end
    local earliest = c.machine.earliest(c, place.s, now, place.cost)
    if earliest > ready_at then ready_at, binding = earliest, at end
    local wait = c.machine.own_wait(c, place.cost)
    if wait and (not own or wait < own) then own = wait end
    if c.slack < slack then slack = c.slack end
  end
  local patience = patience_of(asked, own, slack)
  if ready_at - now > patience then return 2, ready_at - patience, binding end
  return ready_at == now and 0 or 1, ready_at, binding
end

-- What the verdict does to each place: all are charged, or those that refuse by themselves punish.
local function apply(places, verdict, ready_at, now, asked)
  for at = 1, #places do
    local place = places[at]
    local c, s = place.c, place.s
    if verdict < 2 then
      if place.cost > 0 then
        c.machine.charge(c, s, ready_at, place.cost)
        place.changed = true
      end
    elseif verdict == 2 and c.machine.refuse then
      local patience = patience_of(asked, c.machine.own_wait(c, place.cost), c.slack)
      if c.machine.earliest(c, s, now, place.cost) - now > patience then
        place.changed = c.machine.refuse(c, s, now, patience, place.cost) or place.changed
      end
    end
  end
end

-- verdict, decided_at, ready_at, limit, remaining, reset_at, binding, marks...: the numbers of the
-- place that binds; for a grant, of the one with least left.
local function answer(places, verdict, ready_at, binding, now)
  local limit, least, reset_at = 0, nil, now
  local bound = binding
  for at = 1, #places do
    local place = places[at]
    local c, s = place.c, place.s
    local its_limit, remaining = c.machine.room(c, s, now)
    if verdict == 0 then
      if not least or remaining < least then limit, least, bound = its_limit, remaining, at end
    elseif at == binding then
      limit, least = its_limit, remaining
    end
    local fresh_at = c.machine.fresh_at(c, s)
    if fresh_at > reset_at then reset_at = fresh_at end
  end
  return {verdict, now, ready_at, limit, least, reset_at, places[bound].first - 1}
end

local function decide(keys, argv, taking)
  local patience = argv[#argv]
  local asked = nil
  if patience ~= '-1' then
    asked = whole_number(patience or '')
    if not asked then
      return failure('ERR weir: expected a patience in microseconds, or -1 for the limit\'s own')
    end
  end
  local wrong, places, by_key = places_of(keys, argv)
  if wrong then return wrong end
  local now = now_of_store()
  for at = 1, #places do
    local place = places[at]
    place.changed = place.c.machine.settle(place.c, place.s, now, place.c.slack)
  end
  local verdict, ready_at, binding = judge(places, now, asked)
  if taking then
    apply(places, verdict, ready_at, now, asked)
    if verdict == 2 then verdict, ready_at, binding = judge(places, now, asked) end
  end
  local reply = answer(places, verdict, ready_at, binding, now)
  for at = 1, #keys do
    local place = by_key[keys[at]]
    place.c.machine.mark(place.c, place.s, reply)
  end
  local writes = {}
  for at = 1, #places do
    local place = places[at]
    if taking and place.changed then
      save_state(place.c, place.s, place.key, place.kept, now, writes)
    end
  end
  run(writes)
  return reply
end
