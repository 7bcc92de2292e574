// Finding the master that sentinels watch over.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/backoff.hpp"
#include "redis/node.hpp"
#include "weir/steady_instant.hpp"
#include "wire/resp_reader.hpp"

namespace weir::redis {

/// Asks the sentinels in turn who the master is, and the node that one names whether that is so:
/// right after a failover a sentinel may still name the old one. Each round begins with the
/// sentinel that last told the truth.
///
///   while (!sentinels.master()) {
///     const auto todo = sentinels.next(now);
///     do it, within a deadline of the host's; then hear_address(), hear_role() or failed()
///   }
///
/// Bound    one question at a time; between rounds a backoff
/// Threads  one at a time
/// Errors   none of its own: what a sentinel says is not trusted, and leads to the next one
class Sentinels {
 public:
  struct Settings {
    std::vector<Node> nodes{};  ///< the sentinels, at least one
    std::string master{};       ///< the name that they have for it
    Backoff::Settings backoff{};
  };

  enum class Action : std::uint8_t {
    ask_address,  ///< SENTINEL GET-MASTER-ADDR-BY-NAME, of a sentinel
    ask_role,     ///< ROLE, of the node that it named
    wait,         ///< until `until`: no sentinel knew
    none,         ///< the master is known
  };

  struct Todo {
    Action action = Action::none;
    Node node{};            ///< whom to ask
    SteadyInstant until{};  ///< of wait
  };

  /// Throws std::invalid_argument without a node or a name.
  explicit Sentinels(Settings settings);

  /// What to do now. The same until it is heard of, or the wait is over.
  Todo next(SteadyInstant now);

  /// The framed question to a sentinel.
  std::string address_question() const;

  /// The reply to ask_address.
  void hear_address(const wire::Reply& reply, SteadyInstant now);

  /// The reply of a node to ask_role. No longer of use where another has been named since.
  void hear_role(const Node& asked, const wire::Reply& reply, SteadyInstant now);

  /// Who was asked could not be reached, or did not answer in time.
  void failed(const Node& asked, SteadyInstant now);

  /// The master, once a node has said of itself that it is.
  const std::optional<Node>& master() const noexcept { return master_; }

  /// The master does not answer, or says that it is none: ask anew.
  void doubt() noexcept;

  /// What a sentinel published to +switch-master: "NAME OLD-IP OLD-PORT NEW-IP NEW-PORT". Where it
  /// is about this master, the new one is asked next whether it is so. True then.
  bool hear_switch(std::string_view message);

 private:
  void turn(SteadyInstant now);

  Settings settings_;
  Backoff backoff_;
  std::size_t sentinel_ = 0;  ///< whose turn it is
  std::size_t asked_ = 0;     ///< in this round
  std::optional<Node> named_;
  std::optional<Node> master_;
  std::optional<SteadyInstant> wait_until_;
};

}  // namespace weir::redis
