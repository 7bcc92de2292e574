// A request over keys of several slots of a cluster.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "redis/remote_request.hpp"

namespace weir::redis {

/// Takes the claims slot by slot, in the order of their keys, so that two such requests never wait
/// for each other; claims of one slot are taken together. Where one is refused, those before it are
/// given back, the last first: permits by release, all else by refund. Nobody waits: what is taken
/// is taken now. A peek asks in the same order, and nothing is given back.
///
/// Bound    each limit's own. Nobody else is let in beside it, but others may be denied for units
///          that are then given back: at most the request's cost under each key, until the call and
///          the giving back have ended, so for twice the deadline. Units whose giving back is lost,
///          or whose taking has timed out, stay charged until the limit has repaid them
class InTurn : public std::enable_shared_from_this<InTurn> {
 public:
  /// What the table lends.
  struct Verbs {
    std::function<void(const RemoteRequestPtr&)> ask;  ///< tells trouble, and nobody stands in
    std::function<void(const Claim&, const Grant&)> give_back;
    std::function<void(const RemoteRequest&, const Trouble&)> without_store;
  };

  /// The claims of each slot, as places in the request; fewer than two where one script does. The
  /// keys are as stored.
  static std::vector<std::vector<std::size_t>> slots_of(const std::vector<std::string>& keys);

  InTurn(RemoteRequestPtr whole, std::vector<std::vector<std::size_t>> slots, Verbs verbs)
      : whole_(std::move(whole)), slots_(std::move(slots)), verbs_(std::move(verbs)) {}

  void begin() { ask_next(); }

 private:
  void ask_next();
  void heard(RemoteAnswer&& answer);
  void give_all_back();
  void tell_all();

  RemoteRequestPtr whole_;
  std::vector<std::vector<std::size_t>> slots_;
  Verbs verbs_;
  std::vector<RemoteAnswer> taken_;  ///< one for each of the first slots
};

}  // namespace weir::redis
