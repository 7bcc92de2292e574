#include "cli/service_model.hpp"

#include <algorithm>
#include <deque>
#include <queue>

#include "cli/chance.hpp"

namespace weir::cli {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds never_again = nanoseconds::max();

/// The phase that an instant is in, for instants that never go back.
class PhaseClock {
 public:
  explicit PhaseClock(const std::vector<Phase>& phases)
      : phases_(phases), end_(phases.front().lasts_for) {}

  const Phase& at(nanoseconds now) {
    while (now >= end_ && index_ + 1 < phases_.size()) end_ += phases_[++index_].lasts_for;
    return phases_[index_];
  }
  nanoseconds end() const { return end_; }

 private:
  const std::vector<Phase>& phases_;
  std::size_t index_ = 0;
  nanoseconds end_;
};

/// The calls that come of themselves, one by one.
class Arrivals {
 public:
  explicit Arrivals(const Service& service)
      : service_(service), phase_(service.phases), chance_(service.seed) {}

  struct Arrival {
    nanoseconds at;  ///< never_again: no more
    nanoseconds work;
  };

  Arrival next() {
    for (;;) {
      const Phase& phase = phase_.at(now_);
      if (phase.load > 0) {
        const double rate = phase.load * service_.capacity();
        now_ += chance_.wait(nanoseconds{static_cast<std::int64_t>(1e9 / rate)});
      }
      if (phase.load > 0 && now_ < phase_.end()) return {now_, work_by(chance_)};
      // A Poisson process has no memory: it may begin anew wherever its rate changes.
      now_ = phase_.end();
      if (now_ >= service_.length()) return {never_again, {}};
    }
  }

  nanoseconds work_by(Chance& chance) const {
    const double time = static_cast<double>(service_.service_time.count());
    const double certain = time * (1 - service_.spread);
    const double uncertain = time * service_.spread;
    const auto by_chance = static_cast<std::int64_t>(uncertain * chance.wait());
    return nanoseconds{static_cast<std::int64_t>(certain) + by_chance};
  }

 private:
  const Service& service_;
  PhaseClock phase_;
  Chance chance_;
  nanoseconds now_{};
};

class Run {
 public:
  Run(const Service& service, Protection& protection)
      : service_(service),
        protection_(protection),
        arrivals_(service),
        pace_(service.phases),
        chance_of_retries_(service.seed + 1) {
    run_.seconds.resize(static_cast<std::size_t>(service.length().count()));
  }

  ServiceRun run() {
    const nanoseconds end = service_.length();
    arrival_ = arrivals_.next();
    for (;;) {
      // Of things at one instant an answer comes first: one that is just in time is in time.
      const nanoseconds answer = serving_.empty() ? never_again : serving_.top().at;
      const nanoseconds deadline = deadlines_.empty() ? never_again : deadlines_.front().at;
      const nanoseconds retry = retries_.empty() ? never_again : retries_.front().at;
      const nanoseconds next = std::min({answer, deadline, retry, arrival_.at});
      pass_seconds(std::min(next, end));
      if (next >= end) break;
      now_ = next;
      if (next == answer) {
        finish();
      } else if (next == deadline) {
        give_up();
      } else if (next == retry) {
        const Retry again = retries_.front();
        retries_.pop_front();
        ask({arrivals_.work_by(chance_of_retries_), again.tries_left});
      } else {
        const nanoseconds work = arrival_.work;
        arrival_ = arrivals_.next();
        ask({work, service_.retries});
      }
    }
    run_.unanswered = inside_;
    return std::move(run_);
  }

 private:
  struct Call {
    nanoseconds asked_at{};
    nanoseconds work{};
    std::int64_t tries_left = 0;
    std::int64_t in_flight = 0;  ///< when it was let in, itself among them
    Protection::Mark mark{};
    std::uint64_t serial = 0;  ///< of the place: which of those that had it this is
    bool given_up = false;
  };
  struct Served {
    nanoseconds at;
    std::size_t place;
    bool operator>(const Served& other) const {
      return at != other.at ? at > other.at : place > other.place;
    }
  };
  struct Deadline {
    nanoseconds at;
    std::size_t place;
    std::uint64_t serial;
  };
  struct Retry {
    nanoseconds at;
    std::int64_t tries_left;
  };
  struct Question {
    nanoseconds work;
    std::int64_t tries_left;
  };

  static SteadyInstant instant(nanoseconds at) {
    return SteadyInstant{std::chrono::duration_cast<SteadyInstant::duration>(at)};
  }

  ServiceRun::Second& second() { return run_.seconds[static_cast<std::size_t>(now_ / seconds{1})]; }

  void pass_seconds(nanoseconds next) {
    for (; seconds{passed_ + 1} <= next; ++passed_) {
      run_.seconds[static_cast<std::size_t>(passed_)].limit = protection_.limit();
    }
  }

  void ask(const Question& question) {
    ++second().offered;
    const bool at_door = protection_.seat() == Protection::Seat::door;
    std::int64_t& in_flight = at_door ? inside_ : awaited_;
    const auto busy = static_cast<std::int64_t>(serving_.size()) * 1'000 / service_.servers;
    const auto mark =
        protection_.enter({instant(now_), in_flight, static_cast<std::int32_t>(busy)});
    if (!mark) {
      ++second().refused;
      ask_again(question.tries_left);
      return;
    }
    ++inside_;
    ++awaited_;
    const std::size_t place = free_place();
    Call& call = calls_[place];
    const std::uint64_t serial = call.serial + 1;
    call = {now_, question.work, question.tries_left, in_flight, *mark, serial, false};
    deadlines_.push_back({now_ + service_.timeout, place, serial});
    line_.push_back(place);
    serve();
  }

  void ask_again(std::int64_t tries_left) {
    if (tries_left > 0) retries_.push_back({now_ + service_.retry_after, tries_left - 1});
  }

  std::size_t free_place() {
    if (free_.empty()) {
      calls_.emplace_back();
      return calls_.size() - 1;
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    return place;
  }

  void serve() {
    while (!line_.empty() && serving_.size() < static_cast<std::size_t>(service_.servers)) {
      const std::size_t place = line_.front();
      line_.pop_front();
      const double work = static_cast<double>(calls_[place].work.count());
      const auto takes = static_cast<std::int64_t>(work * pace_.at(now_).slowdown);
      serving_.push({now_ + nanoseconds{takes}, place});
    }
  }

  void finish() {
    const std::size_t place = serving_.top().place;
    serving_.pop();
    Call& call = calls_[place];
    const nanoseconds latency = now_ - call.asked_at;
    ++(call.given_up ? second().late : second().in_time);
    run_.answers.push_back({now_, latency});
    --inside_;
    if (!call.given_up) --awaited_;
    if (!call.given_up || protection_.seat() == Protection::Seat::door) {
      tell(call, call.given_up ? CallEnd::dropped : CallEnd::success);
    }
    ++call.serial;
    free_.push_back(place);
    serve();
  }

  /// The caller at the front of the deadlines, unless it has its answer.
  void give_up() {
    const Deadline deadline = deadlines_.front();
    deadlines_.pop_front();
    Call& call = calls_[deadline.place];
    if (call.serial != deadline.serial) return;
    call.given_up = true;
    --awaited_;
    if (protection_.seat() == Protection::Seat::caller) tell(call, CallEnd::dropped);
    ask_again(call.tries_left);
  }

  void tell(const Call& call, CallEnd end) {
    protection_.ended(call.mark, {.ended_at = instant(now_),
                                  .latency = now_ - call.asked_at,
                                  .in_flight = call.in_flight,
                                  .end = end});
  }

  const Service& service_;
  Protection& protection_;
  Arrivals arrivals_;
  PhaseClock pace_;
  Chance chance_of_retries_;

  nanoseconds now_{};
  std::int64_t passed_ = 0;  ///< seconds
  Arrivals::Arrival arrival_{};
  std::vector<Call> calls_;
  std::vector<std::size_t> free_;
  std::deque<std::size_t> line_;
  std::priority_queue<Served, std::vector<Served>, std::greater<>> serving_;
  std::deque<Deadline> deadlines_;  ///< all are as far ahead, so they come in order
  std::deque<Retry> retries_;       ///< in order likewise
  std::int64_t inside_ = 0;         ///< waiting or served
  std::int64_t awaited_ = 0;        ///< of them, those whose callers are there
  ServiceRun run_;
};

}  // namespace

ServiceRun run_service(const Service& service, Protection& protection) {
  return Run(service, protection).run();
}

}  // namespace weir::cli
