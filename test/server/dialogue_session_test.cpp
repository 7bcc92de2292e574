// What a socket does for the dialogue that it carries.
#include "server/dialogue_session.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "test/server/client_of_a_worker.hpp"

namespace weir::test {
namespace {

using server::Carrier;
using testing::StartsWith;

/// What the test and the dialogue tell one another.
struct Script {
  std::mutex mutex;
  std::shared_ptr<Carrier> carrier;
  std::atomic<std::size_t> received{0};
  std::atomic<int> ticks{0};
  std::atomic<bool> drained{false};
  std::atomic<bool> gone{false};

  std::shared_ptr<Carrier> carrier_now() {
    const std::lock_guard lock(mutex);
    return carrier;
  }
};

/// Repeats what it hears; ends at '.', falls silent for ever at '?', says no more is welcome at '!'
/// until it is resumed, and at '#' says a million bytes.
class Parrot final : public server::Dialogue {
 public:
  Parrot(Script& script, std::shared_ptr<Carrier> carrier) : script_(script) {
    const std::lock_guard lock(script_.mutex);
    script_.carrier = std::move(carrier);
  }
  ~Parrot() override { script_.gone = true; }

  void receive(std::string_view bytes) override {
    script_.received += bytes.size();
    for (const char byte : bytes) {
      if (byte == '.') ended_ = true;
      if (byte == '!') full_ = true;
      said_ += byte == '#' ? std::string(1'000'000, '#') : std::string(1, byte);
    }
  }
  void write(std::string& output, std::size_t enough) override {
    output.append(said_, 0, enough);
    said_.erase(0, enough);
  }
  bool wants_input() const override { return !full_; }
  bool ended() const override { return ended_; }
  void tick() override { ++script_.ticks; }
  void drain() override {
    script_.drained = true;
    said_ += "bye";
    ended_ = !full_;
  }

  void answer(std::string_view text) {
    full_ = false;
    said_ += text;
  }
  void end() { ended_ = true; }

 private:
  Script& script_;
  std::string said_;
  bool full_ = false;
  bool ended_ = false;
};

class DialogueOverASocket : public ClientOfAWorker {
 protected:
  DialogueOverASocket() { speaks_ = server::Speaks::http; }

  void prepare(server::Worker& worker) override {
    worker.speak(server::Speaks::http, [this](std::shared_ptr<Carrier> carrier) {
      auto parrot = std::make_unique<Parrot>(script_, std::move(carrier));
      parrot_ = parrot.get();
      return parrot;
    });
  }

  /// Runs on the connection's thread, then the dialogue goes on.
  void later(std::function<void(Parrot&)> action) {
    const auto carrier = script_.carrier_now();
    carrier->post([this, action = std::move(action), carrier] {
      action(*parrot_);
      carrier->resume();
    });
  }

  Script script_;
  Parrot* parrot_ = nullptr;
};

TEST_F(DialogueOverASocket, HearsAndAnswers) {
  say("hello\n");
  EXPECT_EQ(hear("\n"), "hello\n");
  EXPECT_EQ(script_.carrier_now()->peer(), "test");
}

TEST_F(DialogueOverASocket, IsClosedOnceItHasEndedAndAllIsSent) {
  say("#.");
  EXPECT_EQ(hear("[more").size(), 1'000'001U + 5);
  eventually([&] { return worker_->lingering() == 1; });
  hang_up();
  eventually([&] { return worker_->open() == 0; });
  EXPECT_TRUE(script_.gone);
}

TEST_F(DialogueOverASocket, CutsOffWhoGoesOnSendingAfterTheEnd) {
  say("a.");
  EXPECT_EQ(hear("a."), "a.");
  const std::string chunk(65'536, 'x');
  std::size_t sent = 0;
  for (ssize_t count = 1; count > 0 && sent < 64'000'000;) {
    count = ::send(client_, chunk.data(), chunk.size(), MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  EXPECT_LT(sent, 4'000'000U);
  eventually([&] { return worker_->open() == 0; });
  EXPECT_EQ(worker_->lingering(), 0U);
}

TEST_F(DialogueOverASocket, AnswersLaterWhileItReads) {
  say("a\n");
  EXPECT_EQ(hear("\n"), "a\n");
  later([](Parrot& parrot) { parrot.answer("late\n"); });
  EXPECT_EQ(hear("\n"), "late\n");
  say("b\n");
  EXPECT_EQ(hear("\n"), "b\n");
}

TEST_F(DialogueOverASocket, HandsInNothingThatIsNotWelcome) {
  say("a!\n");
  EXPECT_EQ(hear("\n"), "a!\n");
  say("b\n");
  // Each turn of the loop looks at the socket.
  for (std::atomic<int> turns = 0; turns < 3;) {
    const int before = turns;
    script_.carrier_now()->post([&turns] { ++turns; });
    eventually([&] { return turns > before; });
  }
  EXPECT_EQ(script_.received, 3U);
  later([](Parrot& parrot) { parrot.answer("now\n"); });
  EXPECT_EQ(hear("now\n"), "now\n");
  EXPECT_EQ(hear("b\n"), "b\n");
}

TEST_F(DialogueOverASocket, IsClosedWhereItEndsWhileItReads) {
  say("a\n");
  EXPECT_EQ(hear("\n"), "a\n");
  later([](Parrot& parrot) { parrot.end(); });
  EXPECT_EQ(hear("more"), "[end]");
}

TEST_F(DialogueOverASocket, IsToldOfADrainWithWhatHadArrived) {
  say("a\n");
  EXPECT_EQ(hear("\n"), "a\n");
  drain();
  EXPECT_EQ(hear("more"), "bye[end]");
  EXPECT_TRUE(script_.drained);
}

TEST_F(DialogueOverASocket, AnswersWhatItOwesBeforeADrainEndsIt) {
  say("a!\n");
  EXPECT_EQ(hear("\n"), "a!\n");
  drain();
  later([](Parrot& parrot) { parrot.answer("owed\n"); });
  EXPECT_THAT(hear("owed\n"), testing::EndsWith("owed\n"));
  later([](Parrot& parrot) { parrot.end(); });
  EXPECT_THAT(hear("more"), testing::EndsWith("[end]"));
}

TEST_F(DialogueOverASocket, MayAnswerAClientThatSendsNoMore) {
  say("a!\n");
  EXPECT_EQ(hear("\n"), "a!\n");
  later([](Parrot& parrot) { parrot.answer("on\n"); });
  EXPECT_EQ(hear("on\n"), "on\n");
  ::shutdown(client_, SHUT_WR);
  EXPECT_EQ(hear("more"), "bye[end]");
}

TEST_F(DialogueOverASocket, TicksOnceASecond) {
  say("a\n");
  EXPECT_EQ(hear("\n"), "a\n");
  worker_->tick();
  worker_->tick();
  eventually([&] { return script_.ticks == 2; });
}

TEST_F(DialogueOverASocket, LeavesAPostBehindThatNobodyReads) {
  say("a\n");
  EXPECT_EQ(hear("\n"), "a\n");
  hang_up();
  eventually([&] { return worker_->open() == 0; });
  later([](Parrot&) { ADD_FAILURE() << "the dialogue is gone"; });
  script_.carrier_now()->post([] { ADD_FAILURE() << "so is the connection"; });
}

class DialogueWithASlowReader : public DialogueOverASocket {
 protected:
  DialogueWithASlowReader() { server_sends_ = 1; }
};

TEST_F(DialogueWithASlowReader, IsHandedNothingBeforeAllIsTaken) {
  say("#\n");
  eventually([&] { return script_.received == 2; });
  say("x");
  later([](Parrot& parrot) { parrot.answer("late\n"); });
  EXPECT_THAT(hear("late\n"), StartsWith("####"));
  EXPECT_EQ(hear("x"), "x");
}

TEST_F(DialogueWithASlowReader, CutsOffOneThatTakesNothing) {
  say("#\n");
  eventually([&] { return script_.received == 2; });
  later([](Parrot&) {});
  for (int second = 0; second <= limits_.stalled_write.count() + 1; ++second) worker_->tick();
  eventually([&] { return worker_->open() == 0; });
  EXPECT_NE(service_.metrics.text(service_.table.stats())
                .find("weir_limit_hits_total{limit=\"write-timeout\"} 1"),
            std::string::npos);
}

}  // namespace
}  // namespace weir::test
