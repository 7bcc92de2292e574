// What a hostile server may say where the client reads meaning: redirects, maps of slots, the
// answers to a handshake and of sentinels. Nothing is believed that cannot be.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "redis/error_reply.hpp"
#include "redis/handshake.hpp"
#include "redis/sentinel.hpp"
#include "redis/slots.hpp"

namespace {

using namespace weir::redis;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

void is_a_text(std::string_view text) {
  require(name(remedy_for(kind_of(text))) != nullptr);
  if (const auto redirect = read_redirect(text)) {
    require(redirect->slot < slot_count && redirect->node.port != 0);
    require(redirect->node.host.empty() || is_host(redirect->node.host));
  }
  require(slot_of(text) < slot_count);
  Sentinels sentinels({.nodes = {{"s", 1}}, .master = "m"});
  if (sentinels.hear_switch(text)) {
    const auto todo = sentinels.next({});
    require(todo.action == Sentinels::Action::ask_role);
    require(is_host(todo.node.host) && todo.node.port != 0);
  }
}

void is_a_map(const weir::wire::Reply& reply) {
  const auto map = SlotMap::read(reply, {"asked", 7});
  if (!map) return require(map.error().message != nullptr);
  require(map->owned() <= slot_count && map->nodes().size() <= SlotMap::most_nodes);
  for (const Node& node : map->nodes()) require(is_host(node.host) && node.port != 0);
}

/// Each reply answers whatever the handshake and the sentinels have just asked.
void are_answers(const std::vector<weir::wire::Reply>& replies) {
  Handshake handshake({.password = "p", .db = 1});
  Sentinels sentinels({.nodes = {{"s", 1}, {"t", 2}}, .master = "m"});
  weir::SteadyInstant now{};
  for (const auto& reply : replies) {
    const bool over = handshake.command().empty();
    require(over == (handshake.done() || handshake.error().has_value()));
    handshake.hear(reply);
    if (handshake.error()) require(handshake.error()->message.size() <= 200);
    auto todo = sentinels.next(now);
    if (todo.action == Sentinels::Action::wait) {
      now = todo.until;
      todo = sentinels.next(now);
    }
    if (todo.action == Sentinels::Action::ask_address) sentinels.hear_address(reply, now);
    if (todo.action == Sentinels::Action::ask_role) sentinels.hear_role(todo.node, reply, now);
    if (sentinels.master()) require(is_host(sentinels.master()->host));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  is_a_text(bytes);
  weir::wire::ReplyReader reader;
  std::vector<weir::wire::Reply> replies;
  while (!bytes.empty() && replies.size() < 64) {
    weir::wire::Reply reply;
    const auto read = reader.read(bytes, reply);
    if (read.status != weir::wire::ReadStatus::complete) break;
    bytes.remove_prefix(read.consumed);
    if (reply.type == weir::wire::ReplyType::error) is_a_text(reply.text);
    is_a_map(reply);
    replies.push_back(std::move(reply));
  }
  are_answers(replies);
  return 0;
}
