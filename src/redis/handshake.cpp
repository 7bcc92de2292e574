#include "redis/handshake.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/resp_request.hpp"

namespace weir::redis {
namespace {

using wire::Reply;
using wire::ReplyType;

constexpr std::size_t longest_version = 64;

std::string_view text_of(const Reply* reply) {
  return reply == nullptr ? std::string_view() : std::string_view(reply->text);
}

ServerFacts::Mode mode_of(std::string_view text) {
  if (text == "standalone") return ServerFacts::Mode::standalone;
  if (text == "cluster") return ServerFacts::Mode::cluster;
  if (text == "sentinel") return ServerFacts::Mode::sentinel;
  return ServerFacts::Mode::unknown;
}

ServerFacts::Role role_of(std::string_view text) {
  if (text == "master") return ServerFacts::Role::master;
  if (text == "replica" || text == "slave") return ServerFacts::Role::replica;
  return ServerFacts::Role::unknown;
}

/// The value behind "name:" at the beginning of a line of INFO.
std::string_view info_value(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    std::string_view line = info.substr(0, info.find('\n'));
    info.remove_prefix(std::min(line.size() + 1, info.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return line.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

const char* name(Handshake::Step step) noexcept {
  constexpr const char* names[] = {"HELLO", "AUTH", "CLIENT SETNAME", "SELECT", "INFO", "done"};
  return names[static_cast<std::uint8_t>(step)];
}

std::string Handshake::command() const {
  std::string_view user = settings_.user;
  if (user.empty()) user = "default";
  std::string out;
  if (error_) return out;
  switch (step_) {
    case Step::hello:
      if (settings_.password.empty()) {
        wire::write_request(out, {"HELLO", "3"});
      } else {
        wire::write_request(out, {"HELLO", "3", "AUTH", user, settings_.password});
      }
      break;
    case Step::auth:
      // Redis before 6 knows no users, and AUTH with one word only.
      if (settings_.user.empty()) {
        wire::write_request(out, {"AUTH", settings_.password});
      } else {
        wire::write_request(out, {"AUTH", user, settings_.password});
      }
      break;
    case Step::set_name:
      wire::write_request(out, {"CLIENT", "SETNAME", settings_.client_name});
      break;
    case Step::select: wire::write_request(out, {"SELECT", std::to_string(settings_.db)}); break;
    case Step::info: wire::write_request(out, {"INFO", "server"}); break;
    case Step::done: break;
  }
  return out;
}

bool Handshake::wants(Step step) const noexcept {
  const bool old = facts_.protocol == ServerFacts::Protocol::resp2;
  switch (step) {
    case Step::auth: return old && !settings_.password.empty();
    case Step::set_name: return !settings_.client_name.empty();
    case Step::select: return settings_.db != 0;
    case Step::info: return old;
    case Step::hello:
    case Step::done: break;
  }
  return true;
}

void Handshake::advance() noexcept {
  do {
    step_ = static_cast<Step>(static_cast<std::uint8_t>(step_) + 1);
  } while (!wants(step_));
}

void Handshake::hear(const Reply& reply) {
  if (error_ || done()) return;
  const bool refused = reply.type == ReplyType::error;
  switch (step_) {
    case Step::hello: hear_hello(reply); break;
    case Step::info: hear_info(reply); break;
    case Step::set_name: break;  // a courtesy, that an ACL may forbid
    default:
      if (refused || reply.text != "OK") fail(reply);
  }
  if (!error_) advance();
}

void Handshake::hear_hello(const Reply& reply) {
  if (reply.type == ReplyType::error) {
    const ErrorKind kind = kind_of(reply.text);
    // Redis before 6, or a proxy that speaks RESP2 alone.
    if (kind == ErrorKind::unknown_command || kind == ErrorKind::no_protocol) return;
    return fail(reply);
  }
  const Reply* const proto = reply.field("proto");
  if (reply.type != ReplyType::map || proto == nullptr || proto->integer != 3) return fail(reply);
  facts_.protocol = ServerFacts::Protocol::resp3;
  facts_.mode = mode_of(text_of(reply.field("mode")));
  facts_.role = role_of(text_of(reply.field("role")));
  facts_.version = in_one_line(text_of(reply.field("version")).substr(0, longest_version));
  if (const Reply* const modules = reply.field("modules")) {
    facts_.module = std::ranges::any_of(modules->elements, [](const Reply& module) {
      return text_of(module.field("name")) == "weir";
    });
  }
}

void Handshake::hear_info(const Reply& reply) {
  if (reply.type == ReplyType::error) {
    // What it cannot tell it may not want to; that a password is wanted must be told.
    if (kind_of(reply.text) == ErrorKind::no_auth) fail(reply);
    return;
  }
  facts_.mode = mode_of(info_value(reply.text, "redis_mode"));
  facts_.version = in_one_line(info_value(reply.text, "redis_version").substr(0, longest_version));
}

void Handshake::fail(const Reply& reply) {
  if (reply.type == ReplyType::error) {
    error_ = Error{step_, kind_of(reply.text), in_one_line(reply.text)};
  } else {
    error_ = Error{step_, ErrorKind::other, "a reply of a kind that was not expected"};
  }
}

}  // namespace weir::redis
