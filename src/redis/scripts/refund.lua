-- limit, units: how many of them were still owed.
local function refund(keys, argv)
  if not call then open() end
  local key, c, units = keys[1], config_of(argv[1] or ''), whole_number(argv[2] or '')
  if not c then return no_config(argv[1] or '') end
  if #keys ~= 1 or not units then
    return failure('ERR weir: expected one key, its limit and units')
  end
  local s, kept = load_state(c, key)
  if not s then return kept end
  if not kept then return 0 end
  local now = now_of_store()
  c.machine.settle(c, s, now, c.slack)
  local before = c.terms and c.machine.write(c, s)
  return keep_less(c, s, key, c.machine.refund(c, s, now, units), before, now)
end
