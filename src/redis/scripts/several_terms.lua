-- Several limits on one key, or one with a penalty: twin of all_of.hpp around block.hpp.
-- A state is an array of {blocked_until, inner}.
local several_terms = {number = 5}

function several_terms.first(c)
  local s = {count = 0}
  for at = 1, #c.terms do
    local term = c.terms[at]
    s[at] = {blocked_until = never, inner = term.machine.first(term)}
  end
  return s
end

-- A term's state is that of another algorithm where the limit's numbers changed: never seen then.
function several_terms.read(c, text, from, count)
  local s, ends = several_terms.first(c), from + 8 * count
  while from < ends do
    if from + 24 > ends then return nil end
    local blocked_until, length, number = read('<ddd', text, from)
    if not (length >= 1 and length % 1 == 0 and from + 16 + 8 * length <= ends) then return nil end
    s.count = s.count + 1
    local term = c.terms[s.count]
    if term then
      s[s.count].blocked_until = blocked_until
      if number == term.machine.number then
        s[s.count].inner = term.machine.read(term, text, from + 24, length - 1)
        if not s[s.count].inner then return nil end
      end
    end
    from = from + 16 + 8 * length
  end
  return s
end

function several_terms.write(c, s)
  local parts = {}
  for at = 1, #c.terms do
    local term = c.terms[at]
    local inner = term.machine.write(term, s[at].inner)
    parts[at] = pack('<ddd', s[at].blocked_until, #inner / 8 + 1, term.machine.number) .. inner
  end
  return table.concat(parts)
end

function several_terms.own_wait(c, cost)
  local shortest
  for at = 1, #c.terms do
    local wait = c.terms[at].machine.own_wait(c.terms[at], cost)
    if wait and (not shortest or wait < shortest) then shortest = wait end
  end
  return shortest
end

-- A key that is shut out acts, at the earliest, when the penalty ends.
local function term_earliest(term, kept, now, cost)
  if kept.blocked_until > now then now = kept.blocked_until end
  return term.machine.earliest(term, kept.inner, now, cost)
end

function several_terms.earliest(c, s, now, cost)
  local latest = now
  for at = 1, #c.terms do
    local ready_at = term_earliest(c.terms[at], s[at], now, cost)
    if ready_at > latest then latest = ready_at end
  end
  return latest
end

-- Only the terms that refuse by themselves punish; whether one did.
function several_terms.refuse(c, s, now, patience, cost)
  local punished = false
  for at = 1, #c.terms do
    local term, kept = c.terms[at], s[at]
    if cost > 0 and term.penalty > 0 and now >= kept.blocked_until and
      term_earliest(term, kept, now, cost) - now > patience then
      kept.blocked_until = now + term.penalty
      punished = true
    end
  end
  return punished
end

function several_terms.charge(c, s, at, cost)
  for index = 1, #c.terms do
    c.terms[index].machine.charge(c.terms[index], s[index].inner, at, cost)
  end
end

function several_terms.room(c, s, now)
  local least, limit
  for at = 1, #c.terms do
    local term, kept = c.terms[at], s[at]
    local its_limit, remaining = term.machine.room(term, kept.inner, now)
    if now < kept.blocked_until then remaining = 0 end
    if not least or remaining < least then least, limit = remaining, its_limit end
  end
  return limit, least
end

function several_terms.fresh_at(c, s)
  local latest = never
  for at = 1, #c.terms do
    local term, kept = c.terms[at], s[at]
    local fresh_at = term.machine.fresh_at(term, kept.inner)
    if kept.blocked_until > fresh_at then fresh_at = kept.blocked_until end
    if fresh_at > latest then latest = fresh_at end
  end
  return latest
end

function several_terms.mark(c, s, marks)
  for at = 1, #c.terms do c.terms[at].machine.mark(c.terms[at], s[at].inner, marks) end
end

-- Each term gives back what it can; the caller hears the least.
function several_terms.cancel(c, s, now, grant)
  if s.count ~= #c.terms then return 0 end
  local least
  for at = 1, #c.terms do
    local term = c.terms[at]
    local whole, rest = grant.marks[2 * at - 1], grant.marks[2 * at]
    local back = term.machine.cancel(term, s[at].inner, now, grant, whole, rest)
    if not least or back < least then least = back end
  end
  return least
end

function several_terms.refund(c, s, now, units)
  if s.count ~= #c.terms then return 0 end
  local least
  for at = 1, #c.terms do
    local term = c.terms[at]
    local back = term.machine.refund(term, s[at].inner, now, units)
    if not least or back < least then least = back end
  end
  return least
end

-- Of the terms that hand out permits; what the others were charged stays.
function several_terms.release(c, s, now, permit)
  local units = 0
  for at = 1, #c.terms do
    local term = c.terms[at]
    if term.machine.release then
      units = units + term.machine.release(term, s[at].inner, now, permit)
    end
  end
  return units
end

function several_terms.renew(c, s, now, permit)
  local longest = 0
  for at = 1, #c.terms do
    local term = c.terms[at]
    local left = term.machine.renew and term.machine.renew(term, s[at].inner, now, permit) or 0
    if left > longest then longest = left end
  end
  return longest
end

-- A penalty can only have been given now.
function several_terms.settle(c, s, now, slack)
  local settled = false
  for at = 1, #c.terms do
    local term, kept = c.terms[at], s[at]
    if kept.blocked_until > now + term.penalty then
      kept.blocked_until, settled = now + term.penalty, true
    end
    settled = term.machine.settle(term, kept.inner, now, slack) or settled
  end
  return settled
end
