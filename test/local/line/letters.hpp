// The alphabet of what may happen to a line, walked and drawn from.
#pragma once

#include <array>
#include <random>

#include "test/law/machines.hpp"
#include "test/local/line/laws.hpp"

namespace weir::line_laws {

/// One letter of the alphabet.
struct Letter {
  enum class Kind : std::uint8_t {
    advance,
    take,
    wait,
    reserve,
    leave,
    lower,
    refund,
    owe,
    reconfigure
  };
  Kind kind;
  int number = 0;  ///< ticks, a cost, which place or which configuration
  Inherit how = Inherit::reset;
};

inline constexpr std::array kind_names{"advance", "take",   "wait", "reserve",    "leave",
                                       "lower",   "refund", "owe",  "reconfigure"};
inline constexpr std::array inherit_names{"reset", "as_is", "proportional", "additive"};

inline std::string print(const Letter& letter) {
  std::string text = kind_names[static_cast<std::size_t>(letter.kind)];
  text += ' ' + std::to_string(letter.number);
  if (letter.kind == Letter::Kind::reconfigure) {
    text += std::string(" ") + inherit_names[static_cast<std::size_t>(letter.how)];
  }
  return text;
}

inline std::vector<Letter> lasting_letters() {
  using Kind = Letter::Kind;
  return {{Kind::advance, 1}, {Kind::advance, 3}, {Kind::take, 1},    {Kind::take, 2},
          {Kind::wait, 1},    {Kind::wait, 2},    {Kind::reserve, 1}, {Kind::reserve, 2},
          {Kind::leave, 0},   {Kind::leave, 1},   {Kind::leave, 2},   {Kind::lower, 0},
          {Kind::lower, 1},   {Kind::refund},     {Kind::owe, 1},     {Kind::owe, 3}};
}

/// With changes of the numbers too: each configuration by two of the inheritances.
inline std::vector<Letter> all_letters() {
  using Kind = Letter::Kind;
  std::vector<Letter> letters{
      {Kind::advance, 1}, {Kind::take, 2},  {Kind::wait, 1},  {Kind::wait, 2},  {Kind::reserve, 1},
      {Kind::reserve, 2}, {Kind::leave, 0}, {Kind::leave, 1}, {Kind::lower, 0}, {Kind::owe, 3}};
  for (const int which : {0, 1}) {
    for (const Inherit how : {Inherit::as_is, Inherit::proportional}) {
      letters.push_back({Kind::reconfigure, which, how});
    }
  }
  letters.push_back({Kind::reconfigure, 0, Inherit::additive});
  letters.push_back({Kind::reconfigure, 1, Inherit::reset});
  return letters;
}

template <typename M>
void follow(Laws<M>& laws, const Letter& letter) {
  using Kind = Letter::Kind;
  const auto number = static_cast<std::size_t>(letter.number);
  switch (letter.kind) {
    case Kind::advance: return laws.advance(Span{letter.number});
    case Kind::take: static_cast<void>(laws.take(letter.number)); return;
    case Kind::wait: return laws.join({Place::Kind::waiter, letter.number});
    case Kind::reserve: return laws.join({Place::Kind::reservation, letter.number});
    case Kind::leave: return laws.leave(number);
    case Kind::lower: return laws.lower(number);
    case Kind::refund: return laws.refund_newest();
    case Kind::owe: return laws.owe(letter.number);
    case Kind::reconfigure: return laws.reconfigure(number, letter.how);
  }
}

struct Report {
  std::size_t schedules = 0;
  std::size_t events = 0;
  std::size_t moves = 0;  ///< places that were told another instant
  std::size_t acted = 0;
  std::string violation;
};

/// The first broken law of a word.
template <typename M>
std::string violation_of(const std::vector<typename M::Config>& configs,
                         const std::vector<Letter>& word) {
  Laws<M> laws(configs);
  for (const Letter& letter : word) {
    follow(laws, letter);
    if (!laws.violation().empty()) break;
  }
  return laws.violation();
}

/// What breaks a law, without the letters that it does not need.
template <typename M>
std::string explain(const std::vector<typename M::Config>& configs, std::vector<Letter> word) {
  for (std::size_t piece = word.size(); piece > 0; piece /= 2) {
    for (std::size_t at = 0; at + piece <= word.size();) {
      std::vector<Letter> less = word;
      const auto begin = less.begin() + static_cast<std::ptrdiff_t>(at);
      less.erase(begin, begin + static_cast<std::ptrdiff_t>(piece));
      if (violation_of<M>(configs, less).empty()) {
        ++at;
      } else {
        word = std::move(less);
      }
    }
  }
  std::string text = violation_of<M>(configs, word) + "; from -2:";
  for (const Letter& letter : word) text += "\n  " + print(letter);
  return text;
}

/// Every word of so many letters, each from the beginning: a line cannot be copied.
template <typename M>
Report walk(const std::vector<typename M::Config>& configs, const std::vector<Letter>& letters,
            std::size_t depth) {
  Report report;
  std::vector<std::size_t> word(depth, 0);
  for (;;) {
    Laws<M> laws(configs);
    std::size_t at = 0;
    for (; at < depth && laws.violation().empty(); ++at) follow(laws, letters[word[at]]);
    ++report.schedules;
    report.events += at;
    report.moves += laws.moves();
    report.acted += laws.acted();
    if (!laws.violation().empty()) {
      std::vector<Letter> broken;
      for (std::size_t of = 0; of < at; ++of) broken.push_back(letters[word[of]]);
      report.violation = explain<M>(configs, broken);
      return report;
    }
    std::size_t turn = depth;
    while (turn > 0 && ++word[turn - 1] == letters.size()) word[--turn] = 0;
    if (turn == 0) return report;
  }
}

struct Draw {
  std::uint64_t seed;
  std::size_t events;
};

/// Words by chance, over one line that lives long.
template <typename M>
Report draw(const std::vector<typename M::Config>& configs, const std::vector<Letter>& letters,
            Draw drawn) {
  Report report;
  std::mt19937_64 random(drawn.seed);
  while (report.events < drawn.events && report.violation.empty()) {
    Laws<M> laws(configs);
    ++report.schedules;
    std::vector<Letter> word;
    for (std::size_t event = 0; event < 2'000 && laws.violation().empty(); ++event) {
      Letter letter = letters[random() % letters.size()];
      const bool costly = letter.kind == Letter::Kind::wait || letter.kind == Letter::Kind::reserve;
      if (costly || letter.kind == Letter::Kind::take) {
        letter.number = 1 + static_cast<int>(random() % 3);
      } else if (letter.kind == Letter::Kind::leave || letter.kind == Letter::Kind::lower) {
        letter.number = static_cast<int>(random() % 8);
      } else if (letter.kind == Letter::Kind::advance) {
        letter.number = static_cast<int>(random() % (random() % 16 == 0 ? 64 : 4));
      }
      word.push_back(letter);
      follow(laws, letter);
      ++report.events;
    }
    report.moves += laws.moves();
    report.acted += laws.acted();
    if (!laws.violation().empty()) report.violation = explain<M>(configs, word);
  }
  return report;
}

}  // namespace weir::line_laws
