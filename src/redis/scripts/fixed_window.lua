-- Twin of weir/algorithm/fixed_window.hpp.
local fixed_window = {number = 2, fields = 2}

function fixed_window.configure(c, limit, period)
  c.limit, c.period = limit, period
  return limit > 0 and limit <= 1125899906842624 and period > 0 and period <= 1125899906842624
end

function fixed_window.window_at(c, at)
  local begins = at - at % c.period
  return begins, begins + c.period
end
count_windows(fixed_window)

function fixed_window.settle(c, s, now, slack)
  local latest = now + slack + c.period
  if s[1] <= latest then return false end
  s[1] = latest - latest % c.period
  return true
end
