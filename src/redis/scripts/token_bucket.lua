-- Twin of weir/algorithm/gcra.hpp.
local token_bucket = {
  number = 0, fields = 4, configure = configure_interval,
  first = instant_first, read = instant_read, write = instant_write, mark = instant_mark,
  charge = charge_interval, fresh_at = instant_fresh_at, settle = settle_interval,
  cancel = instant_cancel, refund = repay,
}

function token_bucket.own_wait() return nil end

function token_bucket.earliest(c, s, now, cost)
  local whole, rest = start(c, s[1], s[2], now)
  local time, time_rest = times(c, cost)
  whole, rest = add(c, whole, rest, time, time_rest)
  whole, rest = subtract(c, whole, rest, c.capacity, c.capacity_rest)
  local at = tick(whole, rest)
  return at > now and at or now
end

function token_bucket.room(c, s, now)
  local whole, rest = start(c, s[1], s[2], now)
  local left, left_rest = subtract(c, now + c.capacity, c.capacity_rest, whole, rest)
  return c.limit, units_in(c, left, left_rest, c.limit)
end
