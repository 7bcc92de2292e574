// Runs a few threads one at a time, in an order of the test's choosing.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

/// Who runs next is chosen wherever a thread takes a lock or touches a watched atomic. Between two
/// such points nothing that other threads may see happens, so the choices tell the whole schedule.
///
/// The linker sends the calls here (see CMakeLists.txt): the code under test is the product's own,
/// without a hook in it.
namespace weir::model {

inline constexpr std::size_t most_threads = 4;
inline constexpr std::size_t most_choices = 4096;

/// A point where more than one thread could have gone on.
struct Choice {
  std::uint8_t options;
  std::uint8_t taken;   ///< 0: whoever ran goes on, where it can
  std::uint8_t thread;  ///< who went on
};

/// What decides at a choice: first the choices given, then chance or no preemption at all.
struct Steering {
  const Choice* begin = nullptr;
  std::size_t count = 0;
  std::size_t preemptions =
      0;                   ///< at most so many; switches of a thread that cannot go on are free
  std::uint64_t seed = 0;  ///< of chance; 0: none
};

void set_up(std::size_t threads, const Steering& steering);
/// Atomics of eight bytes are points only inside what is watched; those of one byte always are.
void watch(const void* begin, std::size_t bytes);
void watch_all();

/// Each thread calls them at its begin and its end.
void enter(std::size_t thread);
void leave();

/// Lets the threads run; returns when all have left.
void run();

std::size_t choices();
Choice choice(std::size_t at);
/// Whether threads waited for each other; one of them was then refused its lock.
bool locked_up();

/// A point; a thread that is about to take a lock names it. False where it never gets it.
bool pass(pthread_mutex_t* wanted);
bool pass_atomic(const volatile void* at, std::size_t bytes);

/// Whether the calling thread is one of those that take turns.
bool takes_turns();
void note_locked(pthread_mutex_t* mutex);
void note_unlocked(pthread_mutex_t* mutex);

}  // namespace weir::model
