// A gate that does as a test says, and writes down what happens to it.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weir/local/clocks.hpp"
#include "weir/local/gate.hpp"

namespace weir {

/// What several gates heard, in the order in which they did: "a in 5", "b refuses", "a out".
using Journal = std::vector<std::string>;

class FakeGate {
 public:
  struct Refused {
    int why;
    SteadyInstant ready_at;
  };

  class Pass {
   public:
    Pass(FakeGate* gate, const Refused& refused) noexcept : gate_(gate), refused_(refused) {}
    Pass(Pass&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)),
          let_in_(std::exchange(other.let_in_, false)),
          refused_(other.refused_) {}
    Pass& operator=(Pass&& other) noexcept {
      if (this == &other) return *this;
      end(CallEnd::ignored);
      gate_ = std::exchange(other.gate_, nullptr);
      let_in_ = std::exchange(other.let_in_, false);
      refused_ = other.refused_;
      return *this;
    }
    ~Pass() { end(CallEnd::ignored); }

    explicit operator bool() const noexcept { return let_in_; }
    const Refused& refused() const noexcept { return refused_; }
    void end(CallEnd how) { leave(name(how)); }
    void end(CallEnd how, SteadyInstant now) {
      leave(std::string(name(how)) + " " + std::to_string(now.time_since_epoch().count()));
    }
    void withdraw() { leave("out"); }

   private:
    friend FakeGate;

    void leave(const std::string& how) {
      FakeGate* const gate = std::exchange(gate_, nullptr);
      if (!gate) return;
      --gate->in_flight;
      gate->journal->push_back(gate->called + " " + how);
    }

    FakeGate* gate_;
    bool let_in_ = gate_ != nullptr;
    Refused refused_;
  };

  Pass try_enter(const Entry& entry, SteadyInstant now) {
    journal->push_back(called + " in " + std::to_string(now.time_since_epoch().count()));
    if (broken) throw std::runtime_error(called);
    seen = entry;
    if (closed) return {nullptr, {7, ready_at}};
    ++in_flight;
    return {this, {}};
  }
  const ManualClock& clock() const noexcept { return told; }

  std::string called;
  Journal* journal;
  ManualClock told;
  bool closed = false;
  bool broken = false;
  SteadyInstant ready_at{};
  int in_flight = 0;
  Entry seen{};
};

}  // namespace weir
