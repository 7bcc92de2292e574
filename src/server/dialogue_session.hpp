// The socket of a dialogue.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/dialogue.hpp"
#include "server/session.hpp"

namespace weir::server {

/// Carries a dialogue's bytes over a socket of its worker.
class DialogueSession final : public Session {
 public:
  DialogueSession(Worker& worker, Socket socket, Arrival& arrival, const DialogueMaker& maker);
  ~DialogueSession() override;

  void tick() override;

 private:
  class Post;

  Next answer_and_write() override;
  std::span<char> room() override;
  void received(std::size_t bytes) override;
  bool ends_with_answers() override;
  bool write_answers() override;
  bool is_over() const override { return dialogue_->ended(); }
  bool holds_partial() const override { return false; }  // the dialogue's own tick() sees to it
  void tell_stalled() const override;

  void drain();

  std::shared_ptr<Post> post_;
  std::unique_ptr<Dialogue> dialogue_;
  std::vector<char> input_;
  std::string output_;
  bool drains_ = false;
  bool input_ended_ = false;
};

}  // namespace weir::server
