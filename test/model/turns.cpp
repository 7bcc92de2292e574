// Compiled without the thread sanitizer, and with neither containers nor std::atomic: it would take
// each handing over of the turn for an agreement of the threads, and see no race between them.
#include "test/model/turns.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace weir::model {
namespace {

constexpr int nobody = -1;
constexpr int all_left = -2;
constexpr std::size_t most_locks = 32;

struct Lock {
  pthread_mutex_t* mutex;
  int owner;
};

struct Turns {
  int running;  ///< whose turn it is; threads wait on it
  std::size_t threads;
  bool left[most_threads];
  pthread_mutex_t* wanted[most_threads];
  bool refused[most_threads];
  Lock locks[most_locks];
  std::size_t lock_count;
  Steering steering;
  std::size_t preemptions;
  std::uint64_t chance;
  Choice choices[most_choices];
  std::size_t choice_count;
  const char* watched;
  std::size_t watched_bytes;
  bool locked_up;
};

Turns turns;
thread_local int self = nobody;

void hand_to(int next) {
  __atomic_store_n(&turns.running, next, __ATOMIC_SEQ_CST);
  ::syscall(SYS_futex, &turns.running, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void wait_for(int who) {
  for (;;) {
    const int running = __atomic_load_n(&turns.running, __ATOMIC_SEQ_CST);
    if (running == who) return;
    ::syscall(SYS_futex, &turns.running, FUTEX_WAIT_PRIVATE, running, nullptr, nullptr, 0);
  }
}

bool is_free(const pthread_mutex_t* mutex) {
  for (std::size_t at = 0; at < turns.lock_count; ++at) {
    if (turns.locks[at].mutex == mutex) return false;
  }
  return true;
}

bool can_run(std::size_t thread) {
  if (turns.left[thread]) return false;
  return !turns.wanted[thread] || is_free(turns.wanted[thread]);
}

/// xorshift64
std::uint64_t draw() {
  turns.chance ^= turns.chance << 13;
  turns.chance ^= turns.chance >> 7;
  turns.chance ^= turns.chance << 17;
  return turns.chance;
}

std::size_t choose(std::size_t options, bool could_go_on) {
  if (turns.choice_count < turns.steering.count) {
    return turns.steering.begin[turns.choice_count].taken;
  }
  if (turns.steering.seed == 0) return 0;
  // Going on is as likely as all others together, so that threads get somewhere.
  if (could_go_on && draw() % 2 == 0) return 0;
  return draw() % options;
}

/// Who goes on: `current` if it can and is chosen, or another; nobody where none can.
int next_thread(int current) {
  int able[most_threads];
  std::size_t options = 0;
  const bool could_go_on = current >= 0 && can_run(static_cast<std::size_t>(current));
  if (could_go_on) able[options++] = current;
  if (!could_go_on || turns.preemptions > 0) {
    for (std::size_t step = 1; step <= turns.threads; ++step) {
      const std::size_t begin =
          current >= 0 ? static_cast<std::size_t>(current) : turns.threads - 1;
      const std::size_t thread = (begin + step) % turns.threads;
      if (static_cast<int>(thread) != current && can_run(thread)) {
        able[options++] = static_cast<int>(thread);
      }
    }
  }
  if (options == 0) return nobody;
  if (options == 1) return able[0];
  const std::size_t taken = choose(options, could_go_on);
  if (taken >= options || turns.choice_count == most_choices) __builtin_trap();  // not repeatable
  if (could_go_on && taken != 0) --turns.preemptions;
  turns.choices[turns.choice_count++] = {static_cast<std::uint8_t>(options),
                                         static_cast<std::uint8_t>(taken),
                                         static_cast<std::uint8_t>(able[taken])};
  return able[taken];
}

/// Where all wait for each other, one is refused its lock and so lets go of those it has.
int refuse_one() {
  turns.locked_up = true;
  for (std::size_t thread = 0; thread < turns.threads; ++thread) {
    if (turns.left[thread]) continue;
    turns.refused[thread] = true;
    turns.wanted[thread] = nullptr;
    return static_cast<int>(thread);
  }
  return all_left;
}

}  // namespace

void set_up(std::size_t threads, const Steering& steering) {
  turns.running = nobody;
  turns.threads = threads;
  for (std::size_t thread = 0; thread < most_threads; ++thread) {
    turns.left[thread] = turns.refused[thread] = false;
    turns.wanted[thread] = nullptr;
  }
  turns.lock_count = turns.choice_count = 0;
  turns.steering = steering;
  turns.preemptions = steering.preemptions;
  turns.chance = steering.seed;
  turns.locked_up = false;
}

void watch(const void* begin, std::size_t bytes) {
  turns.watched = static_cast<const char*>(begin);
  turns.watched_bytes = bytes;
}

void watch_all() { watch(nullptr, static_cast<std::size_t>(-1)); }

void enter(std::size_t thread) {
  self = static_cast<int>(thread);
  wait_for(self);
}

void leave() {
  turns.left[self] = true;
  self = nobody;
  bool all = true;
  for (std::size_t thread = 0; thread < turns.threads; ++thread) all = all && turns.left[thread];
  if (all) return hand_to(all_left);
  const int next = next_thread(nobody);
  hand_to(next == nobody ? refuse_one() : next);
}

void run() {
  hand_to(next_thread(nobody));
  wait_for(all_left);
}

std::size_t choices() { return turns.choice_count; }
Choice choice(std::size_t at) { return turns.choices[at]; }
bool locked_up() { return turns.locked_up; }
bool takes_turns() { return self != nobody; }

bool pass(pthread_mutex_t* wanted) {
  const auto thread = static_cast<std::size_t>(self);
  turns.wanted[thread] = wanted;
  int next = next_thread(self);
  if (next == nobody) next = refuse_one();
  if (next != self) {
    hand_to(next);
    wait_for(self);
  }
  turns.wanted[thread] = nullptr;
  const bool refused = turns.refused[thread];
  turns.refused[thread] = false;
  return !refused;
}

bool pass_atomic(const volatile void* at, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const auto begin = reinterpret_cast<std::uintptr_t>(turns.watched);
  if (bytes != 1 && address - begin >= turns.watched_bytes) return true;
  return pass(nullptr);
}

void note_locked(pthread_mutex_t* mutex) {
  if (turns.lock_count == most_locks) __builtin_trap();
  turns.locks[turns.lock_count++] = {mutex, self};
}

void note_unlocked(pthread_mutex_t* mutex) {
  for (std::size_t at = 0; at < turns.lock_count; ++at) {
    if (turns.locks[at].mutex != mutex) continue;
    turns.locks[at] = turns.locks[--turns.lock_count];
    return;
  }
}

}  // namespace weir::model
