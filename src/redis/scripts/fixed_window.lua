-- Twin of weir/algorithm/fixed_window.hpp.
local fixed_window = {number = 2, fields = 2}

function fixed_window.configure(c, limit, period)
  c.limit, c.period = limit, period
  return limit > 0 and limit <= 1125899906842624 and period > 0 and period <= 1125899906842624
end

function fixed_window.first() return {never, 0} end
function fixed_window.read(c, text, from, count)
  if count ~= 2 then return nil end
  local window, used = read('<dd', text, from)
  return {window, used}
end
function fixed_window.write(c, s) return pack('<dd', s[1], s[2]) end

function fixed_window.own_wait() return nil end

-- The window that counts at `now`: the state's own when it lies ahead, else the one now is in.
local function window_seen(c, s, now)
  local current = now - now % c.period
  local window = s[1]
  if window == current then return window, s[2] end
  if window < current then return current, 0 end
  return window - window % c.period, s[2]
end

function fixed_window.earliest(c, s, now, cost)
  local window, used = window_seen(c, s, now)
  if used + cost > c.limit then window = window + c.period end
  return window > now and window or now
end

function fixed_window.charge(c, s, at, cost)
  local window, used = window_seen(c, s, at)
  if window > at then return end
  used = used + cost
  s[1], s[2] = window, used < c.limit and used or c.limit
end

function fixed_window.room(c, s, now)
  local window, used = window_seen(c, s, now)
  if window > now or used > c.limit then return c.limit, 0 end
  return c.limit, c.limit - used
end

function fixed_window.fresh_at(c, s)
  local window = s[1]
  if window == never or s[2] <= 0 then return window end
  return window - window % c.period + c.period
end

function fixed_window.mark(c, s, marks)
  marks[#marks + 1] = never
  marks[#marks + 1] = 0
end

function fixed_window.cancel(c, s, now, grant)
  if grant.acts_at - grant.acts_at % c.period ~= s[1] then return 0 end
  local units = grant.cost < s[2] and grant.cost or s[2]
  s[2] = s[2] - units
  return units
end

function fixed_window.refund(c, s, now, units)
  if fixed_window.fresh_at(c, s) <= now then return 0 end
  if units > s[2] then units = s[2] end
  s[2] = s[2] - units
  return units
end

function fixed_window.settle(c, s, now, slack)
  local latest = now + slack + c.period
  if s[1] <= latest then return false end
  s[1] = latest - latest % c.period
  return true
end
