// The fields of an HTTP response that tell a client how it stands with its limits.
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weir/vocabulary.hpp"

namespace weir::http {

/// Which fields a response carries. Retry-After is of HTTP itself and comes in every dialect.
enum class RateDialect : std::uint8_t {
  ietf,     ///< RateLimit-Policy, RateLimit: draft-ietf-httpapi-ratelimit-headers-08 to -11
  draft03,  ///< X-RateLimit-Limit with all policies, -Remaining, -Reset: as Envoy sends them
  draft06,  ///< RateLimit-Limit, -Remaining, -Reset: three numbers, as envoyproxy/ratelimit sends
  legacy,   ///< the same named X-RateLimit-Limit, -Remaining, -Reset
  none,
};

/// One limit that a request was held to, and what is left of it.
struct RatePolicy {
  std::string_view name;         ///< no two of a response share one
  Cost quota = 0;                ///< what the limit grants in a window
  std::optional<Span> window{};  ///< told where it is whole seconds: the fields know nothing finer
  Cost remaining = 0;
  std::optional<Span> reset_after{};  ///< until the quota is whole again; none where nobody knows
};

/// How a request stands with all of its limits.
struct RateStanding {
  std::span<const RatePolicy> policies{};
  std::size_t binding = 0;            ///< the one that refuses, else the one with least left
  std::optional<Span> retry_after{};  ///< of a refusal; none where taken, or where never granted
};

/// One line of a response's head. HTTP/2 wants its name in small letters.
struct Field {
  std::string_view name;
  std::string value;
};

/// Writes the fields of a response, for any server.
///
/// Times are whole seconds, rounded up. Where refused, Retry-After is 1 at least, and the policy
/// that refuses tells no later instant as its own t or Reset: t is for how long a client can use no
/// more than what remains, and that ends with the first request that would be granted.
/// Numbers lie between 0 and 10^15 - 1, what a structured field holds (RFC 8941). A name's bytes
/// outside printable ASCII stand as %XX, and so does the percent sign, so that a name decodes as a
/// URL does.
///
/// Threads  any
/// Cost     an allocation a field
/// Errors   none; without policies there are no fields but Retry-After
class RateFields {
 public:
  static constexpr std::size_t most = 4;  ///< fields of a response

  /// Gives each field to `take`, which is called with a Field.
  template <typename Take>
  static void write(RateDialect dialect, const RateStanding& standing, Take&& take) {
    const std::span<const RatePolicy> policies = standing.policies;
    if (standing.binding < policies.size()) {
      if (dialect == RateDialect::ietf) {
        take(Field{"RateLimit-Policy", listed(standing, &append_policy)});
        take(Field{"RateLimit", listed(standing, &append_left)});
      } else if (dialect != RateDialect::none) {
        const RatePolicy& binding = policies[standing.binding];
        std::string limit = number(binding.quota);
        if (dialect == RateDialect::draft03) limit += ", " + listed(standing, &append_envoy_policy);
        const std::size_t from = dialect == RateDialect::draft06 ? 2 : 0;  // behind the "X-"
        const auto named = [from](std::string_view name) { return name.substr(from); };
        take(Field{named("X-RateLimit-Limit"), std::move(limit)});
        take(Field{named("X-RateLimit-Remaining"), number(binding.remaining)});
        if (const auto reset = reset_after(standing, standing.binding)) {
          take(Field{named("X-RateLimit-Reset"), number(seconds(*reset))});
        }
      }
    }
    if (standing.retry_after) take(Field{"Retry-After", number(retry_seconds(standing))});
  }

 private:
  using Append = void (*)(std::string& text, const RateStanding& standing, std::size_t index);

  static std::string listed(const RateStanding& standing, Append append) {
    std::string text;
    for (std::size_t i = 0; i < standing.policies.size(); ++i) {
      if (i > 0) text += ", ";
      append(text, standing, i);
    }
    return text;
  }

  static void append_policy(std::string& text, const RateStanding& standing, std::size_t index) {
    const RatePolicy& policy = standing.policies[index];
    append_string(text, policy.name);
    text += ";q=" + number(policy.quota);
    append_window(text, policy);
  }

  static void append_left(std::string& text, const RateStanding& standing, std::size_t index) {
    const RatePolicy& policy = standing.policies[index];
    append_string(text, policy.name);
    text += ";r=" + number(policy.remaining);
    if (const auto reset = reset_after(standing, index)) text += ";t=" + number(seconds(*reset));
  }

  static void append_envoy_policy(std::string& text, const RateStanding& standing,
                                  std::size_t index) {
    const RatePolicy& policy = standing.policies[index];
    text += number(policy.quota);
    append_window(text, policy);
    text += ";name=";
    append_string(text, policy.name);
  }

  static void append_window(std::string& text, const RatePolicy& policy) {
    constexpr Span second = std::chrono::seconds(1);
    if (!policy.window || *policy.window < second || *policy.window % second != Span{0}) return;
    text += ";w=" + number(seconds(*policy.window));
  }

  static void append_string(std::string& text, std::string_view name) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    text += '"';
    for (const char c : name) {
      if (c < ' ' || c > '~' || c == '%') {
        const auto byte = static_cast<unsigned char>(c);
        text += {'%', digits[byte >> 4], digits[byte & 15]};
      } else {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
      }
    }
    text += '"';
  }

  static std::optional<Span> reset_after(const RateStanding& standing, std::size_t index) {
    const std::optional<Span> reset = standing.policies[index].reset_after;
    const bool refuses = standing.retry_after && index == standing.binding;
    return reset && refuses && *reset > *standing.retry_after ? standing.retry_after : reset;
  }

  static std::int64_t retry_seconds(const RateStanding& standing) {
    const std::int64_t retry = seconds(*standing.retry_after);
    return retry < 1 ? 1 : retry;
  }

  static constexpr std::int64_t seconds(Span span) {
    constexpr Span second = std::chrono::seconds(1);
    return span / second + (span % second > Span{0} ? 1 : 0);
  }

  static std::string number(std::int64_t value) {
    constexpr std::int64_t largest = 999'999'999'999'999;
    std::array<char, std::numeric_limits<std::int64_t>::digits10 + 2> digits{};
    const std::int64_t told = value < 0 ? 0 : value > largest ? largest : value;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), told).ptr;
    return {digits.data(), end};
  }
};

}  // namespace weir::http
