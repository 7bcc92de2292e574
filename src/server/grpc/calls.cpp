#include "server/grpc/calls.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace weir::server::grpc {
namespace {

constexpr std::size_t most_spare = 16;
/// Up to so many times its bound a header list is read, and refused by its status. A table entry
/// named again and again makes far longer ones of few bytes.
constexpr std::size_t bearable_excess = 4;
constexpr std::size_t kept_bytes = std::size_t{4} << 10;  ///< of a spare call's texts

constexpr std::array<std::string_view, 17> code_texts{
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"};

/// A field whose name is a literal; the value too, or it is copied.
nghttp2_nv field(std::string_view name, std::string_view value, std::uint8_t flags) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(),
          static_cast<std::uint8_t>(flags | NGHTTP2_NV_FLAG_NO_COPY_NAME)};
}
nghttp2_nv literal(std::string_view name, std::string_view value) {
  return field(name, value, NGHTTP2_NV_FLAG_NO_COPY_VALUE);
}

void need(int result) {
  if (result == NGHTTP2_ERR_NOMEM) throw std::bad_alloc();
}

/// The two fields that end a call; returns their number.
std::size_t write_status(const Status& status, const std::string& message, nghttp2_nv* to) {
  to[0] = literal("grpc-status", code_texts[static_cast<std::size_t>(status.code)]);
  if (message.empty()) return 1;
  to[1] = field("grpc-message", message, NGHTTP2_NV_FLAG_NONE);
  return 2;
}

void make_spare(Call& call) {
  call.head = CallHead();
  call.conversation.reset();
  for (std::string* text : {&call.input, &call.output}) {
    if (text->capacity() > kept_bytes) *text = std::string();
    text->clear();
  }
  call.sent = 0;
  call.status = Status();
  call.begun = call.heard_all = call.told_end = call.answering = call.finished = false;
}

}  // namespace

Calls::Calls(const Services& services, const Http2Limits& limits, MessageRoom& room,
             Http2Watch* watch, std::shared_ptr<Carrier> carrier)
    : services_(services),
      limits_(limits),
      room_(room),
      watch_(watch),
      address_(std::make_shared<AnswerAddress>(AnswerAddress{this, std::move(carrier)})) {}

Calls::~Calls() {
  address_->there = nullptr;
  for (const auto& call : calls_) room_.give_back(call->lent);
}

Call* Calls::at(std::int32_t stream) const {
  return static_cast<Call*>(nghttp2_session_get_stream_user_data(session_, stream));
}

void Calls::begin(std::int32_t stream) {
  std::unique_ptr<Call> call;
  if (spare_.empty()) {
    call = std::make_unique<Call>();
  } else {
    call = std::move(spare_.back());
    spare_.pop_back();
  }
  call->stream = stream;
  call->since = second_;
  call->place = calls_.size();
  calls_.push_back(std::move(call));
  nghttp2_session_set_stream_user_data(session_, stream, calls_.back().get());
}

bool Calls::read_header(std::int32_t stream, std::string_view name, std::string_view value) {
  Call* call = at(stream);
  // Behind its messages a client may send fields that say nothing to us.
  if (!call || call->begun) return true;
  call->head.read(name, value, services_);
  if (!call->head.longer_than(bearable_excess * limits_.header_list_bytes)) return true;
  met(Http2Limit::header_list_bytes);
  return false;
}

void Calls::end_header(std::int32_t stream) {
  Call* call = at(stream);
  if (!call || call->begun) return;
  call->begun = true;
  if (watch_) watch_->begun();
  if (auto refusal = call->head.refusal(limits_.header_list_bytes)) {
    if (call->head.longer_than(limits_.header_list_bytes)) met(Http2Limit::header_list_bytes);
    return refuse(*call, std::move(*refusal));
  }
  const auto* begin = std::get_if<Streaming>(call->head.method());
  if (begin) call->conversation = (*begin)();
  call->deadline = begin ? std::uint64_t(-1) : second_ + std::uint64_t(limits_.call.count());
  if (const auto timeout = call->head.timeout()) {
    const auto whole = std::chrono::ceil<std::chrono::seconds>(*timeout).count();
    call->deadline = std::min(call->deadline, second_ + std::uint64_t(whole) + 1);
  }
}

void Calls::read_data(std::int32_t stream, std::string_view bytes) {
  Call* call = at(stream);
  if (!call || call->finished) {
    need(nghttp2_session_consume_connection(session_, bytes.size()));
    return;
  }
  call->input += bytes;
  if (call->conversation) return hear_messages(*call);
  const FirstMessage first = first_message(call->input, limits_.message_bytes);
  if (!first_is_fit(*call, first)) return;
  if (first.form == FirstMessage::Form::incomplete) {
    lend_room(*call);
  } else if (call->input.size() - prefix_bytes > first.length) {
    finish(stream, {Code::internal, "more than one message in a unary call"});
  }
}

void Calls::hear_end(std::int32_t stream) {
  Call* call = at(stream);
  if (!call) return;
  call->heard_all = true;
  if (call->finished) return;
  if (call->conversation) return hear_messages(*call);
  hear_unary(*call);
}

void Calls::hear_unary(Call& call) {
  const FirstMessage first = first_message(call.input, limits_.message_bytes);
  if (first.form == FirstMessage::Form::incomplete) {
    return finish(call.stream,
                  {Code::internal, call.input.empty() ? "no message in a unary call"
                                                      : "the message ends before its length"});
  }
  const Unary& method = std::get<Unary>(*call.head.method());
  method(std::string_view(call.input).substr(prefix_bytes, first.length), reply(call));
  forget_input(call, call.input.size());
}

/// The client's messages at hand, as long as what is answered to them goes out.
void Calls::hear_messages(Call& call) {
  while (!call.finished) {
    if (call.output.size() > limits_.unsent_bytes) {
      waits_for_room_ = true;
      break;
    }
    const FirstMessage first = first_message(call.input, limits_.message_bytes);
    if (!first_is_fit(call, first)) return;
    if (first.form == FirstMessage::Form::incomplete) {
      lend_room(call);
      break;
    }
    const std::string message = call.input.substr(prefix_bytes, first.length);
    forget_input(call, prefix_bytes + first.length);
    need(nghttp2_session_consume_stream(session_, call.stream, prefix_bytes + first.length));
    call.since = second_;
    call.conversation->hear(message, reply(call));
  }
  if (!call.heard_all || call.told_end || call.finished) return;
  if (call.output.size() > limits_.unsent_bytes) return;
  call.told_end = true;
  if (!call.input.empty()) {
    return finish(call.stream, {Code::internal, "the message ends before its length"});
  }
  call.conversation->hear_end(reply(call));
}

Reply Calls::reply(const Call& call) const {
  const std::chrono::nanoseconds longest = limits_.call;
  return {address_, call.stream, std::min(call.head.timeout().value_or(longest), longest)};
}

/// Whether the first message is one that can be heard, or still may be; otherwise ends the call.
bool Calls::first_is_fit(Call& call, const FirstMessage& first) {
  switch (first.form) {
    case FirstMessage::Form::incomplete:
    case FirstMessage::Form::plain: return true;
    case FirstMessage::Form::no_message:
      finish(call.stream, {Code::internal, "a message begins with 0 or 1"});
      return false;
    case FirstMessage::Form::too_long:
      met(Http2Limit::message_bytes);
      finish(call.stream, {Code::resource_exhausted,
                           "a message of " + std::to_string(first.length) + " bytes; expected " +
                               std::to_string(limits_.message_bytes) + " at most"});
      return false;
    case FirstMessage::Form::compressed: break;
  }
  if (call.head.encoding().empty()) {
    finish(call.stream, {Code::internal, "a compressed message without grpc-encoding"});
  } else {
    finish(call.stream, {Code::unimplemented, "grpc-encoding: expected identity, found '" +
                                                  std::string(call.head.encoding()) + "'"});
  }
  return false;
}

/// For a message that has not ended: the client may send as many other bytes. Without this, calls
/// whose messages come by turns could fill the connection's window, and none of them end.
void Calls::lend_room(Call& call) {
  const std::size_t bytes = call.input.size() - call.lent;
  if (bytes == 0 || !room_.take(bytes)) return;
  call.lent += bytes;
  need(nghttp2_session_consume_connection(session_, bytes));
}

/// Bytes that are heard, or never will be: the client may send as many others.
void Calls::forget_input(Call& call, std::size_t bytes) {
  const std::size_t lent = std::min(bytes, call.lent);
  room_.give_back(lent);
  call.lent -= lent;
  need(nghttp2_session_consume_connection(session_, bytes - lent));
  call.input.erase(0, bytes);
}

void Calls::close(std::int32_t stream) {
  Call* call = at(stream);
  if (!call) return;
  forget_input(*call, call->input.size());
  const std::size_t place = call->place;
  std::swap(calls_[place], calls_.back());
  calls_[place]->place = place;
  std::unique_ptr<Call> ended = std::move(calls_.back());
  calls_.pop_back();
  if (spare_.size() >= most_spare) return;
  make_spare(*ended);
  spare_.push_back(std::move(ended));
}

// ---- Answers ----

void Calls::send(std::int32_t stream, std::string_view message) {
  Call* call = at(stream);
  if (!call || call->finished) return;
  const std::size_t end = call->output.size();
  call->output.resize(end + prefix_bytes);
  write_prefix(reinterpret_cast<std::uint8_t*>(call->output.data()) + end, message.size());
  call->output += message;
  if (!call->conversation) return;  // goes with its status
  call->since = second_;
  begin_answer(*call);
  tell_carrier();
}

void Calls::finish(std::int32_t stream, Status status) {
  Call* call = at(stream);
  if (!call || call->finished) return;
  if (!call->answering && call->output.empty()) return refuse(*call, {"200", std::move(status)});
  call->finished = true;
  call->since = second_;
  call->status = std::move(status);
  begin_answer(*call);
  tell_carrier();
}

/// Ends a call by its answer's header alone.
void Calls::refuse(Call& call, Refusal refusal) {
  call.finished = true;
  call.answering = true;
  call.since = second_;
  const std::string message = percent_encoded(refusal.status.message);
  nghttp2_nv fields[5] = {literal(":status", refusal.http_status),
                          literal("content-type", "application/grpc"),
                          literal("grpc-accept-encoding", "identity")};
  const std::size_t said = refusal.status.code == Code::unimplemented ? 3 : 2;
  const std::size_t count = said + write_status(refusal.status, message, fields + said);
  need(nghttp2_submit_response(session_, call.stream, fields, count, nullptr));
  tell_carrier();
}

void Calls::begin_answer(Call& call) {
  if (call.answering) {
    need(nghttp2_session_resume_data(session_, call.stream));
    return;
  }
  call.answering = true;
  const nghttp2_nv fields[] = {literal(":status", "200"),
                               literal("content-type", "application/grpc")};
  nghttp2_data_provider provider{};
  provider.source.ptr = &call;
  provider.read_callback = write_answer_;
  need(nghttp2_submit_response(session_, call.stream, fields, std::size(fields), &provider));
}

ssize_t Calls::write(Call& call, std::span<std::uint8_t> to, std::uint32_t& flags) {
  const std::size_t count = std::min(to.size(), call.output.size() - call.sent);
  if (count > 0) call.since = second_;
  std::memcpy(to.data(), call.output.data() + call.sent, count);
  call.sent += count;
  if (call.sent < call.output.size()) return static_cast<ssize_t>(count);
  call.output.clear();
  call.sent = 0;
  if (!call.finished && count == 0) return NGHTTP2_ERR_DEFERRED;
  if (!call.finished) return static_cast<ssize_t>(count);
  flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
  const std::string message = percent_encoded(call.status.message);
  nghttp2_nv fields[2];
  const std::size_t fields_count = write_status(call.status, message, fields);
  need(nghttp2_submit_trailer(session_, call.stream, fields, fields_count));
  return static_cast<ssize_t>(count);
}

/// An answer from outside the dialogue's course goes out only if the carrier looks.
void Calls::tell_carrier() const {
  if (!in_course_) address_->carrier->resume();
}

bool Calls::go_on() {
  bool heard = false;
  if (!std::exchange(waits_for_room_, false)) return false;
  for (std::size_t at = 0; at < calls_.size(); ++at) {
    Call& call = *calls_[at];
    if (!call.conversation || call.finished) continue;
    if (!call.output.empty()) {
      waits_for_room_ = true;  // for the client's window, where it is not this one's turn
      continue;
    }
    hear_messages(call);
    heard = true;
  }
  return heard;
}

// ---- Time ----

void Calls::met(Http2Limit limit) const {
  if (watch_) watch_->met(limit);
}

std::optional<Http2Limit> Calls::tick(std::uint64_t second) {
  second_ = second;
  for (std::size_t at = 0; at < calls_.size(); ++at) {
    if (const auto limit = tick_call(*calls_[at])) return limit;
  }
  return {};
}

std::optional<Http2Limit> Calls::tick_call(Call& call) {
  const std::uint64_t waited = second_ - call.since;
  if (!call.begun) {
    if (waited < std::uint64_t(limits_.request.count())) return {};
    return Http2Limit::request;
  }
  if (call.finished || !call.output.empty()) {
    if (waited < std::uint64_t(limits_.stalled_answer.count())) return {};
    return Http2Limit::stalled_answer;
  }
  if (second_ >= call.deadline) {
    if (!call.head.timeout()) met(Http2Limit::call);
    finish(call.stream, {Code::deadline_exceeded, "no answer came in time"});
  } else if (call.conversation) {
    call.conversation->tick(reply(call));
  } else if (!call.heard_all && waited >= std::uint64_t(limits_.request.count())) {
    met(Http2Limit::request);
    finish(call.stream, {Code::deadline_exceeded, "the request did not end in time"});
  } else if (!call.heard_all) {
    lend_room(call);  // there may be some again
  }
  return {};
}

void Calls::drain() {
  for (std::size_t at = 0; at < calls_.size(); ++at) {
    Call& call = *calls_[at];
    if (!call.conversation || call.finished) continue;
    call.conversation->drain(reply(call));
  }
}

void Calls::end_conversations() {
  for (std::size_t at = 0; at < calls_.size(); ++at) {
    const Call& call = *calls_[at];
    if (!call.conversation || call.finished) continue;
    finish(call.stream, {Code::unavailable, "the server ends"});
  }
}

}  // namespace weir::server::grpc
