// A RemoteTable that asks the test: linked in the place of the real one.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "redis/remote_table.hpp"

namespace weir::redis {

/// What a verb was called with, and whom it tells.
struct Asked {
  std::string verb;
  std::vector<std::string> keys{};
  std::string limit{};
  RemoteTable::Ask ask{};
  std::vector<Cost> costs{};
  Cost units = 0;
  Grant grant{};
  RemoteTable::Then then{};
  RemoteTable::Given given{};
};

/// Stands for the store of a RemoteTable by hand, and has what it was asked.
class Hands : public Store {
 public:
  void ask(const StoreCall&, Then) override {}

  /// Answers every request so at once, on the caller's thread; without it they are kept.
  std::optional<RemoteAnswer> answers{};
  std::optional<RemoteGift> gives{};

  void put(Asked asked);
  /// The next that was kept: waits for it.
  Asked next();
  std::size_t kept() const;
  /// All verbs so far, in their order.
  std::vector<std::string> verbs() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::deque<Asked> kept_;
  std::vector<std::string> verbs_;
};

}  // namespace weir::redis
