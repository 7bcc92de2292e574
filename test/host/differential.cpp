#include "test/host/differential.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <random>
#include <sstream>
#include <vector>

namespace weir::host {
namespace {

using Machine = Limit::Machine;

/// Every algorithm, with and without fractions of a tick, penalties and several at once. Periods
/// are near each other, so that one schedule exercises all.
constexpr std::array limit_texts{
    "5/1s",
    "100/1s burst 7",
    "3/7ms burst 4",
    "1000000/7ms burst 3000",
    "1M/1s",
    "leaky-bucket 10/1s",
    "leaky-bucket 10/1s queue 5",
    "leaky-bucket 7/3ms queue 20",
    "fixed-window 3/100ms",
    "fixed-window 50/1s",
    "sliding-window 4/1s",
    "sliding-window 6/70ms parts 3",
    "sliding-window 20/1s parts 1",
    "sliding-log 3/100ms",
    "sliding-log 40/1s",
    "calendar-window 300/minute",
    "calendar-window 500/minute zone Asia/Kathmandu & 20/100ms",
    "5/1s block 300ms",
    "leaky-bucket 10/1s queue 3 block 50ms",
    "sliding-log 3/1s block 2s",
    "10/1s burst 3 & 20/1m",
    "fixed-window 4/1s & sliding-log 10/5s",
    "leaky-bucket 10/1s queue 4 & sliding-window 8/2s parts 4",
    "concurrency 3/100ms",
    "concurrency 30/1s",
    "concurrency 4/2s block 300ms & 10/1s",
    "7/1s burst 2 block 100ms & fixed-window 5/1s & sliding-log 9/3s block 1s",
};

constexpr std::array<std::string_view, 5> key_texts{
    "user", "", std::string_view("\0\xff binary\r\n", 11),
    "a key that is too long to be kept inline", "{tag}:x"};

/// What the pure machine remembers of a key, and what happened to it.
struct Pure {
  Limit::State state;
  std::deque<std::string> history;
};

struct Ticket {
  std::size_t limit;
  std::string key;
  Grant grant;
};

std::string print(const Decision& decision) {
  std::ostringstream text;
  text << name(decision.verdict) << " ready_at " << decision.ready_at.time_since_epoch().count()
       << " limit " << decision.limit << " remaining " << decision.remaining << " reset_at "
       << decision.reset_at.time_since_epoch().count();
  return text.str();
}

/// What a host forgets by dropping a fresh state, and the machine keeps until it needs the room.
void forget_past(const SlidingLog::Config& config, SlidingLog::State& log, Instant now) {
  while (log.size > 0 && log[0] + config.period <= now) {
    log.head = static_cast<std::uint32_t>(log.slot(1));
    --log.size;
  }
}
template <typename Config, typename State>
void forget_past(const Config&, State&, Instant) {}
void forget_past(const Limit::Composite::Config& config, Box<Limit::Composite::State>& state,
                 Instant now) {
  auto& terms = state.open().terms;
  for (std::size_t at = 0; at < terms.size(); ++at) {
    if (terms[at].blocked_until <= now) terms[at].blocked_until = Instant::min();
    std::visit([&](const auto& term, auto& kept) { forget_past(term, kept, now); },
               config.terms[at].inner, terms[at].inner);
  }
}

Limit::State without_past(const Limit& limit, Limit::State state, Instant now) {
  std::visit([&](const auto& config, auto& kept) { forget_past(config, kept, now); },
             limit.config(), state);
  return state;
}

class Schedule {
 public:
  Schedule(Host& host, const std::vector<Limit>& limits, std::uint64_t seed, Instant& now,
           Compared& compared)
      : host_(host), limits_(limits), seed_(seed), random_(seed), now_(now), compared_(compared) {
    // A few limits and keys at a time, so that each state sees many events.
    for (int at = 0; at < 2; ++at) chosen_.push_back(below(limits.size()));
    for (int at = 0; at < 3; ++at) {
      keys_.push_back(std::string(key_texts[below(key_texts.size())]));
      if (at > 0) keys_.back() += std::to_string(seed);
    }
    interesting_ = now;
  }

  /// False once an answer differed.
  bool run(std::size_t events) {
    for (std::size_t event = 0; event < events && !differed_; ++event) one_event();
    return !differed_;
  }

  /// The first key has the same name in all schedules: forget it, so that each starts anew.
  void forget() {
    for (const std::size_t limit : chosen_) {
      for (const std::string& key : keys_) (void)host_.reset({key, limits_[limit]}, now_);
    }
  }

 private:
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

  void one_event() {
    pass_time();
    const std::size_t limit = chosen_[below(chosen_.size())];
    const std::string key = keys_[below(keys_.size())];
    const Subject subject{key, limits_[limit]};
    Pure& pure = pure_[{limit, key}];
    const std::size_t kind = below(100);
    const bool back = kind >= 80 && kind < 97;
    if (kind < 70 || (back && !host_.gives_back())) {
      take(subject, limit, pure);
    } else if (kind < 80) {
      peek(subject, pure);
    } else if (kind < 89) {
      cancel();
    } else if (kind < 92) {
      show_permit();
    } else if (kind < 97) {
      refund(subject, pure);
    } else if (kind < 98) {
      reset(subject, pure);
    } else {
      host_.idle(now_);
    }
    if (!differed_) look(subject, pure);
  }

  /// Mostly not at all or a little; often exactly to an instant that was promised, or beside it.
  void pass_time() {
    const std::size_t kind = below(20);
    Span step{0};
    if (kind < 11) {
      step = Span{0};
    } else if (kind < 13) {
      step = Span{1 + static_cast<std::int64_t>(below(3))};
    } else if (kind < 15) {
      step = Span{static_cast<std::int64_t>(below(3'000))};
    } else if (kind < 17) {
      step = Span{static_cast<std::int64_t>(below(100'000))};
    } else if (kind == 17 && below(8) == 0) {
      step = Span{static_cast<std::int64_t>(below(3'000'000))};
    } else {
      step = interesting_ - now_ + Span{static_cast<std::int64_t>(below(3)) - 1};
    }
    now_ += std::clamp(step, Span{0}, Span{120'000'000});
  }

  Request request(const Limit& limit) {
    const Cost capacity = Machine::capacity(limit.config());
    Request request{now_, 1, {}};
    const std::size_t kind = below(20);
    if (kind == 0) {
      request.cost = 0;
    } else if (kind == 1) {
      request.cost = capacity + static_cast<Cost>(below(2));
    } else if (kind < 6) {
      request.cost = 1 + static_cast<Cost>(below(static_cast<std::size_t>(capacity)));
    } else if (kind < 9 && capacity > 100) {
      request.cost = capacity / 3;
    }
    const std::size_t waits = below(4);
    if (waits == 0) request.patience = Span{0};
    if (waits == 1) request.patience = Span{static_cast<std::int64_t>(below(500'000))};
    if (request.patience) *request.patience -= *request.patience % host_.patience_grain();
    return request;
  }

  void take(const Subject& subject, std::size_t limit, Pure& pure) {
    const Request asked = request(subject.limit);
    note(pure, asked, "take");
    const std::size_t ticket = next_ticket_++;
    const Decision decision = host_.take(subject, asked, ticket);
    const Machine::Config& config = subject.limit.config();
    const Decision right = step<Machine>(config, pure.state, asked);
    compare(subject, pure, decision, right);
    if (taken(right.verdict)) {
      ++compared_.taken;
      if (asked.cost == 0) return;
      Grant grant = grant_of<Machine>(config, pure.state, asked, right);
      grant.turn = host_.turn();
      tickets_.emplace(ticket, Ticket{limit, std::string(subject.key), grant});
      interesting_ = right.ready_at > now_ || below(4) > 0 ? right.ready_at : right.reset_at;
    } else if (right.verdict == Verdict::denied) {
      ++compared_.denied;
      interesting_ = right.ready_at;
    }
  }

  void peek(const Subject& subject, Pure& pure) {
    Request asked = request(subject.limit);
    if (!host_.peeks_with_patience()) asked.patience.reset();
    note(pure, asked, "peek");
    compare(subject, pure, host_.peek(subject, asked),
            weir::peek<Machine>(subject.limit.config(), pure.state, asked));
  }

  /// One of the newest grants: older ones have mostly been used.
  void cancel() {
    if (tickets_.empty()) return;
    auto found = tickets_.end();
    std::advance(
        found, -1 - static_cast<std::ptrdiff_t>(below(std::min<std::size_t>(tickets_.size(), 6))));
    const auto& [number, ticket] = *found;
    const Subject subject{ticket.key, limits_[ticket.limit]};
    Pure& pure = pure_[{ticket.limit, ticket.key}];
    note(pure, {now_, ticket.grant.cost, {}}, "cancel");
    const Cost back = host_.cancel(subject, now_, number);
    const Cost right =
        weir::cancel<Machine>(subject.limit.config(), pure.state, now_, ticket.grant);
    compare(subject, pure, back, right);
    tickets_.erase(found);
  }

  /// Of one of the newest grants: the newest itself was cancelled, or its holder leaves or renews.
  void show_permit() {
    if (tickets_.empty()) return;
    auto found = std::prev(tickets_.end());
    for (std::size_t back = below(std::min<std::size_t>(tickets_.size(), 12)); back > 0; --back) {
      --found;
    }
    const Ticket& ticket = found->second;
    const auto term = limits_[ticket.limit].permit_term();
    if (!term) return;
    const Subject subject{ticket.key, limits_[ticket.limit]};
    const Machine::Config& config = subject.limit.config();
    const PermitId permit = Concurrency::permit_of(ticket.grant.marks.at(*term));
    Pure& pure = pure_[{ticket.limit, ticket.key}];
    if (below(2) == 0) {
      note(pure, {now_, ticket.grant.cost, {}}, "leave");
      compare(subject, pure, host_.leave(subject, now_, permit),
              Machine::leave(config, pure.state, now_, permit));
    } else {
      note(pure, {now_, ticket.grant.cost, {}}, "renew");
      const Span left = Machine::renew(config, pure.state, now_, permit);
      if (left > Span{0}) ++compared_.renewed;
      if (host_.renew(subject, now_, permit) != left) {
        differ(subject, pure, "another lease", std::to_string(left.count()));
      }
    }
  }

  void refund(const Subject& subject, Pure& pure) {
    const Cost units = 1 + static_cast<Cost>(below(4));
    note(pure, {now_, units, {}}, "refund");
    compare(subject, pure, host_.refund(subject, now_, units),
            Machine::refund(subject.limit.config(), pure.state, now_, units));
  }

  void reset(const Subject& subject, Pure& pure) {
    note(pure, {now_, 0, {}}, "reset");
    const bool was_fresh = Machine::fresh_at(subject.limit.config(), pure.state) <= now_;
    if (!host_.reset(subject, now_) && !was_fresh) {
      differ(subject, pure, "nothing was kept", "a state was kept");
    }
    pure.state = {};
    std::erase_if(tickets_, [&](const auto& numbered) {
      return numbered.second.key == subject.key &&
             &limits_[numbered.second.limit] == &subject.limit;
    });
  }

  void look(const Subject& subject, Pure& pure) {
    const auto stored = host_.stored(subject);
    if (!stored) return;
    ++compared_.states;
    const bool dropped =
        *stored == Limit::State{} && Machine::fresh_at(subject.limit.config(), pure.state) <= now_;
    if (!dropped && *stored != pure.state &&
        without_past(subject.limit, *stored, now_) !=
            without_past(subject.limit, pure.state, now_)) {
      differ(subject, pure, "another state", "its state");
    }
  }

  void note(Pure& pure, const Request& asked, const char* verb) {
    std::ostringstream text;
    text << "at " << asked.now.time_since_epoch().count() << " " << verb << " " << asked.cost;
    if (asked.patience) text << " patience " << asked.patience->count();
    pure.history.push_back(text.str());
    if (pure.history.size() > 24) pure.history.pop_front();
  }

  void compare(const Subject& subject, Pure& pure, const Decision& told, const Decision& right) {
    ++compared_.decisions;
    if (host_.comparable(told) != host_.comparable(right)) {
      differ(subject, pure, print(told), print(right));
    }
    pure.history.back() += " -> " + print(right);
  }

  void compare(const Subject& subject, Pure& pure, Cost told, Cost right) {
    compared_.given_back += static_cast<std::size_t>(right);
    if (told != right) differ(subject, pure, std::to_string(told), std::to_string(right));
    pure.history.back() += " -> " + std::to_string(right);
  }

  void differ(const Subject& subject, const Pure& pure, const std::string& told,
              const std::string& right) {
    differed_ = true;
    std::ostringstream text;
    text << host_.name() << ", seed " << seed_ << ", limit '" << subject.limit.text() << "', key "
         << testing::PrintToString(std::string(subject.key)) << "\n  host: " << told
         << "\n  pure: " << right << "\n";
    for (const std::string& line : pure.history) text << "    " << line << "\n";
    ADD_FAILURE() << text.str();
  }

  Host& host_;
  const std::vector<Limit>& limits_;
  std::uint64_t seed_;
  std::mt19937_64 random_;
  Instant& now_;
  Compared& compared_;
  std::vector<std::size_t> chosen_;
  std::vector<std::string> keys_;
  std::map<std::pair<std::size_t, std::string>, Pure> pure_;
  std::map<std::size_t, Ticket> tickets_;
  std::size_t next_ticket_ = 0;
  Instant interesting_;
  bool differed_ = false;
};

}  // namespace

Compared expect_equal_to_pure(Host& host, const Seeds& seeds) {
  std::vector<Limit> limits;
  for (const char* text : limit_texts) {
    Limit limit = Limit::parse(text).value();
    if (host.keeps(limit)) limits.push_back(std::move(limit));
  }
  Compared compared;
  Instant now{std::chrono::seconds{1'750'000'000}};
  for (std::size_t at = 0; at < seeds.count; ++at) {
    Schedule schedule(host, limits, seeds.first + at, now, compared);
    if (!schedule.run(seeds.events)) break;
    schedule.forget();
  }
  return compared;
}

}  // namespace weir::host
