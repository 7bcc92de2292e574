local function take(keys, argv)
  if not call then open() end
  if #argv == 3 and #keys == 1 then
    local c, cost, patience = config_of(argv[1]), whole_number(argv[2]), argv[3]
    local asked = whole_number(patience)
    if c and cost and not c.terms and (asked or patience == '-1') then
      return (c.machine.take or take_one)(keys[1], c, cost, asked)
    end
  end
  return decide(keys, argv, true)
end
