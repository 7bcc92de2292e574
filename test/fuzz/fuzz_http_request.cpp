// However a client's bytes are split, it hears the same answers, and no body makes a handler fall.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "test/server/http/api_front.hpp"

namespace {

using weir::test::ApiFront;
using weir::test::HttpClient;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

/// Each with a server of its own: what one takes another does not.
std::string hear(std::string_view bytes, std::string (*ask)(HttpClient&, std::string_view)) {
  ApiFront api;
  HttpClient client(api.front);
  std::string answers = ask(client, bytes);
  // A grant's number is of its server alone, and as long as any.
  constexpr std::string_view grant = "\"grant\":";
  for (std::size_t at = answers.find(grant); at != std::string::npos;
       at = answers.find(grant, at + 1)) {
    answers.erase(at + grant.size(), answers.find('}', at) - at - grant.size());
  }
  return answers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1024) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // What waits to go on is told so only where its body has not come; metrics tell of the process.
  for (const std::string_view word : {"100-", "metrics"}) {
    if (bytes.find(word) != std::string_view::npos) return 0;
  }
  const std::string whole =
      hear(bytes, [](HttpClient& client, std::string_view all) { return client.ask(all); });
  require(hear(bytes, [](HttpClient& client, std::string_view all) {
            return client.ask_byte_by_byte(all);
          }) == whole);
  require(hear(bytes, [](HttpClient& client, std::string_view all) {
            return client.ask_in_two(all, all.size() / 2);
          }) == whole);
  return 0;
}
