#include "weir/redis/client.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "redis/access.hpp"
#include "redis/loop_client.hpp"
#include "redis/slots.hpp"
#include "wire/resp_request.hpp"

namespace weir::redis {

namespace asio = boost::asio;

/// A loop, its thread, and what other threads hand in: one wake-up for all that has come together.
class Client::Body {
 public:
  explicit Body(const Access& access)
      : settings_(access.settings),
        io_(1),
        work_(asio::make_work_guard(io_)),
        client_(std::in_place, io_, access),
        has_slots_(client_->has_slots()),
        thread_([this] { io_.run(); }) {}

  ~Body() {
    asio::post(io_, [this] {
      {
        const std::lock_guard lock(mutex_);
        over_ = true;  // from now on nobody would take what is handed in
      }
      drain();
      client_.reset();
      io_.stop();
    });
    thread_.join();
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  void ask(const StoreCall& call, Then then) {
    Waking waking = Waking::no;
    {
      const std::lock_guard lock(mutex_);
      waking = hand_in(call, then);
    }
    if (waking == Waking::yes) asio::post(io_, [this] { drain(); });
    const char* const refused = waking == Waking::full   ? "too many calls are under way"
                                : waking == Waking::over ? "the client is being closed"
                                                         : nullptr;
    if (refused != nullptr) then({.outcome = CallOutcome::not_sent, .text = refused});
  }

  bool has_slots() const noexcept { return has_slots_; }
  bool has_module(std::string_view route) const noexcept { return client_->has_module(route); }
  Stats stats() const { return client_->stats(); }

 private:
  enum class Waking : std::uint8_t { no, yes, full, over };

  struct HandedIn {
    std::size_t begin;  ///< of its bytes in the inbox's
    std::size_t end;
    std::uint16_t slot;
    SteadyInstant deadline_at;
    Then then;
  };

  /// What has been handed in and not yet taken by the loop.
  struct Inbox {
    std::string bytes;
    std::vector<HandedIn> calls;
  };

  Waking hand_in(const StoreCall& call, Then& then) {
    if (over_) return Waking::over;
    if (inbox_.calls.size() >= settings_.calls_in_flight) return Waking::full;
    const std::size_t before = inbox_.bytes.size();
    wire::write_request(inbox_.bytes, call.words);
    if (inbox_.bytes.size() > settings_.unsent_bytes) {
      inbox_.bytes.resize(before);
      return Waking::full;
    }
    inbox_.calls.push_back({.begin = before,
                            .end = inbox_.bytes.size(),
                            .slot = slot_of(call.route),
                            .deadline_at = call.deadline_at,
                            .then = std::move(then)});
    return inbox_.calls.size() == 1 ? Waking::yes : Waking::no;
  }

  void drain() {
    {
      const std::lock_guard lock(mutex_);
      std::swap(inbox_, taken_);
    }
    const std::string_view bytes = taken_.bytes;
    for (HandedIn& call : taken_.calls) {
      client_->ask({.bytes = bytes.substr(call.begin, call.end - call.begin),
                    .slot = call.slot,
                    .deadline_at = call.deadline_at},
                   std::move(call.then));
    }
    taken_.bytes.clear();
    taken_.calls.clear();
  }

  const Settings settings_;
  std::mutex mutex_;
  Inbox inbox_;        ///< under the mutex
  bool over_ = false;  ///< under the mutex
  Inbox taken_;        ///< the loop's: its memory serves again
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::optional<LoopClient> client_;
  const bool has_slots_;
  std::thread thread_;
};

Client::Client(std::unique_ptr<Body> body) : body_(std::move(body)) {}

Client::~Client() = default;

Expected<std::unique_ptr<Client>, ClientError> Client::connect(std::string_view url,
                                                               const Settings& settings) {
  auto access = read_access(url, settings);
  if (!access) return access.error();
  return std::unique_ptr<Client>(new Client(std::make_unique<Body>(*access)));
}

void Client::ask(const StoreCall& call, Then then) { body_->ask(call, std::move(then)); }

bool Client::has_slots() const noexcept { return body_->has_slots(); }

bool Client::has_module(std::string_view route) const noexcept { return body_->has_module(route); }

Client::Stats Client::stats() const { return body_->stats(); }

}  // namespace weir::redis
