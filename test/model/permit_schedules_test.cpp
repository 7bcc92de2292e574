// A concurrency limit under every schedule of two or three threads with few preemptions, and under
// some by chance: who enters and leaves without the lock against all that is done with it.
#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <memory>
#include <string>

#include "test/model/explore.hpp"
#include "test/model/turns.hpp"
#include "weir/local/concurrency.hpp"

namespace weir::model {

extern const Bounds word_bounds;

namespace {

using std::string;
using Admitted = ConcurrencyHost::Admitted;
using Settings = ConcurrencyHost::Settings;

class Told final : public Waiter {
  void moved() noexcept override {}
};

/// A limit, who waits for it, and how many were let in. Threads count apart.
class Stage {
 public:
  explicit Stage(const Settings& settings) : host_(*ConcurrencyHost::configure(settings)) {
    watch(&host_, sizeof host_);
  }

  ConcurrencyHost& host() { return host_; }
  /// The largest limit of the scene, where that is not the first.
  void set_most(std::int64_t most) { most_ = most; }

  bool enter(std::size_t thread) {
    const Admitted admitted = host_.try_enter({}, {});
    count(thread, admitted);
    return admitted.verdict == Verdict::granted;
  }
  void join(std::size_t thread) { count(thread, host_.enter_or_join(waiters_[thread], {})); }
  /// Whether one that joined was let in, at once or later.
  bool is_served(std::size_t thread) {
    return entered_[thread] > 0 || host_.look(waiters_[thread], {}).verdict == Verdict::granted;
  }
  /// As who stops does: what it was handed meanwhile goes back.
  void give_up(std::size_t thread) {
    const Admitted admitted = host_.give_up(waiters_[thread], Refusal::stopped, {});
    if (admitted.verdict != Verdict::granted) return;
    gone_[thread] = true;
    host_.leave(1, {});
  }
  void leave(std::size_t thread) {
    host_.leave(1, {});
    --entered_[thread];
  }

  /// Who was let in is in flight, and nobody waits where there is room.
  string judge() {
    std::int64_t held = 0;
    bool one_waits = false;
    for (std::size_t at = 0; at < most_threads; ++at) {
      held += entered_[at];
      held += waiters_[at].state == Waiter::State::let_in && !gone_[at] ? 1 : 0;
      one_waits = one_waits || waiters_[at].state == Waiter::State::waits;
    }
    const std::int64_t in_flight = host_.in_flight();
    if (in_flight != held) {
      return std::to_string(held) + " hold, " + std::to_string(in_flight) + " in flight";
    }
    if (above_) return "let in above the limit";
    if (one_waits != (host_.waiting() > 0)) return "the room disagrees with who waits";
    if (in_flight >= host_.limit()) return {};
    if (one_waits) return "one waits, and there is room";
    return enter(0) ? string() : "there is room, and nobody gets it";
  }

 private:
  void count(std::size_t thread, const Admitted& admitted) {
    if (admitted.verdict != Verdict::granted) return;
    ++entered_[thread];
    if (admitted.in_flight > most_) above_ = true;
  }

  ConcurrencyHost host_;
  std::int64_t most_ = host_.limit();
  std::array<Told, most_threads> waiters_;
  std::array<std::int64_t, most_threads> entered_{};
  std::array<bool, most_threads> gone_{};
  bool above_ = false;
};

using StagePtr = std::shared_ptr<Stage>;

template <typename Cast>
void expect_no_fault(const Settings& settings, Cast&& cast) {
  const Explored explored =
      explore([&] { return cast(std::make_shared<Stage>(settings)); }, word_bounds);
  EXPECT_EQ(explored.fault, "");
  EXPECT_GT(explored.schedules, word_bounds.by_chance + 2);
  std::cout << explored.schedules << " schedules of up to " << explored.longest << " choices\n";
}

constexpr Settings of_one{.limit = 1, .queue = 4};
constexpr Settings of_two{.limit = 2, .queue = 4};

TEST(PermitSchedules, OfThreeThatEnterLetInTwo) {
  expect_no_fault(of_two, [](const StagePtr& stage) -> Scene {
    const auto enter = [stage](std::size_t thread) {
      return [stage, thread] { static_cast<void>(stage->enter(thread)); };
    };
    return {{enter(0), enter(1), enter(2)}, [stage]() -> string {
              if (stage->host().in_flight() != 2) return "not two";
              return stage->judge();
            }};
  });
}

TEST(PermitSchedules, OfOneThatLeavesAsAnotherComesToWaitForgetNobody) {
  expect_no_fault(of_one, [](const StagePtr& stage) -> Scene {
    static_cast<void>(stage->enter(0));
    return {{[stage] { stage->leave(0); }, [stage] { stage->join(1); },
             [stage] {
               if (stage->enter(2)) stage->leave(2);
             }},
            [stage]() -> string {
              if (!stage->is_served(1)) return "it waits for ever";
              return stage->judge();
            }};
  });
}

TEST(PermitSchedules, OfTwoThatLeaveAndTwoThatWaitServeBoth) {
  expect_no_fault(of_two, [](const StagePtr& stage) -> Scene {
    static_cast<void>(stage->enter(0));
    static_cast<void>(stage->enter(1));
    stage->join(3);
    return {
        {[stage] { stage->leave(0); }, [stage] { stage->leave(1); }, [stage] { stage->join(2); }},
        [stage]() -> string {
          for (const std::size_t waiter : {std::size_t{2}, std::size_t{3}}) {
            if (!stage->is_served(waiter)) return "one was forgotten";
          }
          return stage->judge();
        }};
  });
}

TEST(PermitSchedules, OfANewcomerNeverLetItOvertakeThoseInLine) {
  expect_no_fault(of_one, [](const StagePtr& stage) -> Scene {
    static_cast<void>(stage->enter(0));
    stage->join(0);
    stage->join(1);
    const auto overtook = std::make_shared<bool>(false);
    return {{[stage] { stage->leave(0); }, [stage, overtook] { *overtook = stage->enter(2); },
             [stage] { stage->give_up(0); }},
            [stage, overtook]() -> string {
              if (*overtook) return "overtaken";
              if (!stage->is_served(1)) return "the second waits for ever";
              return stage->judge();
            }};
  });
}

TEST(PermitSchedules, OfOneThatGivesUpAsItIsHandedThePermitLeakNothing) {
  expect_no_fault(of_one, [](const StagePtr& stage) -> Scene {
    static_cast<void>(stage->enter(0));
    stage->join(1);
    return {
        {[stage] { stage->leave(0); }, [stage] { stage->give_up(1); }, [stage] { stage->join(2); }},
        [stage]() -> string {
          if (!stage->is_served(2)) return "the next waits for ever";
          return stage->judge();
        }};
  });
}

TEST(PermitSchedules, OfALoweredLimitLetNobodyInAboveIt) {
  expect_no_fault(of_two, [](const StagePtr& stage) -> Scene {
    const auto rose = std::make_shared<bool>(false);
    return {
        {[stage, rose] {
           stage->host().set_limit(1, {});
           const std::int64_t before = stage->host().in_flight();
           const std::int64_t after = stage->host().in_flight();
           *rose = after > before && after > 1;
         },
         [stage] {
           if (stage->enter(1)) stage->leave(1);
           static_cast<void>(stage->enter(1));
         },
         [stage] { static_cast<void>(stage->enter(2)); }},
        [stage, rose]() -> string { return *rose ? "let in by the old limit" : stage->judge(); }};
  });
}

TEST(PermitSchedules, OfARaisedLimitWakeWhoWaits) {
  expect_no_fault(of_one, [](const StagePtr& stage) -> Scene {
    static_cast<void>(stage->enter(0));
    stage->set_most(2);
    return {{[stage] { stage->host().set_limit(2, {}); }, [stage] { stage->join(1); },
             [stage] { stage->leave(0); }},
            [stage]() -> string {
              if (!stage->is_served(1)) return "it waits for ever";
              return stage->judge();
            }};
  });
}

TEST(PermitSchedules, OfOneTurnedAwayAsItIsServedCountItOnce) {
  constexpr Settings newest{.limit = 1, .queue = 1, .order = QueueOrder::newest_first};
  expect_no_fault(newest, [](const StagePtr& stage) -> Scene {
    static_cast<void>(stage->enter(0));
    stage->join(0);
    return {
        {[stage] { stage->leave(0); }, [stage] { stage->join(1); }, [stage] { stage->give_up(0); }},
        [stage] { return stage->judge(); }};
  });
}

}  // namespace
}  // namespace weir::model
