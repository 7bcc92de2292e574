// How often a handler may be called, declared where the handler is.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/http/keeper.hpp"
#include "weir/http/visit.hpp"
#include "weir/limit.hpp"

namespace weir::http {

/// Whose calls are counted together.
enum class Per : std::uint8_t {
  uri,           ///< all calls of a path
  user,          ///< those of who is logged in; who is not counts by address
  uri_and_user,  ///< each user's, of each path
  ip,
};

/// A call that is turned away, for who words the answer.
struct TurnedAway {
  Why why = Why::over_limit;
  const Visit& visit;
  std::optional<std::chrono::seconds> retry_after{};  ///< rounded up; none where nobody knows
};

/// The limit of one handler: so many calls within so long, or any other limit by its text.
///
/// Bound  a count and a time: never more than max_count calls in any `within` (a sliding log);
///        a text: what its algorithm promises
struct AccessLimit {
  std::string method{};  ///< in capitals; empty: any. GET's counts for HEAD where HEAD has none
  std::string path{};    ///< as the router names it

  Cost max_count = 0;
  std::chrono::seconds within{0};
  std::string limit{};  ///< instead of these two: "20/1s burst 40"

  Per per = Per::uri_and_user;
  std::function<std::string(const Visit&)> key{};  ///< instead of `per`: equal texts count together

  bool need_login = false;

  /// What is answered in the handler's place. Retry-After and the RateLimit fields are added.
  Reply answer = {429, "application/problem+json",
                  R"({"type":"about:blank","title":"Too Many Requests","status":429})"};
  /// To who is not logged in. HTTP wants a 401 to name a way in, and of the registered ones Bearer
  /// has no browser ask for a password.
  Reply login_answer = {401,
                        "application/problem+json",
                        R"({"type":"about:blank","title":"Unauthorized","status":401})",
                        {{"WWW-Authenticate", "Bearer"}}};
  /// While the keeper cannot count, and its policy is to let nobody in.
  Reply unavailable_answer = {
      503, "application/problem+json",
      R"({"type":"about:blank","title":"Service Unavailable","status":503})"};
  std::function<Reply(const TurnedAway&)> answer_by{};  ///< instead of all three
};

/// Which declaration cannot be, and why.
struct AccessLimitError {
  std::size_t index;    ///< of the declaration, from 0
  std::string message;  ///< names the handler, and what was expected
};

/// What stands in a handler's place.
struct Refused {
  Why why = Why::over_limit;
  Reply reply{};
};

/// Decides before a handler is run. Adapters: weir/http/beast.hpp, httplib.hpp, grpcpp.hpp.
///
///   const auto limits = weir::http::AccessLimits::of({{
///       .method = "POST", .path = "/reply", .max_count = 5, .within = 60s, .need_login = true,
///       .answer = {429, "application/json", R"({"code":1,"msg":"take a rest"})"}}});
///   if (const auto refused = limits.decide(visit)) return refused->reply;
///
/// A handler without a declaration is let through, and nothing is counted. Two keys never meet,
/// whatever bytes they are made of, and no two handlers; but keys above longest_key that begin
/// alike count together.
///
/// Memory   that of the keeper, and the declarations
/// Cost     a search among the declarations, a text for the key, the keeper's decision
/// Threads  decide() from any; a copy counts with the original
/// Errors   decide() throws what the functions of a declaration throw, and bad_alloc: the handler
///          is then not to be run
class AccessLimits {
 public:
  static constexpr std::size_t longest_key = 1'024;

  static Expected<AccessLimits, AccessLimitError> declare(std::vector<AccessLimit> limits,
                                                          const Keeper& keeper = kept_here());
  /// For declarations that a program brings along: throws std::invalid_argument with the error's
  /// words.
  static AccessLimits of(std::vector<AccessLimit> limits, const Keeper& keeper = kept_here());

  /// The answer in the handler's place; none where the handler is to be run.
  std::optional<Refused> decide(const Visit& visit) const;

  /// Whether any declaration is for a route.
  bool has_route(std::string_view path) const noexcept;

 private:
  struct Declared {
    AccessLimit limit;
    std::string name;               ///< "POST /reply": the beginning of its keys
    std::optional<LimitTerm> term;  ///< the limit's, where it has one only
    Take take;
  };

  AccessLimits() = default;

  const Declared* find(const Visit& visit) const noexcept;
  static std::string key_of(const Declared& declared, const Visit& visit);
  static Refused refused(const Declared& declared, const Visit& visit, const Taken& taken);

  std::vector<Declared> declared_;  ///< in the order of their paths
};

}  // namespace weir::http
