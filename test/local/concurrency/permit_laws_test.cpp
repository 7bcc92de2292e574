// Every host of permits against what it has to answer, step by step, for random steps: no permit is
// leaked, none is doubled, and everybody is served in the order that is promised.
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "test/local/concurrency/naive_permits.hpp"
#include "weir/local/concurrency.hpp"
#include "weir/local/leased_concurrency.hpp"
#include "weir/local/partitioned_concurrency.hpp"

namespace weir {

extern const int steps_of_a_run;
extern const int runs;

namespace {

using std::chrono::nanoseconds;
using Answer = NaivePermits::Answer;
using Asker = NaivePermits::Asker;
using Moved = NaivePermits::Moved;

/// One who waits, and writes down that it was told.
class Listed final : public Waiter {
 public:
  Listed(const Asker& asker, Moved& moved) : asker_(asker), moved_(moved) {
    entry = {asker.weight, static_cast<Priority>(asker.priority)};
  }
  const Asker& asker() const { return asker_; }

 private:
  void moved() noexcept override {
    switch (state) {
      case State::let_in: moved_.push_back({asker_.id, Answer::let_in}); break;
      case State::turned_away: moved_.push_back({asker_.id, Answer::turned_away}); break;
      case State::impossible: moved_.push_back({asker_.id, Answer::impossible}); break;
      default: moved_.push_back({asker_.id, Answer::waits});
    }
  }

  Asker asker_;
  Moved& moved_;
};

std::vector<double> shares_of(const std::vector<std::int64_t>& tenths) {
  std::vector<double> shares;
  for (const std::int64_t each : tenths) shares.push_back(static_cast<double>(each) / 10);
  return shares;
}

Ceilings ceilings_of(const NaivePermits::Rules& rules) {
  const auto shares = shares_of(rules.tenths);
  return {shares[1], shares[2], shares[3]};
}

struct Plain {
  using Host = ConcurrencyHost;
  explicit Plain(const NaivePermits::Rules& rules)
      : host(*Host::configure({.limit = rules.limit,
                               .queue = rules.queue,
                               .order = rules.order,
                               .ceilings = ceilings_of(rules)})) {}
  static void shape(NaivePermits::Rules&, std::mt19937_64&) {}
  Host& of(std::size_t) { return host; }
  Host host;
};

struct Leased {
  using Host = LeasedHost;
  explicit Leased(const NaivePermits::Rules& rules)
      : host(*Host::configure({.limit = rules.limit,
                               .lease_for = nanoseconds{rules.lease_for},
                               .queue = rules.queue,
                               .order = rules.order,
                               .ceilings = ceilings_of(rules)})) {}
  static void shape(NaivePermits::Rules& rules, std::mt19937_64& random) {
    rules.lease_for = 20 + static_cast<std::int64_t>(random() % 100);
  }
  Host& of(std::size_t) { return host; }
  Host host;
};

struct InPartitions {
  using Host = PartitionHost;
  explicit InPartitions(const NaivePermits::Rules& rules)
      : all({*Partitions::configure(rules.limit, shares_of(rules.guaranteed_tenths)),
             {rules.queue, rules.order}}) {
    for (std::size_t at = 0; at < rules.guaranteed_tenths.size(); ++at) {
      partitions.push_back(PartitionHost({all, at}));
    }
  }
  static void shape(NaivePermits::Rules& rules, std::mt19937_64& random) {
    rules.tenths = {10, 10, 10, 10};
    rules.guaranteed_tenths.clear();
    std::int64_t left = 10;
    for (std::size_t count = 2 + random() % 3; count > 0; --count) {
      rules.guaranteed_tenths.push_back(static_cast<std::int64_t>(random() % 5) % (left + 1));
      left -= rules.guaranteed_tenths.back();
    }
  }
  Host& of(std::size_t partition) { return partitions[partition]; }
  PartitionedHost all;
  std::vector<PartitionHost> partitions;
};

template <typename Subject>
class Run {
 public:
  using Host = typename Subject::Host;

  explicit Run(std::uint64_t seed)
      : random_(seed), rules_(rules()), naive_(rules_), subject_(rules_) {}

  /// What is wrong after one more step; empty where nothing is.
  std::string step() {
    now_ += static_cast<std::int64_t>(random_() % 4);
    if constexpr (Host::expires) {
      naive_.advance(now_);
      static_cast<void>(subject_.host.renew({}, now()));  // nobody's: it only tells the time
      const std::string ended = compare();
      if (!ended.empty()) return ended;
    }
    const std::string what = act();
    if (!what.empty()) return what;
    return compare();
  }

 private:
  struct Held {
    int id;
    std::size_t partition;
    typename Host::Holding holding;
  };

  NaivePermits::Rules rules() {
    NaivePermits::Rules rules;
    rules.limit = 1 + below(12);
    rules.queue = random_() % 6;
    rules.order = random_() % 2 == 0 ? QueueOrder::first_come : QueueOrder::newest_first;
    for (std::size_t at = 1; at < priorities; ++at) {
      rules.tenths[at] = rules.tenths[at - 1] - below(rules.tenths[at - 1] + 1) % 4;
    }
    Subject::shape(rules, random_);
    return rules;
  }

  std::string act() {
    switch (random_() % 16) {
      case 0:
      case 1:
      case 2: return try_enter();
      case 3:
      case 4:
      case 5:
      case 6: return join();
      case 7:
      case 8:
      case 9:
      case 10:
      case 11: return leave();
      case 12: return give_up(random_() % 2 == 0 ? Refusal::stopped : Refusal::timed_out);
      case 13: return destroy();
      case 14: return crash_or_renew();
      default: return random_() % 8 == 0 ? set_limit() : leave();
    }
  }

  Asker ask() {
    Asker asker;
    asker.id = ++last_id_;
    asker.weight = random_() % 3 == 0 ? below(6) : 1;
    asker.priority = random_() % 2 == 0 ? 1 : random_() % priorities;
    asker.partition = random_() % rules_.guaranteed_tenths.size();
    return asker;
  }
  Host& host(const Asker& asker) { return subject_.of(asker.partition); }

  std::string try_enter() {
    const Asker asker = ask();
    const auto admitted =
        host(asker).try_enter({asker.weight, static_cast<Priority>(asker.priority)}, now());
    const Answer expected = naive_.try_enter(asker);
    if (answer(admitted) != expected) return "try_enter answers otherwise";
    return keep(asker, admitted);
  }

  std::string join() {
    const Asker asker = ask();
    auto waiter = std::make_unique<Listed>(asker, moved_);
    const auto admitted = host(asker).enter_or_join(*waiter, now());
    const Answer expected = naive_.enter_or_join(asker);
    if (answer(admitted) != expected) return "enter_or_join answers otherwise";
    if (expected == Answer::waits) {  // else nobody needs it any more
      waiters_.push_back(std::move(waiter));
      return {};
    }
    return keep(asker, admitted);
  }

  std::string leave() {
    if (held_.empty()) return {};
    const std::size_t at = random_() % held_.size();
    const Held held = held_[at];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
    const bool left = subject_.of(held.partition).leave(held.holding, now());
    if (left != naive_.leave(held.id)) return "leave answers otherwise";
    if constexpr (Host::expires) {
      if (subject_.of(0).leave(held.holding, now())) return "left twice";
    }
    return {};
  }

  std::string give_up(Refusal because) {
    if (waiters_.empty()) return {};
    const std::size_t at = random_() % waiters_.size();
    const std::unique_ptr<Listed> waiter = take_waiter(at);
    const Asker asker = waiter->asker();
    const auto admitted = host(asker).give_up(*waiter, because, now());
    if (!naive_.give_up(asker.id)) return "one gave up that did not wait";
    if (admitted.verdict != Verdict::denied || admitted.refusal != because) {
      return "give_up answers otherwise";
    }
    return {};
  }

  /// As a coroutine that is destroyed: what it was handed goes back.
  std::string destroy() {
    if (waiters_.empty()) return {};
    std::unique_ptr<Listed> waiter = take_waiter(random_() % waiters_.size());
    const Asker asker = waiter->asker();
    const auto admitted = host(asker).give_up(*waiter, Refusal::stopped, now());
    if (admitted.verdict == Verdict::granted) return "it was handed a permit, and not told";
    if (!naive_.give_up(asker.id)) return "one was destroyed that did not wait";
    return {};
  }

  /// One whose holder never comes back; without leases that would be for ever.
  std::string crash_or_renew() {
    if constexpr (Host::expires) {
      if (held_.empty()) return {};
      const std::size_t at = random_() % held_.size();
      if (random_() % 2 == 0) {
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (subject_.of(0).renew(held_[at].holding, now()) != naive_.renew(held_[at].id)) {
        return "renew answers otherwise";
      }
    }
    return {};
  }

  std::string set_limit() {
    const std::int64_t limit = 1 + below(12);
    naive_.set_limit(limit);
    if constexpr (requires { subject_.host.set_limit(limit, now()); }) {
      subject_.host.set_limit(limit, now());
    } else {
      subject_.all.set_limit(limit);
    }
    return {};
  }

  std::string compare() {
    const Moved expected = naive_.take_moved();
    if (moved_ != expected) return "others were told otherwise";
    for (const auto& [id, how] : moved_) {
      for (std::size_t at = 0; at < waiters_.size(); ++at) {
        if (waiters_[at]->asker().id != id) continue;
        const std::unique_ptr<Listed> waiter = take_waiter(at);
        const auto admitted = host(waiter->asker()).look(*waiter, now());
        if (answer(admitted) != how) return "look answers otherwise";
        const std::string what = keep(waiter->asker(), admitted);
        if (!what.empty()) return what;
        break;
      }
    }
    moved_.clear();
    for (std::size_t at = 0; at < rules_.guaranteed_tenths.size(); ++at) {
      if (subject_.of(at).in_flight() != naive_.in_flight(at)) return "in flight: otherwise";
      if (subject_.of(at).waiting() != naive_.waiting(at)) return "as many do not wait";
    }
    return {};
  }

  std::string keep(const Asker& asker, const typename Host::Admitted& admitted) {
    if (admitted.verdict != Verdict::granted) return {};
    held_.push_back({asker.id, asker.partition, admitted.holding});
    if (admitted.in_flight > naive_.limit()) return "let in above the limit";
    return {};
  }

  static Answer answer(const typename Host::Admitted& admitted) {
    switch (admitted.verdict) {
      case Verdict::granted: return Answer::let_in;
      case Verdict::deferred: return Answer::waits;
      case Verdict::impossible: return Answer::impossible;
      default:
        return admitted.refusal == Refusal::line_full ? Answer::turned_away : Answer::refused;
    }
  }

  std::unique_ptr<Listed> take_waiter(std::size_t at) {
    std::unique_ptr<Listed> waiter = std::move(waiters_[at]);
    waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(at));
    return waiter;
  }

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }
  SteadyInstant now() const { return SteadyInstant{nanoseconds{now_}}; }

  std::mt19937_64 random_;
  NaivePermits::Rules rules_;
  NaivePermits naive_;
  Moved moved_;
  Subject subject_;
  std::vector<Held> held_;
  std::vector<std::unique_ptr<Listed>> waiters_;
  int last_id_ = 0;
  std::int64_t now_ = 0;
};

template <typename Subject>
class PermitLaws : public testing::Test {};
using Subjects = testing::Types<Plain, Leased, InPartitions>;
TYPED_TEST_SUITE(PermitLaws, Subjects);

TYPED_TEST(PermitLaws, HoldForRandomSteps) {
  for (int seed = 1; seed <= runs; ++seed) {
    Run<TypeParam> run(static_cast<std::uint64_t>(seed));
    for (int step = 0; step < steps_of_a_run; ++step) {
      const std::string what = run.step();
      ASSERT_EQ(what, "") << "seed " << seed << ", step " << step;
    }
  }
  std::cout << runs << " runs of " << steps_of_a_run << " steps\n";
}

}  // namespace
}  // namespace weir
