#include "test/fault/store/load.hpp"

#include <algorithm>
#include <stdexcept>

#include "test/redis/await.hpp"

namespace weir::test {
namespace {

std::unique_ptr<redis::Client> connected(const std::string& url) {
  auto client = redis::Client::connect(url);
  if (!client) throw std::runtime_error(client.error().message);
  return std::move(client).value();
}

}  // namespace

std::string key_of(std::uint16_t number) { return "key" + std::to_string(number); }

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Load::Load(const Settings& settings)
    : settings_(settings),
      client_(connected(settings.url)),
      limits_(std::make_shared<redis::Limits>(*client_, settings.policy)),
      bucket_(limits_, Asked::bucket_text),
      account_(limits_, Asked::account_text),
      calls_(settings.most_calls) {
  for (std::uint32_t i = 0; i < settings.threads; ++i) threads_.emplace_back([this, i] { ask(i); });
}

void Load::ask(std::uint32_t thread) {
  auto begins_at = std::chrono::steady_clock::now();
  for (std::uint32_t turn = thread; !stopping_.load(std::memory_order_relaxed); ++turn) {
    const std::size_t place = next_.fetch_add(1, std::memory_order_relaxed);
    if (place >= calls_.size()) return;
    Call& call = calls_[place];
    call.client = settings_.first_client + thread;
    call.of = turn % 2 == 0 ? Call::Of::bucket : Call::Of::account;
    call.key = static_cast<std::uint16_t>(
        turn / 2 % (call.of == Call::Of::bucket ? Asked::buckets : Asked::accounts));
    const auto& limiter = call.of == Call::Of::bucket ? bucket_ : account_;
    const std::string key = key_of(call.key);
    call.called_at_ns = now_ns();
    const redis::Outcome outcome = limiter.try_acquire(key);
    call.returned_at_ns = now_ns();
    call.admitted = static_cast<bool>(outcome);
    call.source = outcome.source;
    call.trouble = outcome.trouble.kind;
    const Cost limit = call.of == Call::Of::bucket ? Asked::bucket.burst : Asked::account_limit;
    call.mistaken = outcome.source == redis::Source::store && outcome.limit != limit;
    decided_[static_cast<std::size_t>(outcome.source)].fetch_add(1, std::memory_order_relaxed);
    // Who was held up does not catch up.
    begins_at = std::max(begins_at + settings_.pace, std::chrono::steady_clock::now());
    std::this_thread::sleep_until(begins_at);
  }
}

std::uint64_t Load::decided_by(redis::Source source) const {
  return decided_[static_cast<std::size_t>(source)].load(std::memory_order_relaxed);
}

void Load::await_store(std::uint64_t calls) {
  const std::uint64_t before = decided_by(redis::Source::store);
  await("the store decides", [&] { return decided_by(redis::Source::store) >= before + calls; });
}

std::vector<Call> Load::stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  calls_.resize(std::min(next_.load(), calls_.size()));
  return calls_;
}

std::int64_t charged(const std::string& url) {
  const auto client = connected(url);
  const redis::Limiter<> account(
      *client, Asked::account_text,
      {.deadline = std::chrono::seconds{5}, .without_store = redis::WithoutStore::closed});
  std::int64_t sum = 0;
  for (std::uint16_t i = 0; i < Asked::accounts; ++i) {
    redis::Outcome seen;
    await("an account is told", [&] {
      seen = account.peek(key_of(i));
      return seen.source == redis::Source::store;
    });
    sum += seen.limit - seen.remaining;
  }
  return sum;
}

}  // namespace weir::test
