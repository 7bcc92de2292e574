// Copies a stream at so many megabytes a second.
//
//   bandwidth 5 <in >out    copies standard input at 5 MB/s
//   bandwidth               copies a megabyte from memory at 4 MB/s, and tells how long it took
//
// It shows: a unit may be a byte; who needs more than the burst takes it in pieces.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

#include "weir/local/limiter.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::streamsize burst = 16 * 1024;

weir::TokenBucket megabytes_a_second(weir::Cost count) {
  return weir::TokenBucket({.count = count * 1'000'000, .period = 1s, .burst = burst});
}

/// Waits for `bytes`, however many: in one piece no more than the burst is ever granted.
void acquire_in_pieces(weir::TokenBucket& limit, std::streamsize bytes) {
  while (bytes > 0) {
    const std::streamsize piece = std::min(bytes, burst);
    // Granted, whenever it returns: without a timeout or a stop a piece is refused only where
    // 65 536 threads wait already.
    if (limit.acquire(piece)) bytes -= piece;
  }
}

/// Returns how many bytes it copied.
std::streamsize copy(std::istream& from, std::ostream& to, weir::TokenBucket& limit) {
  static std::array<char, 64 * 1024> buffer;
  std::streamsize copied = 0;
  do {
    from.read(buffer.data(), buffer.size());
    acquire_in_pieces(limit, from.gcount());
    to.write(buffer.data(), from.gcount());
    copied += from.gcount();
  } while (from && to);
  return copied;
}

int show() {
  std::istringstream from(std::string(1'000'000, 'x'));
  std::ostringstream to;
  weir::TokenBucket limit = megabytes_a_second(4);
  const auto start = std::chrono::steady_clock::now();
  const std::streamsize copied = copy(from, to, limit);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::cout << copied << " bytes in " << took.count() << " s\n";
  // The first 16 KiB were there at once; the rest cannot have come faster than 4 MB/s.
  const bool held = took.count() >= static_cast<double>(copied - burst) / 4e6;
  return held && to.str() == from.str() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 1) return show();
  weir::Cost megabytes = 0;
  const char* const end = arguments[1] + std::strlen(arguments[1]);
  const auto read = std::from_chars(arguments[1], end, megabytes);
  if (read.ptr != end || megabytes < 1 || megabytes > 1'000) {
    std::cerr << "bandwidth: '" << arguments[1] << "': expected megabytes a second, 1 to 1000\n";
    return 2;
  }
  weir::TokenBucket limit = megabytes_a_second(megabytes);
  copy(std::cin, std::cout, limit);
  return std::cout.flush() ? 0 : 1;
}
