#include "cli/protection.hpp"

#include <array>
#include <utility>

#include "weir/overload/accept_ratio.hpp"
#include "weir/overload/aimd.hpp"
#include "weir/overload/auto_concurrency.hpp"
#include "weir/overload/circuit_breaker.hpp"
#include "weir/overload/gradient2.hpp"
#include "weir/overload/load_shedder.hpp"
#include "weir/overload/vegas.hpp"
#include "weir/overload/windowed.hpp"

namespace weir::cli {
namespace {

class NoProtection final : public Protection {
 public:
  std::optional<Mark> enter(const Asked&) override { return Mark{}; }
  void ended(Mark, const CallSample&) override {}
};

class FixedLimit final : public Protection {
 public:
  explicit FixedLimit(std::int64_t limit) : limit_(limit) {}

  std::optional<Mark> enter(const Asked& asked) override {
    if (asked.in_flight >= limit_) return {};
    return Mark{};
  }
  void ended(Mark, const CallSample&) override {}
  std::int64_t limit() const override { return limit_; }

 private:
  std::int64_t limit_;
};

template <Estimator E>
class AdaptiveLimit final : public Protection {
 public:
  explicit AdaptiveLimit(const typename E::Settings& settings)
      : config_(E::configure(settings).value()) {}

  std::optional<Mark> enter(const Asked& asked) override {
    if (asked.in_flight >= limit()) return {};
    return Mark{};
  }
  void ended(Mark, const CallSample& sample) override { E::observe(config_, state_, sample); }
  std::int64_t limit() const override { return E::limit(config_, state_); }

 private:
  typename E::Config config_;
  typename E::State state_{};
};

/// From 20 on, wherever the service needs it to go. With the source's minimum of 20 and maximum of
/// 200 a law could do nothing wrong in a service of 20 servers, and nothing right in one of 300.
template <typename Law>
constexpr typename Law::Settings anywhere{.minimum = 1, .initial = 20, .maximum = 1000};

/// By itself each law steps with every call, and one late answer or lucky one weighs as much as a
/// thousand. A window is as long as the law's step is large: AIMD and Gradient2 go by one or less,
/// Vegas by six or twice as far.
template <typename Law>
constexpr std::chrono::milliseconds window_of{1000};
template <>
constexpr std::chrono::milliseconds window_of<Aimd>{100};
template <>
constexpr std::chrono::milliseconds window_of<Gradient2>{20};

template <typename Law>
std::unique_ptr<Protection> windowed() {
  return std::make_unique<AdaptiveLimit<Windowed<Law>>>(
      typename Windowed<Law>::Settings{.estimator = anywhere<Law>, .at_least_for = window_of<Law>});
}

std::unique_ptr<Protection> auto_concurrency() {
  return std::make_unique<AdaptiveLimit<AutoConcurrency>>(AutoConcurrency::Settings{});
}

/// Beside the caller, whose timeouts it counts: it opens where half of the calls fail.
class CircuitBreaker final : public Protection {
 public:
  CircuitBreaker() : config_(Breaker::configure({.error_ratio = 0.5}).value()) {}

  Seat seat() const override { return Seat::caller; }
  std::optional<Mark> enter(const Asked& asked) override {
    const Breaker::Answer answer = Breaker::enter(config_, state_, asked.now);
    if (answer.ticket == 0) return {};
    return Mark{answer.ticket};
  }
  void ended(Mark mark, const CallSample& sample) override {
    Breaker::observe(config_, state_, mark.value, sample);
  }

 private:
  Breaker::Config config_;
  Breaker::State state_{};
};

/// Sheds while nine tenths of the servers are busy: here they are all the processors there are.
class LoadGate final : public Protection {
 public:
  LoadGate() : config_(LoadShedder::configure({.above = {.machine_cpu = 900}}).value()) {}

  std::optional<Mark> enter(const Asked& asked) override {
    if (LoadShedder::wants_readings(config_, state_, asked.now)) {
      LoadShedder::observe(config_, state_, {.machine_cpu = asked.busy_permille}, asked.now);
    }
    if (LoadShedder::refuses(config_, state_, {}, asked.now)) return {};
    LoadShedder::enter(state_, 1, asked.now);
    return Mark{};
  }
  void ended(Mark, const CallSample& sample) override {
    LoadShedder::end(config_, state_, 1, sample);
  }

 private:
  LoadShedder::Config config_;
  LoadShedder::State state_{};
};

/// Beside the caller, to whom a timeout is a refusal.
class AcceptRatioThrottle final : public Protection {
 public:
  /// A window of ten seconds: the usual two minutes are longer than what is simulated.
  AcceptRatioThrottle()
      : config_(AcceptRatio::configure({.window = std::chrono::seconds{10}, .seed = 1}).value()),
        state_(AcceptRatio::first(config_)) {}

  Seat seat() const override { return Seat::caller; }
  std::optional<Mark> enter(const Asked& asked) override {
    if (AcceptRatio::refused_at(config_, state_, Priority::normal, asked.now) > 0) return {};
    return Mark{};
  }
  void ended(Mark, const CallSample& sample) override {
    AcceptRatio::end(config_, state_, Priority::normal, sample);
  }

 private:
  AcceptRatio::Config config_;
  AcceptRatio::State state_;
};

template <typename Machine>
std::unique_ptr<Protection> make() {
  return std::make_unique<Machine>();
}

struct Known {
  const char* name;
  std::unique_ptr<Protection> (*make)();  ///< absent: made of a number
};

constexpr std::array known{Known{"none", make<NoProtection>},
                           Known{"fixed", nullptr},
                           Known{"aimd", windowed<Aimd>},
                           Known{"vegas", windowed<Vegas>},
                           Known{"gradient2", windowed<Gradient2>},
                           Known{"auto", auto_concurrency},
                           Known{"breaker", make<CircuitBreaker>},
                           Known{"load-gate", make<LoadGate>},
                           Known{"accept-ratio", make<AcceptRatioThrottle>}};

}  // namespace

const std::vector<std::string>& protection_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(known.size());
    for (const Known& protection : known) all.emplace_back(protection.name);
    return all;
  }();
  return names;
}

Expected<NamedProtection, InputError> read_protection(const Input& input) {
  constexpr std::string_view fixed = "fixed ";
  if (input.text.starts_with(fixed)) {
    const auto limit =
        read_count({.name = input.name, .text = input.text.substr(fixed.size())}, {.least = 1});
    if (!limit) return limit.error();
    return NamedProtection{"fixed " + std::to_string(*limit), std::make_unique<FixedLimit>(*limit)};
  }
  std::string names;
  for (const Known& protection : known) {
    if (protection.make && input.text == protection.name) {
      return NamedProtection{protection.name, protection.make()};
    }
    names += names.empty() ? "" : ", ";
    names += protection.make ? protection.name : "'fixed N'";
  }
  return InputError{std::string(input.name) + " '" + printable(input.text) + "': expected " +
                    names};
}

}  // namespace weir::cli
