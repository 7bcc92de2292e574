// A machine whose load a test sets.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "weir/overload/load_shedder.hpp"

namespace weir {

struct ScriptedMachine {
  std::atomic<std::int32_t> cpu{0};
  std::atomic<int> readings{0};
  std::atomic<int> readers{0};
  std::atomic<bool> two_at_once{false};
  int turns = 0;  ///< that a reading gives to other threads
};

class ScriptedLoad {
 public:
  explicit ScriptedLoad(ScriptedMachine& machine) : machine_(&machine) {}

  LoadReadings read() noexcept {
    if (machine_->readers.fetch_add(1) != 0) machine_->two_at_once = true;
    ++machine_->readings;
    for (int turn = 0; turn < machine_->turns; ++turn) std::this_thread::yield();
    ++own_;  // not atomic: the thread sanitizer sees two readers
    const LoadReadings readings{.machine_cpu = machine_->cpu};
    machine_->readers.fetch_sub(1);
    return readings;
  }

 private:
  ScriptedMachine* machine_;
  int own_ = 0;
};

}  // namespace weir
