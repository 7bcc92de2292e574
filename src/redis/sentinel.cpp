#include "redis/sentinel.hpp"

#include <stdexcept>
#include <utility>

#include "wire/resp_request.hpp"

namespace weir::redis {
namespace {

using wire::Reply;
using wire::ReplyType;

struct NodeText {
  std::string_view host;
  std::string_view port;
};

/// Nothing where no such node can be looked up.
std::optional<Node> read_node(const NodeText& text) {
  const auto port = read_port(text.port);
  if (!port || !is_host(text.host)) return {};
  return Node{std::string(text.host), *port};
}

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size() < text.size() ? word.size() + 1 : word.size());
  return word;
}

}  // namespace

Sentinels::Sentinels(Settings settings)
    : settings_(std::move(settings)), backoff_(settings_.backoff) {
  if (settings_.nodes.empty()) throw std::invalid_argument("sentinels: expected a node");
  if (settings_.master.empty()) throw std::invalid_argument("sentinels: expected a master's name");
}

Sentinels::Todo Sentinels::next(SteadyInstant now) {
  if (master_) return {};
  if (named_) return {Action::ask_role, *named_};
  if (wait_until_ && now < *wait_until_) return {.action = Action::wait, .until = *wait_until_};
  wait_until_.reset();
  return {Action::ask_address, settings_.nodes[sentinel_]};
}

std::string Sentinels::address_question() const {
  std::string out;
  wire::write_request(out, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", settings_.master});
  return out;
}

void Sentinels::hear_address(const Reply& reply, SteadyInstant now) {
  if (master_ || named_) return;
  if (reply.type == ReplyType::array && reply.elements.size() == 2) {
    named_ = read_node({reply.elements[0].text, reply.elements[1].text});
  }
  if (!named_) turn(now);
}

void Sentinels::hear_role(const Node& asked, const Reply& reply, SteadyInstant now) {
  if (master_ || named_ != asked) return;
  if (reply.type == ReplyType::array && !reply.elements.empty() &&
      reply.elements.front().text == "master") {
    master_ = std::exchange(named_, std::nullopt);
    asked_ = 0;
    backoff_.succeeded();
    return;
  }
  turn(now);
}

void Sentinels::failed(const Node& asked, SteadyInstant now) {
  if (master_) return;
  const bool awaited =
      named_ ? asked == *named_ : !wait_until_ && asked == settings_.nodes[sentinel_];
  if (awaited) turn(now);
}

/// To the next sentinel; after the last of a round, a wait.
void Sentinels::turn(SteadyInstant now) {
  named_.reset();
  sentinel_ = (sentinel_ + 1) % settings_.nodes.size();
  if (++asked_ < settings_.nodes.size()) return;
  asked_ = 0;
  wait_until_ = now + backoff_.next();
}

void Sentinels::doubt() noexcept { master_.reset(); }

bool Sentinels::hear_switch(std::string_view message) {
  if (take_word(message) != settings_.master) return false;
  take_word(message);
  take_word(message);
  NodeText text;
  text.host = take_word(message);
  text.port = take_word(message);
  auto node = read_node(text);
  if (!node || !message.empty()) return false;
  master_.reset();
  named_ = std::move(node);
  return true;
}

}  // namespace weir::redis
