// A limit over a connection that the program has already: hiredis, without weir's own client.
//
//   limits_over_hiredis /run/redis/redis-server.sock
//
// It shows: a Store is one function, that has a command run and tells how it ended. This one keeps
// the caller waiting, so the verbs that call back do so before they return.
#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weir/redis/limiter.hpp"

namespace {

using namespace std::chrono_literals;
using weir::redis::CallOutcome;
using weir::redis::StoreReply;

template <auto free>
struct Freed {
  template <typename Pointee>
  void operator()(Pointee* pointee) const {
    free(pointee);
  }
};
using Connection = std::unique_ptr<redisContext, Freed<redisFree>>;
using Reply = std::unique_ptr<redisReply, Freed<freeReplyObject>>;

timeval within(std::chrono::nanoseconds left) {
  const auto us = std::chrono::ceil<std::chrono::microseconds>(left).count();
  return {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
}

StoreReply answered(const redisReply& reply) {
  StoreReply told{.outcome = CallOutcome::answered};
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      told.kind = StoreReply::Kind::integers;
      told.integers = {reply.integer};
      break;
    case REDIS_REPLY_ARRAY:
      told.kind = StoreReply::Kind::integers;
      for (std::size_t at = 0; at < reply.elements; ++at) {
        told.integers.push_back(reply.element[at]->integer);
      }
      break;
    case REDIS_REPLY_ERROR:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_STRING:
      told.kind =
          reply.type == REDIS_REPLY_ERROR ? StoreReply::Kind::error : StoreReply::Kind::text;
      told.text = {reply.str, reply.len};
      break;
    default: break;
  }
  return told;
}

/// One connection, one call at a time.
class OverHiredis : public weir::redis::Store {
 public:
  explicit OverHiredis(Connection connection) : connection_(std::move(connection)) {}

  void ask(const weir::redis::StoreCall& call, Then then) override { then(run(call)); }

 private:
  StoreReply run(const weir::redis::StoreCall& call) {
    const std::unique_lock lock(mutex_, call.deadline_at);
    const auto left = call.deadline_at - std::chrono::steady_clock::now();
    if (!lock || left <= 0ns) return {.text = "the connection was busy until the deadline"};
    // After any failure a reply may still be on its way: a new connection, or it would be taken for
    // that of a later call. hiredis takes as long for it as it was told when it first connected.
    if (connection_->err && redisReconnect(connection_.get()) != REDIS_OK) return failed();
    redisSetTimeout(connection_.get(), within(left));

    std::vector<const char*> words;
    std::vector<std::size_t> lengths;
    for (const std::string_view word : call.words) {
      words.push_back(word.data());
      lengths.push_back(word.size());
    }
    const Reply reply(static_cast<redisReply*>(redisCommandArgv(
        connection_.get(), static_cast<int>(words.size()), words.data(), lengths.data())));
    if (reply) return answered(*reply);
    const bool late = connection_->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK);
    return failed(late ? CallOutcome::timed_out : CallOutcome::indeterminate);
  }

  StoreReply failed(CallOutcome outcome = CallOutcome::not_sent) const {
    return {.outcome = outcome, .text = connection_->errstr};
  }

  std::timed_mutex mutex_;
  Connection connection_;
};

}  // namespace

int main(int count, char** arguments) {
  const char* const path = count > 1 ? arguments[1] : "/run/redis/redis-server.sock";
  Connection connection(redisConnectUnixWithTimeout(path, within(1s)));
  if (!connection || connection->err) {
    std::cerr << "limits_over_hiredis: " << (connection ? connection->errstr : "no memory") << '\n';
    return 2;
  }
  OverHiredis store(std::move(connection));
  const weir::redis::Limiter per_user(store, "2/1m", {.deadline = 2s});

  int let_in = 0;
  for (int call = 0; call < 3; ++call) {
    const auto outcome = per_user.try_acquire("carol");
    std::cout << "carol: " << (outcome ? "let in" : "refused") << ", decided by "
              << name(outcome.source) << ' ' << outcome.trouble.message << '\n';
    if (outcome.source != weir::redis::Source::store) return 1;
    let_in += outcome ? 1 : 0;
  }
  return let_in <= 2 ? 0 : 1;
}
