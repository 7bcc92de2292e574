// However a proxy's or an operator's bytes are split, they hear the same of the rules, and nothing
// falls.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "test/server/gateway/gate.hpp"
#include "test/server/http/rules_front.hpp"

namespace {

using weir::test::HttpClient;

constexpr std::string_view rules = R"(
domain: default
clients: {user_header: x-user, ipv6_prefix: 56}
dynamic_metadata: true
rules:
  - {name: login, match: {route: /login, method: [POST, PUT], ip: [10.0.0.0/8, "2001:db8::/32"]},
     key: "{ip} {header.x-key}", limit: fixed-window 2/365d}
  - {name: host, match: {host: "*.shop.example", header: {x-plan: free}}, key: "{host} {uri}",
     limit: fixed-window 3/365d & fixed-window 9/365d, missing: refuse}
  - {name: user, key: "{user}", limit: fixed-window 5/365d, cost: 2, lease: 2,
     overrides: {ann: unlimited, bob: blocked}}
  - {name: entries, match: {descriptor: {a: [x, "y*"]}}, key: "{descriptor.a}, {descriptor.b}",
     limit: fixed-window 4/365d, shadow: true, replaces: [user]}
)";

weir::test::LoadedRules& loaded() {
  static const weir::test::RuleFolder folder;
  static weir::test::LoadedRules all = [] {
    folder.write("rules.yaml", rules);
    return weir::test::LoadedRules({.files = {folder.path().string()}});
  }();
  return all;
}

void require(bool holds) {
  if (!holds) __builtin_trap();
}

/// The bytes that are heard, each with a server of its own: what one takes another does not. The
/// clock is the machine's, so numbers are left out; and protobuf's maps have no order.
std::string hear(std::string_view bytes, std::string (*ask)(HttpClient&, std::string_view)) {
  weir::test::RulesFront server(loaded());
  HttpClient client(server.front, "127.0.0.1:4711");
  std::string answers = ask(client, bytes);
  std::erase_if(answers, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  std::ranges::sort(answers);
  return answers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1024) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // What waits to go on is told so only where its body has not come.
  if (bytes.find("100-") != std::string_view::npos) return 0;
  const std::string whole =
      hear(bytes, [](HttpClient& client, std::string_view all) { return client.ask(all); });
  require(hear(bytes, [](HttpClient& client, std::string_view all) {
            return client.ask_in_two(all, all.size() / 2);
          }) == whole);
  return 0;
}
