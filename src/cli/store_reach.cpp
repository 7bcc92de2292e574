#include "cli/store_reach.hpp"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "cli/input.hpp"
#include "redis/secret_file.hpp"
#include "redis/url.hpp"

namespace weir::cli {
namespace {

using redis::Node;
using redis::Url;
using wire::Reply;
using Words = std::vector<std::string>;

Expected<Reply, RemoteError> ask(Conversation& conversation, const Words& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return conversation.ask(views);
}

/// Connects, and says who we are.
Expected<Conversation, RemoteError> begin(const Remote& remote, const Url& url) {
  auto begun = Conversation::begin(remote);
  if (!begun) return begun.error();
  Conversation conversation = std::move(begun).value();
  std::vector<Words> introduction;
  if (!url.password.empty()) {
    introduction.push_back({"AUTH", url.user.empty() ? "default" : url.user, url.password});
  }
  if (url.db != 0) introduction.push_back({"SELECT", std::to_string(url.db)});
  for (const Words& words : introduction) {
    const auto reply = ask(conversation, words);
    if (!reply) return reply.error();
    if (reply->type == wire::ReplyType::error) {
      return RemoteError{"the server says: " + printable(reply->text), ExitCode::bad_input};
    }
  }
  return conversation;
}

Remote remote_of(const Url& url, const Node& node, const std::string& tls_ca) {
  const bool tls = url.transport == Url::Transport::tls;
  return {.address = (tls ? "tls:" : "") + redis::print(node), .tls_ca = tls_ca};
}

/// The master, as a Sentinel names it.
Expected<Node, RemoteError> master_of(const Url& url, const Remote& sentinel) {
  auto begun = Conversation::begin(sentinel);
  if (!begun) return begun.error();
  Conversation conversation = std::move(begun).value();
  const auto reply = ask(conversation, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", url.master});
  if (!reply) return reply.error();
  if (reply->elements.size() == 2) {
    const auto port = redis::read_port(reply->elements[1].text);
    if (port) return Node{reply->elements[0].text, *port};
  }
  return RemoteError{"the Sentinel at " + sentinel.address + " knows no master of that name"};
}

Expected<Conversation, RemoteError> reach(const Url& url, const std::string& tls_ca) {
  if (url.kind == Url::Kind::unix_socket) return begin({.address = "unix:" + url.path}, url);
  RemoteError last{"the URL names no server", ExitCode::bad_input};
  for (const Node& named : url.nodes) {
    Remote remote = remote_of(url, named, tls_ca);
    if (url.kind == Url::Kind::sentinel) {
      const auto master = master_of(url, remote);
      if (!master) {
        last = master.error();
        continue;
      }
      remote = remote_of(url, *master, tls_ca);
    }
    auto begun = begin(remote, url);
    if (begun || begun.error().code != ExitCode::unreachable) return begun;
    last = begun.error();
  }
  return last;
}

AskedStore::Reached reached_by(Url::Kind kind) {
  switch (kind) {
    case Url::Kind::sentinel: return AskedStore::Reached::through_sentinel;
    case Url::Kind::cluster: return AskedStore::Reached::in_cluster;
    case Url::Kind::single:
    case Url::Kind::unix_socket: break;
  }
  return AskedStore::Reached::directly;
}

}  // namespace

Expected<AskedStore, RemoteError> reach_store(const StoreAddress& address) {
  auto url = redis::parse_url(address.url);
  if (!url) {
    return RemoteError{
        "the URL, column " + std::to_string(url.error().column) + ": " + url.error().message,
        ExitCode::bad_input};
  }
  Url who = *url;
  if (!who.password_file.empty()) {
    auto file = redis::read_secret(who.password_file);
    if (!file) return RemoteError{file.error().message, ExitCode::bad_input};
    who.password = file->secret;
  }
  auto begun = reach(who, address.tls_ca);
  if (!begun) return begun.error();
  const auto conversation = std::make_shared<Conversation>(std::move(begun).value());
  AskedStore store;
  store.url = redis::print(*url);
  store.reached = reached_by(who.kind);
  store.ask = [conversation](const Words& words) -> Expected<Reply, NoAnswer> {
    auto reply = ask(*conversation, words);
    if (!reply) return NoAnswer{reply.error().message};
    return std::move(reply).value();
  };
  store.now = [] {
    return std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now().time_since_epoch());
  };
  return store;
}

}  // namespace weir::cli
