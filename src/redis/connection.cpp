#include "redis/connection.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "redis/dialer.hpp"
#include "redis/loop_alarm.hpp"

namespace weir::redis {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Loop = asio::io_context::executor_type;

constexpr std::size_t read_bytes = 16384;  ///< at once

SteadyInstant now() { return std::chrono::steady_clock::now(); }

/// Not beyond the end of time.
SteadyInstant later(SteadyInstant instant, std::chrono::nanoseconds by) {
  return instant < SteadyInstant::max() - by ? instant + by : SteadyInstant::max();
}

}  // namespace

class Connection::Body : public std::enable_shared_from_this<Body> {
  /// A handler that is deaf once what it waited for is given up.
  template <typename Handler>
  auto current(Handler handler) {
    return [self = shared_from_this(), attempt = attempt_, handler](auto... told) {
      if (attempt == self->attempt_) handler(*self, told...);
    };
  }

 public:
  Body(asio::io_context& io, Settings settings, ClientCounters& counters)
      : settings_(std::move(settings)),
        counters_(counters),
        loop_(io.get_executor()),
        dialer_(loop_, settings_.node, settings_.path),
        socket_(loop_),
        pipeline_(settings_.pipeline),
        backoff_(settings_.backoff) {}

  void begin(Connection& front, Owner& owner) {
    front_ = &front;
    owner_ = &owner;
    alarm_.emplace(loop_, [self = shared_from_this()] {
      self->ring();
      self->arm();
    });
    asio::post(loop_, current([](Body& self) { self.attempt(); }));
  }

  void end() {
    why_ = "the client is being closed";
    const bool was_open = state_ == State::open;
    drop(State::ended);
    if (was_open) counters_.connected_nodes.add(-1);
    deliver();
    owner_ = nullptr;
    alarm_->stop();
  }

  Sent send(const Pipeline::Call& call) {
    if (state_ == State::ended || (state_ != State::open && failed_)) return Sent::down;
    if (!pipeline_.send(call)) return Sent::full;
    flush_soon();
    arm();
    return Sent::queued;
  }

  const std::string& why() const noexcept { return why_; }
  const Settings& settings() const noexcept { return settings_; }
  bool is_open() const noexcept { return state_ == State::open; }
  std::size_t in_flight() const noexcept { return pipeline_.in_flight(); }
  const ServerFacts& facts() const noexcept { return handshake_->facts(); }

 private:
  enum class State : std::uint8_t {
    connecting,
    greeting,
    open,
    resting,  ///< between attempts
    ended,
  };

  std::string where() const {
    return settings_.path.empty() ? print(settings_.node) : settings_.path;
  }

  // ---- Connecting ----

  void attempt() {
    state_ = State::connecting;
    until_ = later(now(), settings_.connect_within);
    arm();
    dialer_.dial([this](StreamSocket&& socket, const std::string& trouble) {
      if (!trouble.empty()) return fail(trouble);
      socket_ = std::move(socket);
      greet();
    });
  }

  void greet() {
    state_ = State::greeting;
    handshake_.emplace(settings_.handshake);
    greeting_.reset();
    tls_.reset();
    if (settings_.tls) tls_.emplace(settings_.tls, settings_.node.host);
    say(handshake_->command());
    read();
  }

  void hear_greeting(std::string_view bytes) {
    while (!bytes.empty() && state_ == State::greeting) {
      wire::Reply reply;
      const wire::ReadReply read = greeting_.read(bytes, reply);
      if (read.status == wire::ReadStatus::malformed) {
        return fail(std::string("it does not speak RESP: ") + wire::describe(read.fault));
      }
      bytes.remove_prefix(read.consumed);
      if (read.status == wire::ReadStatus::incomplete) return;
      if (reply.type == wire::ReplyType::push) continue;
      handshake_->hear(reply);
      if (const auto& error = handshake_->error()) {
        return fail(std::string(name(error->step)) + ": " + error->message);
      }
      if (handshake_->done()) return open(bytes);
      say(handshake_->command());
    }
  }

  void open(std::string_view rest) {
    if (!rest.empty()) return fail("it says more than it was asked");
    state_ = State::open;
    failed_ = false;
    proved_ = false;
    opened_at_ = now();
    counters_.connections.add(1);
    counters_.connected_nodes.add(1);
    const auto attempt = attempt_;
    owner_->opened(*front_);
    if (attempt == attempt_) flush();
  }

  // ---- Its end, and the next one ----

  /// Where an attempt comes to nothing, or what was open is lost.
  void fail(std::string why) {
    why_ = where() + ": " + std::move(why);
    const bool was_open = state_ == State::open;
    drop(State::resting);
    if (was_open) counters_.connected_nodes.add(-1);
    if (was_open && proved_) {
      backoff_.succeeded();
      // At once, but not more often than by a first pause: some hang up after each answer.
      until_ = later(opened_at_, settings_.backoff.first_for);
      arm();
    } else {
      if (!was_open) counters_.failed_attempts.add(1);
      failed_ = true;
      until_ = later(now(), backoff_.next());
      arm();
    }
    const auto attempt = attempt_;
    deliver();
    if (attempt == attempt_) owner_->closed(*front_);
  }

  void drop(State state) {
    ++attempt_;
    state_ = state;
    dialer_.stop();
    error_code ignored;
    socket_.close(ignored);
    output_.clear();
    written_ = 0;
    writing_ = flushing_ = false;
    pipeline_.lose(ended_);
  }

  void deliver() {
    if (ended_.empty()) return;
    std::vector<Pipeline::Ended> ended;
    std::swap(ended, ended_);
    for (Pipeline::Ended& call : ended) owner_->call_ended(*front_, std::move(call), why(call));
    ended.clear();
    if (ended_.empty()) std::swap(ended, ended_);  // its memory serves again
  }

  std::string_view why(const Pipeline::Ended& call) {
    if (call.outcome != CallOutcome::timed_out) return why_;
    return "no answer by its deadline";
  }

  // ---- Time ----

  SteadyInstant next_event_at() const {
    SteadyInstant at = state_ == State::open ? SteadyInstant::max() : until_;
    if (const auto deadline = pipeline_.next_deadline_at()) at = std::min(at, *deadline);
    if (const auto oldest = pipeline_.oldest_deadline_at()) {
      at = std::min(at, later(*oldest, settings_.connect_within));
    }
    return at;
  }

  void arm() {
    if (state_ != State::ended) alarm_->ring_by(next_event_at());
  }

  void ring() {
    const SteadyInstant time = now();
    expire(time);
    if (state_ == State::ended) return;
    if (state_ == State::open) {
      const auto oldest = pipeline_.oldest_deadline_at();
      if (oldest && time >= later(*oldest, settings_.connect_within)) fail("it does not answer");
    } else if (time >= until_) {
      if (state_ == State::resting) return attempt();
      fail("no connection within the time for it");
    }
  }

  void expire(SteadyInstant time) {
    if (state_ != State::open && why_.empty()) why_ = where() + ": not connected yet";
    pipeline_.expire(time, ended_);
    deliver();
  }

  // ---- Bytes ----

  void flush_soon() {
    if (state_ != State::open || writing_ || flushing_) return;
    flushing_ = true;
    asio::post(loop_, current([](Body& self) {
                 self.flushing_ = false;
                 self.flush();
               }));
  }

  void flush() {
    if (writing_) return;
    const auto attempt = attempt_;
    expire(now());
    if (attempt != attempt_ || pipeline_.unsent_bytes() == 0) return;
    pipeline_.take_output(tls_ ? plain_ : output_);
    if (tls_) return say(plain_);
    write();
  }

  void say(std::string_view plain) {
    if (tls_) {
      tls_->say(plain);
      tls_->take_output(output_);
    } else {
      output_ += plain;
    }
    if (!writing_) write();
  }

  /// Sends what is in `output_`, and then what has come together meanwhile.
  void write() {
    writing_ = true;
    while (written_ < output_.size()) {
      error_code error;
      written_ += socket_.write_some(asio::buffer(output_) + written_, error);
      if (error == asio::error::would_block) {
        socket_.async_wait(StreamSocket::wait_write, current([](Body& self, error_code fault) {
                             if (fault) return self.fail(fault.message());
                             self.write();
                           }));
        return;
      }
      if (error && error != asio::error::interrupted) {
        // What the server said before it closed tells more; read() comes to it.
        return;
      }
    }
    output_.clear();
    written_ = 0;
    writing_ = false;
    if (state_ == State::open && pipeline_.unsent_bytes() > 0) flush_soon();
  }

  void read() {
    socket_.async_read_some(asio::buffer(room_),
                            current([](Body& self, error_code error, std::size_t count) {
                              if (error == asio::error::eof)
                                return self.fail("it closed the connection");
                              if (error) return self.fail(error.message());
                              const auto attempt = self.attempt_;
                              self.receive({self.room_.data(), count});
                              if (attempt == self.attempt_) self.read();
                            }));
  }

  void receive(std::string_view bytes) {
    if (!tls_) return hear(bytes);
    plain_.clear();
    tls_->hear(bytes, plain_);
    say("");  // what TLS itself has to say
    const std::string trouble = tls_->trouble();
    const auto attempt = attempt_;
    if (!plain_.empty()) hear(plain_);
    if (attempt == attempt_ && !trouble.empty()) fail(trouble);
  }

  void hear(std::string_view bytes) {
    if (state_ == State::greeting) return hear_greeting(bytes);
    const auto attempt = attempt_;
    const Pipeline::Heard heard = pipeline_.hear(bytes, ended_);
    counters_.late_replies.add(static_cast<std::int64_t>(heard.late));
    proved_ = proved_ || !ended_.empty();
    deliver();
    for (const wire::Reply& push : heard.pushes) owner_->pushed(*front_, push);
    if (attempt != attempt_ || heard.fault == Pipeline::Fault::none) return;
    if (heard.fault == Pipeline::Fault::malformed) {
      return fail(std::string("it does not speak RESP: ") + wire::describe(heard.reply_fault));
    }
    fail(heard.unasked.type == wire::ReplyType::error ? in_one_line(heard.unasked.text)
                                                      : "it says more than it was asked");
  }

  const Settings settings_;
  ClientCounters& counters_;
  Connection* front_ = nullptr;
  Owner* owner_ = nullptr;
  Loop loop_;
  Dialer dialer_;
  StreamSocket socket_;
  Pipeline pipeline_;
  Backoff backoff_;
  std::optional<Handshake> handshake_;
  wire::ReplyReader greeting_;
  std::optional<TlsSession> tls_;
  State state_ = State::connecting;
  std::uint64_t attempt_ = 0;  ///< which one: handlers of an older one are deaf
  bool failed_ = false;        ///< the last attempt has
  bool proved_ = false;        ///< the server has answered a call on this connection
  bool writing_ = false;       ///< the socket is full
  bool flushing_ = false;      ///< with the loop's next turn
  SteadyInstant opened_at_ = SteadyInstant::min();
  SteadyInstant until_ = SteadyInstant::max();  ///< when an attempt, or a rest, is over
  std::optional<LoopAlarm> alarm_;
  std::string why_;                     ///< of the last failure
  std::vector<Pipeline::Ended> ended_;  ///< not told of yet
  std::string plain_;                   ///< what TLS makes output_ of, or of what it has received
  std::string output_;                  ///< on its way to the network
  std::size_t written_ = 0;
  std::array<char, read_bytes> room_;
};

Connection::Connection(asio::io_context& io, Settings settings, Owner& owner,
                       ClientCounters& counters)
    : body_(std::make_shared<Body>(io, std::move(settings), counters)) {
  body_->begin(*this, owner);
}

Connection::~Connection() { body_->end(); }

Connection::Sent Connection::send(const Pipeline::Call& call) { return body_->send(call); }

const std::string& Connection::why() const noexcept { return body_->why(); }

const Node& Connection::node() const noexcept { return body_->settings().node; }

bool Connection::is_open() const noexcept { return body_->is_open(); }

std::size_t Connection::in_flight() const noexcept { return body_->in_flight(); }

const ServerFacts& Connection::facts() const noexcept { return body_->facts(); }

}  // namespace weir::redis
