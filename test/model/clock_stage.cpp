// The only file beside the product's that reads a timeline: the readings are inline, and their
// atomics are points because this file is compiled so.
#include "test/model/clock_stage.hpp"

#include <atomic>
#include <memory>

#include "weir/local/tsc_timeline.hpp"

namespace weir::model {
namespace {

std::atomic<std::int64_t> true_ns{0};
std::atomic<std::uint64_t> jumped_ticks{0};

std::int64_t steady_ns() noexcept {
  return true_ns.fetch_add(100, std::memory_order_relaxed) + 100;
}
std::uint64_t tsc() noexcept {
  return static_cast<std::uint64_t>(steady_ns()) * 3 + jumped_ticks.load(std::memory_order_relaxed);
}
bool usable() noexcept { return true; }

}  // namespace

struct ClockStage::Parts {
  TscTimeline timeline{TscSource{tsc, steady_ns, usable}};
};

ClockStage::ClockStage(Calibrated calibrated) : parts_(std::make_unique<Parts>().release()) {
  true_ns.store(1'000'000 * ms, std::memory_order_relaxed);
  jumped_ticks.store(0, std::memory_order_relaxed);
  watch(parts_, sizeof(Parts));
  if (calibrated == Calibrated::no) return;
  parts_->timeline.at(tsc());
  pass(10 * ms - 1'000);
}

ClockStage::~ClockStage() { const std::unique_ptr<Parts> ends(parts_); }

void ClockStage::pass(std::int64_t ns) { true_ns.fetch_add(ns, std::memory_order_relaxed); }

void ClockStage::jump(std::uint64_t ticks) {
  jumped_.store(true, std::memory_order_relaxed);
  jumped_ticks.fetch_add(ticks, std::memory_order_relaxed);
}

void ClockStage::read(std::size_t thread) {
  const std::int64_t before = true_ns.load(std::memory_order_relaxed);
  const SteadyInstant instant = parts_->timeline.at(tsc());
  const std::int64_t told = std::chrono::nanoseconds{instant.time_since_epoch()}.count();
  const std::int64_t after = true_ns.load(std::memory_order_relaxed);
  std::string& fault = faults_[thread];
  if (told < last_[thread]) {
    fault += "went back by " + std::to_string(last_[thread] - told) + " ns; ";
  }
  last_[thread] = told;
  if (jumped_.load(std::memory_order_relaxed)) return;
  if (told < before - ms - 1'000) fault += "late by " + std::to_string(before - told) + " ns; ";
  if (told > after + 200) fault += "early by " + std::to_string(told - after) + " ns; ";
}

bool ClockStage::follows_tsc() { return parts_->timeline.follows_tsc(); }

std::string ClockStage::judge() const {
  std::string all;
  for (const std::string& fault : faults_) all += fault;
  return all;
}

}  // namespace weir::model
