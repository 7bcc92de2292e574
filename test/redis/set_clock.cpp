// Preloaded into a redis-server: its wall clock says what a file says, so that a test can set it.
// Its modules' too: Valkey binds those to the C library itself (RTLD_DEEPBIND) unless hindered.
// Written without the C library where that asks for the time before main().
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t second = 1'000'000;
volatile const std::int64_t* told = nullptr;

/// Microseconds since 1970; 0 where nobody told yet.
std::int64_t told_time() { return told ? *told : 0; }

__attribute__((constructor)) void find_clock() {
  const char* const path = std::getenv("WEIR_TEST_CLOCK");
  if (!path) return;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* const page = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (page != MAP_FAILED) told = static_cast<const std::int64_t*>(page);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) {
  const std::int64_t now = told_time();
  if (now == 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) {
    return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  }
  *time = {.tv_sec = now / second, .tv_nsec = now % second * 1000};
  return 0;
}

int gettimeofday(timeval* time, void*) {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

void* dlopen(const char* path, int flags) {
  const auto open = reinterpret_cast<void* (*)(const char*, int)>(::dlsym(RTLD_NEXT, "dlopen"));
  return open(path, flags & ~RTLD_DEEPBIND);
}

time_t time(time_t* to) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}
}
