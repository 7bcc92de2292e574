#include "test/fault/failing_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace weir::test {
namespace {

FailingMemory own{};
FailingMemory* told = &own;

__attribute__((constructor)) void open_what_is_told() {
  const char* const path = std::getenv("WEIR_FAILING_MEMORY");
  const int file = path ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void* const shared = ::mmap(nullptr, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (shared != MAP_FAILED) told = static_cast<FailingMemory*>(shared);
}

bool fails() noexcept {
  std::atomic_ref countdown(told->countdown);
  std::int64_t left = countdown.load(std::memory_order_relaxed);
  while (left > 0) {
    const std::int64_t next = left == 1 && told->lasting ? 1 : left - 1;
    if (!countdown.compare_exchange_weak(left, next)) continue;
    if (left > 1) return false;
    std::atomic_ref(told->failed).fetch_add(1);
    errno = ENOMEM;
    return true;
  }
  return false;
}

}  // namespace

FailingMemory& failing_memory() noexcept { return *told; }

}  // namespace weir::test

// These take the places of the C library's, and with them of operator new.
extern "C" {
using weir::test::fails;

void* malloc(std::size_t size) { return fails() ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) {
  return fails() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) {
  return fails() ? nullptr : __libc_realloc(block, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  *block = memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}
}
