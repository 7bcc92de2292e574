#include "server/worker_stores.hpp"

#include <boost/asio/post.hpp>
#include <string>
#include <utility>

namespace weir::server {

using redis::StoreCall;
using redis::StoreReply;

thread_local WorkerStores::Member* WorkerStores::here = nullptr;

std::function<void()> WorkerStores::add(boost::asio::io_context& loop, WorkerMetrics& metrics) {
  members_.push_back(std::make_unique<Member>(loop, metrics, access_));
  return [member = members_.back().get()] { here = member; };
}

void WorkerStores::ask_over(Member& member, const StoreCall& call, Then&& then) {
  const auto began = std::chrono::steady_clock::now();
  member.client.ask(call,
                    [&metrics = member.metrics, began, then = std::move(then)](StoreReply&& reply) {
                      metrics.store_ended(reply, std::chrono::steady_clock::now() - began);
                      then(std::move(reply));
                    });
}

void WorkerStores::ask(const StoreCall& call, Then then) {
  if (here) return ask_over(*here, call, std::move(then));
  Member& first = *members_.front();
  boost::asio::post(first.loop, [&first, then = std::move(then), route = std::string(call.route),
                                 words =
                                     std::vector<std::string>(call.words.begin(), call.words.end()),
                                 deadline_at = call.deadline_at]() mutable {
    const std::vector<std::string_view> views(words.begin(), words.end());
    ask_over(first, {.words = views, .route = route, .deadline_at = deadline_at}, std::move(then));
  });
}

bool WorkerStores::has_slots() const noexcept {
  return access_.url.kind == redis::Url::Kind::cluster;
}

bool WorkerStores::has_module(std::string_view route) const noexcept {
  return (here ? *here : *members_.front()).client.has_module(route);
}

redis::Client::Stats WorkerStores::stats() const {
  redis::Client::Stats all;
  for (const auto& member : members_) {
    const redis::Client::Stats each = member->client.stats();
    all.calls += each.calls;
    all.connections += each.connections;
    all.failed_attempts += each.failed_attempts;
    all.redirects += each.redirects;
    all.late_replies += each.late_replies;
    all.connected_nodes += each.connected_nodes;
  }
  return all;
}

}  // namespace weir::server
