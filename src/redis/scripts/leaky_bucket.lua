-- Twin of weir/algorithm/leaky_bucket.hpp.
local leaky_bucket = {
  number = 1, fields = 4, configure = configure_interval,
  first = instant_first, read = instant_read, write = instant_write, mark = instant_mark,
  charge = charge_interval, fresh_at = instant_fresh_at, settle = settle_interval,
  cancel = instant_cancel, refund = repay,
}

function leaky_bucket.own_wait(c, cost)
  return tick(times(c, c.limit - (cost > 1 and cost or 1)))
end

function leaky_bucket.earliest(c, s, now)
  return tick(start(c, s[1], s[2], now))
end

function leaky_bucket.room(c, s, now)
  local wait = tick(start(c, s[1], s[2], now)) - now
  if wait <= 0 then return c.limit, c.limit end
  return c.limit, c.limit - 1 - units_in(c, wait - 1, 0, c.limit - 1)
end
