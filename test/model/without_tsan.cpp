// What code that is compiled for the thread sanitizer calls, where the sanitizer is not linked: the
// points are wanted without its cost. Its own runtime takes their place in the tsan build.
#include <cstddef>
#include <cstdint>

// The names are the sanitizer's.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_read1(void*) {}
void __tsan_read2(void*) {}
void __tsan_read4(void*) {}
void __tsan_read8(void*) {}
void __tsan_read16(void*) {}
void __tsan_write1(void*) {}
void __tsan_write2(void*) {}
void __tsan_write4(void*) {}
void __tsan_write8(void*) {}
void __tsan_write16(void*) {}
void __tsan_unaligned_read2(void*) {}
void __tsan_unaligned_read4(void*) {}
void __tsan_unaligned_read8(void*) {}
void __tsan_unaligned_read16(void*) {}
void __tsan_unaligned_write2(void*) {}
void __tsan_unaligned_write4(void*) {}
void __tsan_unaligned_write8(void*) {}
void __tsan_unaligned_write16(void*) {}
void __tsan_read_range(void*, std::size_t) {}
void __tsan_write_range(void*, std::size_t) {}

std::uint8_t __tsan_atomic8_load(const volatile std::uint8_t* at, int) {
  return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
void __tsan_atomic8_store(volatile std::uint8_t* at, std::uint8_t value, int) {
  __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}
std::uint8_t __tsan_atomic8_exchange(volatile std::uint8_t* at, std::uint8_t value, int) {
  return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
}
std::uint64_t __tsan_atomic64_load(const volatile std::uint64_t* at, int) {
  return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
void __tsan_atomic64_store(volatile std::uint64_t* at, std::uint64_t value, int) {
  __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
}
std::uint64_t __tsan_atomic64_fetch_add(volatile std::uint64_t* at, std::uint64_t value, int) {
  return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}
std::uint64_t __tsan_atomic64_fetch_sub(volatile std::uint64_t* at, std::uint64_t value, int) {
  return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);
}

std::uint64_t __tsan_atomic64_fetch_or(volatile std::uint64_t* at, std::uint64_t value, int) {
  return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);
}
int __tsan_atomic64_compare_exchange_strong(volatile std::uint64_t* at, std::uint64_t* expected,
                                            std::uint64_t value, int, int) {
  return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST);
}

std::uint32_t __tsan_atomic32_fetch_add(volatile std::uint32_t* at, std::uint32_t value, int) {
  return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
