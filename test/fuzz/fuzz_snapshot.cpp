// Any bytes as a snapshot: refused with nothing kept, or read whole. What follows the first line is
// given as one block with a right checksum too, for behind the checksum the reader must be as wary.
#include <boost/crc.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "server/snapshot.hpp"

namespace {

void read(const std::string& bytes) {
  using namespace weir;
  Rules rules;
  (void)rules.add({"login", "5/1h"});
  Table table({.max_keys = 100, .shards = 1});
  std::istringstream stream(bytes);
  const Instant now{std::chrono::seconds{1'795'000'000}};
  const auto read = server::read_snapshot(stream, "input", rules, table, now);
  const auto keys = table.stats().keys;
  if (!read && (keys != 0 || read.error().message.empty())) std::abort();
  if (read && read->kept < keys) std::abort();
}

void put_word(std::string& out, std::size_t word) {
  for (int byte = 0; byte < 4; ++byte) out += static_cast<char>(word >> 8 * byte);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  std::string framed = "weir snapshot 1\n";
  put_word(framed, bytes.size());
  put_word(framed, crc.checksum());
  read(framed + bytes);
  return 0;
}
