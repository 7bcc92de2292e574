// Any bytes as the names and numbers of policies: the fields are what RFC 8941 reads, and it reads
// what was given. Each policy is 32 bytes of numbers, and a name up to the next NUL.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "test/http/structured_fields.hpp"
#include "weir/http/rate_fields.hpp"

namespace {

using weir::http::Field;
using weir::http::RateDialect;

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

std::vector<weir::http::RatePolicy> policies_of(std::string_view bytes) {
  std::vector<weir::http::RatePolicy> policies;
  std::int64_t numbers[4];
  while (bytes.size() >= sizeof numbers) {
    std::memcpy(numbers, bytes.data(), sizeof numbers);
    bytes.remove_prefix(sizeof numbers);
    const std::string_view name = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(std::min(bytes.size(), name.size() + 1));
    policies.push_back({.name = name,
                        .quota = numbers[0],
                        .window = weir::Span{numbers[1]},
                        .remaining = numbers[2],
                        .reset_after = weir::Span{numbers[3]}});
  }
  return policies;
}

void check(const Field& field, const std::vector<weir::http::RatePolicy>& policies) {
  require(std::ranges::all_of(field.value, [](char c) { return c >= ' ' && c <= '~'; }),
          "one line of ASCII");
  const auto items = weir::http::StructuredFields::list(field.value);
  require(items && !items->empty(), "a list of items");
  if (field.name != "RateLimit-Policy" && field.name != "RateLimit") return;
  require(items->size() == policies.size(), "an item a policy");
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const auto& name = std::get<std::string>((*items)[i].value);
    require(weir::http::percent_decoded(name) == policies[i].name, "the policy's name");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto policies = policies_of({reinterpret_cast<const char*>(data), size});
  if (policies.empty()) return 0;
  for (const auto dialect :
       {RateDialect::ietf, RateDialect::draft03, RateDialect::draft06, RateDialect::legacy}) {
    weir::http::RateFields::write(
        dialect, {.policies = policies, .retry_after = policies.front().reset_after},
        [&](const Field& field) { check(field, policies); });
  }
  return 0;
}
