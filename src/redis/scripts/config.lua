-- A limit as one argument: its letter, the slack, its numbers; words with a blank between them.
-- Each text is read once.
local configs, configs_known = {}, 0

-- What a word says, if that is a whole number that a double holds exactly. Costs and patiences are
-- mostly the same few.
local numbers, numbers_known = {}, 0
local function whole_number(word)
  local number = numbers[word]
  if number then return number end
  number = number_of(word)
  if number and number >= 0 and number <= 9007199254740992 and number % 1 == 0 then
    if numbers_known == 1000 then numbers, numbers_known = {}, 0 end
    numbers[word] = number
    numbers_known = numbers_known + 1
    return number
  end
end

-- Takes a machine's letter, its numbers and the word that may stand behind them, from words[at] on;
-- the config, and where the next one is.
local function configured(words, at, slack)
  local machine = machines[words[at]]
  if not machine or machine.number == 5 then return nil end
  local numbers = {}
  for index = 1, machine.fields do
    local number = whole_number(words[at + index] or '')
    if not number then return nil end
    numbers[index] = number
  end
  local c = {machine = machine, take = machine.take, slack = slack, tag = words[at] .. '1'}
  local behind = at + machine.fields + 1
  if machine.has_word then
    numbers[#numbers + 1] = words[behind] or ''
    behind = behind + 1
  end
  if not machine.configure(c, spread(numbers)) then return nil end
  return c, behind
end

local function configured_terms(words, slack)
  local count = whole_number(words[3] or '')
  if not count or count < 1 or count > 8 or not machines.m then return nil end
  local c = {machine = machines.m, slack = slack, tag = 'm1', terms = {}}
  local at = 4
  for index = 1, count do
    local penalty = whole_number(words[at] or '')
    if not penalty or penalty > 1125899906842624 then return nil end
    local term, behind = configured(words, at + 1, slack)
    if not term then return nil end
    term.penalty = penalty
    if not c.limit or term.limit < c.limit then c.limit = term.limit end
    c.terms[index], at = term, behind
  end
  return c, at
end

local function config_of(text)
  local c = configs[text]
  if c then return c end
  local words = {}
  for word in words_of(text, '%S+') do words[#words + 1] = word end
  local slack = whole_number(words[2] or '')
  if not slack or slack > 1125899906842624 then return nil end
  local behind
  if words[1] == 'm' then
    c, behind = configured_terms(words, slack)
  else
    local letter = words[1]
    words[2] = letter
    c, behind = configured(words, 2, slack)
  end
  if not c or behind <= #words then return nil end
  if configs_known == 1000 then configs, configs_known = {}, 0 end
  configs[text] = c
  configs_known = configs_known + 1
  return c
end

local function no_config(text)
  return failure("ERR weir: '" .. sub(text, 1, 64) .. "' is no limit that this script knows; " ..
    'expected what `weir lua config LIMIT` prints')
end
