// One connection's calls: commands out, replies back to who asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/redis/store.hpp"
#include "weir/steady_instant.hpp"
#include "wire/resp_reader.hpp"

namespace weir::redis {

/// Calls that are answered in the order in which they were sent. Each ends exactly once, and never
/// by the reply to another: a reply that comes after its call's deadline is dropped.
///
/// Bytes handed out by take_output() count as sent, since nobody can tell how far they have come.
///
/// Bound    `calls` in flight, those past their deadline among them until their reply has come;
///          `bytes` not yet handed out
/// Memory   32 bytes for each of `calls`, from the beginning; the bytes not yet handed out; one
///          reply
/// Threads  one at a time
/// Cost     a call allocates nothing once the output has grown, and its reply what a wire::Reply
///          needs; a look at each call in flight where a deadline has passed
class Pipeline {
 public:
  struct Settings {
    std::size_t calls = 1024;
    std::size_t bytes = 1 << 20;
    wire::ReplyLimits reply{};
  };

  /// The host's own name for a call: told back when it ends. Two calls may share one.
  using CallId = std::uint64_t;

  struct Call {
    CallId id = 0;
    std::string_view bytes{};    ///< framed commands
    std::uint32_t commands = 1;  ///< in these bytes; the last one's reply is the answer
    SteadyInstant deadline_at{};
  };

  struct Ended {
    CallId id = 0;
    CallOutcome outcome = CallOutcome::answered;
    wire::Reply reply{};  ///< of an answered call
  };

  /// Why a stream of replies is of no further use.
  enum class Fault : std::uint8_t {
    none,
    malformed,  ///< no reply: see reply_fault
    unasked,    ///< a reply to nothing that was sent: see unasked
  };

  struct Heard {
    Fault fault = Fault::none;
    std::size_t late = 0;  ///< replies dropped: their calls had ended
    wire::ReplyFault reply_fault = wire::ReplyFault::none;
    wire::Reply unasked{};  ///< often an error that says why the server will close
    std::vector<wire::Reply> pushes{};
  };

  Pipeline() : Pipeline(Settings{}) {}
  explicit Pipeline(const Settings& settings)
      : settings_(settings), reader_(settings.reply), places_(settings.calls) {}

  /// Queues a call. False, and nothing queued, where there is no room. Requires commands >= 1.
  bool send(const Call& call);

  /// Moves all that waits to be sent into `out`, which is emptied first and so lends its memory.
  /// Calls past their deadline are not among it; the host expires them first.
  void take_output(std::string& out);

  /// Bytes that wait to be taken.
  std::size_t unsent_bytes() const noexcept { return unsent_.size(); }

  /// Takes bytes from the server; appends the calls that ended by them. Pushes end none. After a
  /// fault it takes no more: the host closes the connection, then calls lose().
  Heard hear(std::string_view bytes, std::vector<Ended>& ended);

  /// Ends the calls whose deadline has come. One that was not yet taken will not be sent at all.
  void expire(SteadyInstant now, std::vector<Ended>& ended);

  /// The connection is gone: ends all calls, and is ready for a new one.
  void lose(std::vector<Ended>& ended);

  /// When to call expire() next; nothing while no call waits. May be early, never late.
  std::optional<SteadyInstant> next_deadline_at() const noexcept;

  /// The deadline of the oldest call that was sent and has no reply. Long past, it tells of a
  /// connection that hangs: replies in order mean that no later call will be answered either.
  std::optional<SteadyInstant> oldest_deadline_at() const noexcept;

  /// Calls that hold a place, ended by their deadline or not.
  std::size_t in_flight() const noexcept { return in_flight_; }

 private:
  struct Waiting {
    CallId id = 0;
    std::size_t bytes = 0;
    SteadyInstant deadline_at{};
    std::uint32_t commands = 1;  ///< whose replies are still to come
    bool ended = false;          ///< its replies are dropped
  };

  /// The i-th call, the oldest being the 0th. Requires i < calls.
  Waiting& call_at(std::size_t i) noexcept { return places_[(oldest_ + i) % places_.size()]; }
  bool take_reply(Heard& heard, std::vector<Ended>& ended);
  void drop_unsent_that_ended();

  Settings settings_;
  wire::ReplyReader reader_;
  wire::Reply reply_;
  std::vector<Waiting> places_;  ///< a ring
  std::size_t oldest_ = 0;       ///< where in places_ the oldest call is
  std::size_t in_flight_ = 0;    ///< calls, from there on
  std::size_t sent_ = 0;         ///< of these, how many were handed out: the oldest ones
  std::string unsent_;           ///< the bytes of the others
  SteadyInstant next_deadline_at_ = SteadyInstant::max();
  Fault fault_ = Fault::none;
};

}  // namespace weir::redis
