// A store on an io_context that is run by somebody else.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "redis/access.hpp"
#include "weir/redis/store.hpp"
#include "weir/steady_instant.hpp"

namespace boost::asio {
class io_context;
}

namespace weir::redis {

/// A call whose words are bytes already.
struct FramedCall {
  std::string_view bytes;  ///< read before ask() returns
  std::uint16_t slot = 0;  ///< of its route
  SteadyInstant deadline_at{};
};

/// What Client is, on the loop that it is given: for programs that have one, or several.
///
/// Threads  the loop's, on which `then` is called; the constructor's too, before the loop runs;
///          stats() and has_module() from any
/// Memory   as Client's
/// Errors   told by the replies
class LoopClient final : public Store {
 public:
  /// Begins to connect with the loop's next turn. The loop outlives it.
  LoopClient(boost::asio::io_context& io, const Access& access);
  /// Ends the calls under way, as Client's does. Not to be called by a `then`.
  ~LoopClient() override;
  LoopClient(const LoopClient&) = delete;
  LoopClient& operator=(const LoopClient&) = delete;

  void ask(const StoreCall& call, Then then) override;
  void ask(const FramedCall& call, Then then);
  bool has_slots() const noexcept override;
  bool has_module(std::string_view route) const noexcept override;

  Client::Stats stats() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace weir::redis
