#include "server/resp_session.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "server/commands.hpp"

namespace weir::server {
namespace {

constexpr std::size_t input_at_first = std::size_t{4} << 10;
constexpr std::size_t input_at_ease = std::size_t{64} << 10;  ///< shrunk to after a larger frame

/// The limit that a request was above, if it was that.
std::optional<LimitHit> limit_of(wire::RequestFault fault) {
  switch (fault) {
    case wire::RequestFault::too_many_arguments: return LimitHit::arguments;
    case wire::RequestFault::argument_too_long: return LimitHit::argument_bytes;
    case wire::RequestFault::frame_too_long: return LimitHit::frame_bytes;
    case wire::RequestFault::inline_too_long: return LimitHit::inline_bytes;
    default: return {};
  }
}

}  // namespace

RespSession::RespSession(Worker& worker, Socket socket, Arrival& arrival)
    : Session(worker, std::move(socket), arrival), input_(input_at_first) {
  connection_.id = worker_.service_.next_connection.fetch_add(1, std::memory_order_relaxed);
  connection_.peer = std::move(arrival.peer);
  connection_.authenticated = !worker_.service_.password.required();
  if (worker_.service_.store) receive_answers();
}

RespSession::~RespSession() {
  if (connection_.address) connection_.address->gone();
}

bool RespSession::is_stranger() const {
  return !connection_.authenticated || Session::is_stranger();
}

std::span<char> RespSession::room() {
  make_room();
  return std::span(input_).subspan(end_);
}

void RespSession::received(std::size_t bytes) {
  end_ += bytes;
  hungry_ = false;
}

void RespSession::tell_stalled() const {
  worker_.service_.log.write(LogKind::stalled_client, {{"client", connection_.peer},
                                                       {"name", connection_.name},
                                                       {"waits_to", writing_ ? "read" : "write"}});
}

RespSession::Next RespSession::answer_and_write() {
  for (;;) {
    if (!hungry_ && !connection_.closing) {
      if (!connection_.authenticated) answer_stranger();
      if (connection_.authenticated) answer();
      if (!hungry_) count_turn();
    }
    if (!write_answers())
      return errno == EAGAIN || errno == EWOULDBLOCK ? Next::write : Next::close;
    if (connection_.closing) return awaits_answers() ? Next::wait_for_answers : Next::close;
    if (!hungry_) {
      return connection_.replies.held_up() < worker_.limits_.pipeline ? Next::take_turns
                                                                      : Next::wait_for_answers;
    }
    if (!worker_.draining_) return Next::read;
    if (!receive_rest()) return awaits_answers() ? Next::wait_for_answers : Next::close;
  }
}

/// Answers the complete commands at hand, as far as the output has room.
void RespSession::answer() {
  CommandContext& context = worker_.context_;
  context.connection = &connection_;
  context.now = worker_.service_.clock.now();
  // A command awaits one reply at most; EXEC those of as many as fit into a transaction.
  const std::size_t held_up = connection_.replies.held_up();
  context.turn = worker_.limits_.pipeline - std::min(worker_.limits_.pipeline, held_up);
  std::uint64_t answered = 0;
  hungry_ = true;
  for (bool more = true; more && !connection_.closing;) {
    wire::ParsedRequest last;
    const std::size_t count = parse_ahead(last);
    more = count == worker_.ahead_.size() || last.status == wire::RequestStatus::complete;
    for (std::size_t at = 0; at < count && !connection_.closing; ++at) {
      if (connection_.replies.bytes() >= worker_.limits_.output_bytes || answered >= context.turn) {
        hungry_ = more = false;
        needed_ = 1;  // those left are parsed again
        break;
      }
      Worker::Ahead& ahead = worker_.ahead_[at];
      begin_ = ahead.end;
      if (ahead.arguments.empty()) continue;
      wire::ReplyWriter reply(connection_.replies.tail(), connection_.protocol);
      run(ahead.call, context, ahead.arguments, reply);
      ++answered;
    }
    if (hungry_ && !connection_.closing && last.status == wire::RequestStatus::malformed) {
      const std::string reason = worker_.parser_.explain(last);
      note_refusal(last.fault, reason);
      wire::ReplyWriter(connection_.replies.tail(), connection_.protocol)
          .error("ERR Protocol error: " + reason);
      connection_.closing = true;
    }
  }
  if (answered == 0) return;
  waiting_since_ = worker_.seconds_;
  worker_.metrics_.asked_by(Speaks::resp).add(answered);
  if (++worker_.batches_ % Worker::sampled_batch == 0) {
    worker_.metrics_.took(Speaks::resp, worker_.service_.clock.now() - context.now, answered);
  }
}

/// Parses the next commands; returns how many are complete, and what the parser said last.
std::size_t RespSession::parse_ahead(wire::ParsedRequest& last) {
  std::size_t count = 0;
  std::size_t at = begin_;
  last.status = wire::RequestStatus::incomplete;
  while (count < worker_.ahead_.size() && at + needed_ <= end_) {
    Worker::Ahead& ahead = worker_.ahead_[count];
    const std::string_view bytes(input_.data() + at, end_ - at);
    last = worker_.parser_.parse(bytes, ahead.arguments);
    if (last.status == wire::RequestStatus::incomplete) needed_ = last.needed;
    if (last.status != wire::RequestStatus::complete) break;
    needed_ = 1;
    ahead.end = at += last.consumed;
    if (!ahead.arguments.empty()) ahead.call = prepare(worker_.context_, ahead.arguments);
    ++count;
    // The words of an inline command lie in the parser and live until it parses again.
    if (bytes.front() != '*') break;
  }
  return count;
}

/// One command of a client that has not shown the password: no more in a turn, so that guesses cost
/// others little.
void RespSession::answer_stranger() {
  CommandContext& context = worker_.context_;
  context.connection = &connection_;
  hungry_ = begin_ + needed_ > end_;
  if (hungry_) return;
  const std::string_view bytes(input_.data() + begin_, end_ - begin_);
  wire::RequestParser& parser = worker_.strangers_parser_;
  const wire::ParsedRequest parsed = parser.parse(bytes, worker_.strangers_arguments_);
  if (parsed.status == wire::RequestStatus::incomplete) {
    needed_ = parsed.needed;
    hungry_ = true;
    return;
  }
  wire::ReplyWriter reply(connection_.replies.tail(), connection_.protocol);
  if (parsed.status == wire::RequestStatus::malformed) {
    const std::string reason = "unauthenticated: " + parser.explain(parsed);
    note_refusal(parsed.fault, reason);
    reply.error("ERR Protocol error: " + reason);
    connection_.closing = true;
    return;
  }
  begin_ += parsed.consumed;
  needed_ = 1;
  if (worker_.strangers_arguments_.empty()) return;
  run_before_password(context, worker_.strangers_arguments_, reply);
  waiting_since_ = worker_.seconds_;
  worker_.metrics_.asked_by(Speaks::resp).add(1);
}

void RespSession::note_refusal(wire::RequestFault fault, std::string_view reason) {
  worker_.service_.log.write(
      LogKind::malformed_request,
      {{"client", connection_.peer}, {"name", connection_.name}, {"reason", reason}});
  const auto limit = limit_of(fault);
  worker_.metrics_.gave_up(limit ? WireFault::too_large : WireFault::malformed);
  if (limit) worker_.metrics_.hit(*limit);
}

/// A turn that ended before all was answered.
void RespSession::count_turn() {
  if (connection_.replies.bytes() >= worker_.limits_.output_bytes) {
    worker_.metrics_.hit(LimitHit::output_bytes);
  } else if (connection_.authenticated && !connection_.closing) {
    worker_.metrics_.hit(LimitHit::pipeline);
  }
}

/// Makes the input buffer hold at least what the command at its start needs, and one byte more.
void RespSession::make_room() {
  const bool was_full = end_ == input_.size();
  if (begin_ > 0) {
    std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == 0) {
    if (input_.size() > input_at_ease) {
      input_.resize(input_at_first);
      input_.shrink_to_fit();
    } else if (was_full && input_.size() < input_at_ease) {
      input_.resize(input_.size() * 2);  // a deep pipeline: fewer, larger reads
    }
  }
  const std::size_t wanted = std::max(needed_, end_ + 1);
  if (input_.size() < wanted) input_.resize(std::max(wanted, input_.size() * 2));
}

}  // namespace weir::server
