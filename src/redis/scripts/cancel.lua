-- limit, cost, acts_at, then the marks that the grant's reply had: the units that are given back.
local function cancel(keys, argv)
  if not call then open() end
  local key, c = keys[1], config_of(argv[1] or '')
  if not c then return no_config(argv[1] or '') end
  local grant = {cost = whole_number(argv[2] or ''), acts_at = number_of(argv[3] or ''), marks = {}}
  for at = 4, #argv do grant.marks[at - 3] = number_of(argv[at]) end
  if #keys ~= 1 or not grant.cost or not grant.acts_at or #grant.marks ~= #argv - 3 then
    return failure('ERR weir: expected one key, its limit, cost, ready_at and marks')
  end
  local s, kept = load_state(c, key)
  if not s then return kept end
  local now = now_of_store()
  if not kept or now > grant.acts_at or grant.cost == 0 then return 0 end
  c.machine.settle(c, s, now, c.slack)
  local marks = {}
  c.machine.mark(c, s, marks)
  for at = 1, #marks do
    if marks[at] ~= grant.marks[at] then return 0 end
  end
  local before = c.terms and c.machine.write(c, s)
  local units = c.machine.cancel(c, s, now, grant, marks[1], marks[2])
  return keep_less(c, s, key, units, before, now)
end
