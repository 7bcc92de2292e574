-- Most requests are over one key, and their limit, cost and patience were met before.
local function take(keys, argv)
  if not call then open() end
  local limit, cost, patience, key = argv[1], argv[2], argv[3], keys[1]
  if patience and key and not argv[4] and not keys[2] then
    local c = configs[limit] or config_of(limit)
    cost = numbers[cost] or whole_number(cost)
    local asked = numbers[patience]
    if not asked and patience ~= '-1' then
      asked = whole_number(patience)
      if not asked then c = nil end -- for decide() to tell
    end
    if c and cost and not c.terms then return (c.take or take_one)(key, c, cost, asked) end
  end
  return decide(keys, argv, true)
end
