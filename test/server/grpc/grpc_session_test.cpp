// gRPC over a worker's socket: answers of other threads, draining, a client that is gone.
#include <envoy/service/ratelimit/v3/rls.pb.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/grpc/http2_dialogue.hpp"
#include "server/grpc/rate_limit_service.hpp"
#include "test/server/client_of_a_worker.hpp"
#include "test/server/grpc/grpc_client.hpp"

namespace weir::test {
namespace {

using namespace server::grpc;

/// Answers each call on a thread of its own, once it may.
class ThreadedDecider final : public RateLimitDecider {
 public:
  ~ThreadedDecider() override { answer_all(); }

  void decide(const RateLimitAsk&, RateLimitReply reply) override {
    ++asked;
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, reply = std::move(reply)] {
      may_answer_.wait(false);
      RateLimitAnswer answer{.overall = RateLimitCode::ok, .statuses = {{}}};
      reply.post(std::move(answer));
    });
  }

  void answer_all() {
    may_answer_ = true;
    may_answer_.notify_all();
    const std::lock_guard lock(mutex_);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::atomic<int> asked{0};

 private:
  std::atomic<bool> may_answer_{false};
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

class GrpcSession : public ClientOfAWorker {
 protected:
  GrpcSession() {
    speaks_ = server::Speaks::grpc;
    serve_rate_limits_by(services_, decider_);
  }

  void prepare(server::Worker& worker) override {
    worker.speak(server::Speaks::grpc, [this](std::shared_ptr<server::Carrier> carrier) {
      return std::make_unique<Http2Dialogue>(services_, std::move(carrier), room_);
    });
  }

  std::int32_t ask() {
    envoy::service::ratelimit::v3::RateLimitRequest request;
    request.set_domain("edge");
    request.add_descriptors();
    const std::int32_t stream =
        caller_.call(call_header("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"),
                     framed(request.SerializeAsString()));
    say(caller_.said());
    return stream;
  }

  /// Reads until the call has ended, or the connection; whether it was the call.
  bool hear_end_of(std::int32_t stream) {
    while (!caller_.heard(stream).ended) {
      char bytes[4096];
      const ssize_t count = ::recv(client_, bytes, sizeof bytes, 0);
      if (count <= 0) return false;
      caller_.hear({bytes, static_cast<std::size_t>(count)});
      const std::string said = caller_.said();
      if (!said.empty() && speaks_on_) say(said);
    }
    return true;
  }

  void say_no_more() {
    ::shutdown(client_, SHUT_WR);
    speaks_on_ = false;
  }

  bool speaks_on_ = true;
  ThreadedDecider decider_;
  Services services_;
  MessageRoom room_;
  GrpcClient caller_;
};

TEST_F(GrpcSession, AnswersComeFromOtherThreads) {
  std::vector<std::int32_t> streams(20);
  for (std::int32_t& stream : streams) stream = ask();
  eventually([&] { return decider_.asked == 20; });
  decider_.answer_all();
  for (const std::int32_t stream : streams) {
    ASSERT_TRUE(hear_end_of(stream));
    EXPECT_EQ(caller_.heard(stream).code(), 0);
  }
}

TEST_F(GrpcSession, AClientThatIsGoneIsNotAnswered) {
  ask();
  eventually([&] { return decider_.asked == 1; });
  hang_up();
  eventually([&] { return worker_->open() == 0; });
  decider_.answer_all();
}

TEST_F(GrpcSession, WhatWasAskedBeforeTheEndIsAnswered) {
  const std::int32_t stream = ask();
  eventually([&] { return decider_.asked == 1; });
  drain();
  decider_.answer_all();
  ASSERT_TRUE(hear_end_of(stream));
  EXPECT_EQ(caller_.heard(stream).code(), 0);
  EXPECT_EQ(caller_.goaway(), NGHTTP2_NO_ERROR);
  EXPECT_FALSE(hear_end_of(-1));  // the connection is closed
}

TEST_F(GrpcSession, WhoSendsNoMoreIsAnsweredAndNotWaitedFor) {
  const std::int32_t stream = ask();
  eventually([&] { return decider_.asked == 1; });
  say_no_more();
  decider_.answer_all();
  ASSERT_TRUE(hear_end_of(stream));
  EXPECT_EQ(caller_.heard(stream).code(), 0);
  // A second would be the next tick, which gives up what nobody answers.
  const auto answered_at = std::chrono::steady_clock::now();
  EXPECT_FALSE(hear_end_of(-1));
  EXPECT_LT(std::chrono::steady_clock::now() - answered_at, std::chrono::milliseconds(900));
}

TEST_F(GrpcSession, WhoSpeaksAnotherLanguageIsLeft) {
  say("GET / HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(hear_end_of(-1));
}

}  // namespace
}  // namespace weir::test
