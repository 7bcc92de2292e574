local function peek(keys, argv)
  if not call then open() end
  return decide(keys, argv, false)
end
