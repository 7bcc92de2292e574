#include <algorithm>
#include <array>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "http/declaration.hpp"
#include "weir/http/access_limit.hpp"

namespace weir::http {
namespace {

/// The length before a text says where it ends, whatever it holds: so no two lists of texts are
/// written alike.
void append_counted(std::string& key, std::string_view text) {
  key += std::to_string(text.size());
  key += ':';
  key += text;
}

/// A user may be called as an address is written.
void append_caller(std::string& key, const Visit& visit) {
  key += visit.user.empty() ? '@' : '=';
  key += visit.user.empty() ? visit.ip : visit.user;
}

std::optional<Span> retry_after(const Taken& taken) {
  if (taken.retry_after == std::chrono::nanoseconds::max()) return {};
  return std::chrono::ceil<Span>(taken.retry_after);
}

}  // namespace

// ---- Declaring ----

Expected<AccessLimits, AccessLimitError> AccessLimits::declare(std::vector<AccessLimit> limits,
                                                               const Keeper& keeper) {
  AccessLimits made;
  for (std::size_t index = 0; index < limits.size(); ++index) {
    AccessLimit& declared = limits[index];
    std::string name = name_of(declared);
    const auto failed = [&](std::string_view why) {
      return AccessLimitError{index, "access limit of " + name + ": " + std::string(why)};
    };
    const auto same = [&name](const Declared& other) { return other.name == name; };
    if (std::any_of(made.declared_.begin(), made.declared_.end(), same)) {
      return failed("declared twice; expected once, with both limits joined by '&'");
    }
    const auto limit = limit_of(declared);
    if (!limit) return failed(limit.error());
    try {
      Take take = keeper(limit->text());
      std::optional<LimitTerm> term;
      if (const LimitTerm* const only = limit->only_term()) term = *only;
      made.declared_.push_back({std::move(declared), std::move(name), term, std::move(take)});
    } catch (const std::invalid_argument& reason) {
      return failed(reason.what());
    }
  }
  std::sort(made.declared_.begin(), made.declared_.end(),
            [](const auto& one, const auto& other) { return one.limit.path < other.limit.path; });
  return made;
}

AccessLimits AccessLimits::of(std::vector<AccessLimit> limits, const Keeper& keeper) {
  auto declared = declare(std::move(limits), keeper);
  if (!declared) throw std::invalid_argument(declared.error().message);
  return std::move(declared).value();
}

// ---- Deciding ----

namespace {

/// Compares declarations with a path.
struct ByPath {
  template <typename Declared>
  bool operator()(const Declared& declared, std::string_view path) const noexcept {
    return declared.limit.path < path;
  }
  template <typename Declared>
  bool operator()(std::string_view path, const Declared& declared) const noexcept {
    return path < declared.limit.path;
  }
};

Reply worded(const AccessLimit& limit, const TurnedAway& who) {
  if (limit.answer_by) return limit.answer_by(who);
  switch (who.why) {
    case Why::over_limit: break;
    case Why::not_logged_in: return limit.login_answer;
    case Why::unavailable: return limit.unavailable_answer;
  }
  return limit.answer;
}

}  // namespace

bool AccessLimits::has_route(std::string_view path) const noexcept {
  return std::binary_search(declared_.begin(), declared_.end(), path, ByPath{});
}

const AccessLimits::Declared* AccessLimits::find(const Visit& visit) const noexcept {
  const std::string_view route = visit.route.empty() ? visit.path : visit.route;
  const auto [begin, end] = std::equal_range(declared_.begin(), declared_.end(), route, ByPath{});
  // Routers give HEAD to the handler of GET: it must not be a way around the limit.
  const std::array<std::string_view, 3> methods{visit.method,
                                                visit.method == "HEAD" ? "GET" : visit.method, ""};
  for (const std::string_view method : methods) {
    const auto found = std::find_if(
        begin, end, [&](const Declared& declared) { return declared.limit.method == method; });
    if (found != end) return &*found;
  }
  return nullptr;
}

std::optional<Refused> AccessLimits::decide(const Visit& visit) const {
  const Declared* const declared = find(visit);
  if (declared == nullptr) return {};
  if (declared->limit.need_login && visit.user.empty()) {
    return Refused{Why::not_logged_in,
                   worded(declared->limit, {.why = Why::not_logged_in, .visit = visit})};
  }
  const Taken taken = declared->take(key_of(*declared, visit));
  if (taken.admitted) return {};
  return refused(*declared, visit, taken);
}

std::string AccessLimits::key_of(const Declared& declared, const Visit& visit) {
  std::string key;
  append_counted(key, declared.name);
  if (declared.limit.key) {
    key += declared.limit.key(visit);
  } else {
    switch (declared.limit.per) {
      case Per::uri: key += visit.path; break;
      case Per::user: append_caller(key, visit); break;
      case Per::uri_and_user:
        append_counted(key, visit.path);
        append_caller(key, visit);
        break;
      case Per::ip: key += visit.ip; break;
    }
  }
  // One byte above, so that none meets a key that is whole.
  if (key.size() > longest_key) key.resize(longest_key + 1);
  return key;
}

Refused AccessLimits::refused(const Declared& declared, const Visit& visit, const Taken& taken) {
  RateStanding standing{.retry_after = retry_after(taken)};
  std::optional<std::chrono::seconds> seconds;
  if (const auto after = standing.retry_after) {
    seconds = std::max(std::chrono::ceil<std::chrono::seconds>(*after), std::chrono::seconds{1});
  }
  const Why why = taken.unavailable ? Why::unavailable : Why::over_limit;
  Refused refused{why, worded(declared.limit, {why, visit, seconds})};

  // Of several terms nobody here knows which refused, and without a count nothing is known at all.
  std::array<RatePolicy, 1> policy{};
  if (declared.term && why == Why::over_limit) {
    policy[0] = {.name = declared.name,
                 .quota = declared.term->count,
                 .window = declared.term->window(),
                 .reset_after = standing.retry_after};
    standing.policies = policy;
  }
  RateFields::write(RateDialect::ietf, standing,
                    [&refused](Field field) { refused.reply.fields.push_back(std::move(field)); });
  return refused;
}

}  // namespace weir::http
