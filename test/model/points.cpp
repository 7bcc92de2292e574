// Where the linker sends each call for a lock, and each touch of an atomic (`ld --wrap`). Compiled
// without the thread sanitizer, as turns.cpp.
#include <cerrno>
#include <cstdint>

#include "test/model/turns.hpp"

// The names are the linker's and the sanitizer's.
// NOLINTBEGIN(bugprone-reserved-identifier)
using weir::model::pass_atomic;
using weir::model::takes_turns;

extern "C" {

int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (!takes_turns()) return __real_pthread_mutex_lock(mutex);
  if (!weir::model::pass(mutex)) return EDEADLK;  // which std::mutex throws
  weir::model::note_locked(mutex);
  return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  if (takes_turns()) weir::model::note_unlocked(mutex);
  return __real_pthread_mutex_unlock(mutex);
}

std::uint8_t __real___tsan_atomic8_load(const volatile std::uint8_t* at, int order);
void __real___tsan_atomic8_store(volatile std::uint8_t* at, std::uint8_t value, int order);
std::uint8_t __real___tsan_atomic8_exchange(volatile std::uint8_t* at, std::uint8_t value,
                                            int order);
std::uint64_t __real___tsan_atomic64_load(const volatile std::uint64_t* at, int order);
void __real___tsan_atomic64_store(volatile std::uint64_t* at, std::uint64_t value, int order);
std::uint64_t __real___tsan_atomic64_fetch_add(volatile std::uint64_t* at, std::uint64_t value,
                                               int order);
std::uint64_t __real___tsan_atomic64_fetch_sub(volatile std::uint64_t* at, std::uint64_t value,
                                               int order);

std::uint8_t __wrap___tsan_atomic8_load(const volatile std::uint8_t* at, int order) {
  if (takes_turns()) pass_atomic(at, 1);
  return __real___tsan_atomic8_load(at, order);
}

void __wrap___tsan_atomic8_store(volatile std::uint8_t* at, std::uint8_t value, int order) {
  if (takes_turns()) pass_atomic(at, 1);
  __real___tsan_atomic8_store(at, value, order);
}

std::uint8_t __wrap___tsan_atomic8_exchange(volatile std::uint8_t* at, std::uint8_t value,
                                            int order) {
  if (takes_turns()) pass_atomic(at, 1);
  return __real___tsan_atomic8_exchange(at, value, order);
}

std::uint64_t __wrap___tsan_atomic64_load(const volatile std::uint64_t* at, int order) {
  if (takes_turns()) pass_atomic(at, 8);
  return __real___tsan_atomic64_load(at, order);
}

void __wrap___tsan_atomic64_store(volatile std::uint64_t* at, std::uint64_t value, int order) {
  if (takes_turns()) pass_atomic(at, 8);
  __real___tsan_atomic64_store(at, value, order);
}

std::uint64_t __wrap___tsan_atomic64_fetch_add(volatile std::uint64_t* at, std::uint64_t value,
                                               int order) {
  if (takes_turns()) pass_atomic(at, 8);
  return __real___tsan_atomic64_fetch_add(at, value, order);
}

std::uint64_t __wrap___tsan_atomic64_fetch_sub(volatile std::uint64_t* at, std::uint64_t value,
                                               int order) {
  if (takes_turns()) pass_atomic(at, 8);
  return __real___tsan_atomic64_fetch_sub(at, value, order);
}

std::uint64_t __real___tsan_atomic64_fetch_or(volatile std::uint64_t* at, std::uint64_t value,
                                              int order);
int __real___tsan_atomic64_compare_exchange_strong(volatile std::uint64_t* at,
                                                   std::uint64_t* expected, std::uint64_t value,
                                                   int order, int failing_order);

std::uint64_t __wrap___tsan_atomic64_fetch_or(volatile std::uint64_t* at, std::uint64_t value,
                                              int order) {
  if (takes_turns()) pass_atomic(at, 8);
  return __real___tsan_atomic64_fetch_or(at, value, order);
}

int __wrap___tsan_atomic64_compare_exchange_strong(volatile std::uint64_t* at,
                                                   std::uint64_t* expected, std::uint64_t value,
                                                   int order, int failing_order) {
  if (takes_turns()) pass_atomic(at, 8);
  return __real___tsan_atomic64_compare_exchange_strong(at, expected, value, order, failing_order);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
