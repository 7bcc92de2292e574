// A connection to an HttpDialogue, without a socket.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/http_dialogue.hpp"

namespace weir::test {

/// Keeps what is posted until the test runs it.
class HeldCarrier final : public server::Carrier {
 public:
  explicit HeldCarrier(std::string peer) : Carrier(std::move(peer)) {}

  void post(std::function<void()> action) override { posted_.push_back(std::move(action)); }
  void resume() override { ++resumed; }

  int resumed = 0;

 private:
  std::vector<std::function<void()>> posted_;
};

/// What one server says to one client; a new dialogue for each.
class HttpClient {
 public:
  explicit HttpClient(server::HttpFront& front, std::string peer = "192.0.2.1:4711")
      : carrier_(std::make_shared<HeldCarrier>(std::move(peer))), dialogue_(front, carrier_) {}

  /// Sends; the answers so far.
  std::string ask(std::string_view bytes) {
    if (!dialogue_.ended()) dialogue_.receive(bytes);
    return hear();
  }

  std::string hear() {
    std::string all;
    for (std::string next;; next.clear()) {
      dialogue_.write(next, 1 << 16);
      if (next.empty()) return all;
      all += next;
    }
  }

  std::string ask_byte_by_byte(std::string_view bytes) {
    std::string all;
    for (std::size_t at = 0; at < bytes.size(); ++at) all += ask(bytes.substr(at, 1));
    return all;
  }

  std::string ask_in_two(std::string_view bytes, std::size_t where) {
    std::string first = ask(bytes.substr(0, where));
    return first + ask(bytes.substr(where));
  }

  void tick(int seconds) {
    for (int second = 0; second < seconds; ++second) dialogue_.tick();
  }

  bool ended() const { return dialogue_.ended(); }
  bool wants_input() const { return dialogue_.wants_input(); }
  server::HttpDialogue& dialogue() { return dialogue_; }
  HeldCarrier& carrier() { return *carrier_; }

 private:
  std::shared_ptr<HeldCarrier> carrier_;
  server::HttpDialogue dialogue_;
};

/// "200 404": the status of each answer.
inline std::string statuses(std::string_view answers) {
  std::string all;
  constexpr std::string_view begin = "HTTP/1.1 ";
  for (std::size_t at = answers.find(begin); at != std::string_view::npos;
       at = answers.find(begin, at + 1)) {
    if (at > 0 && answers[at - 1] != '\n') continue;
    all += (all.empty() ? "" : " ") + std::string(answers.substr(at + begin.size(), 3));
  }
  return all;
}

}  // namespace weir::test
