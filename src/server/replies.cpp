#include "server/replies.hpp"

#include <utility>

namespace weir::server {

std::uint64_t Replies::reserve() {
  const std::size_t behind = places_.empty() ? 0 : places_.back().text.size();
  places_.emplace_back();
  held_ += behind;
  return first_ + places_.size() - 1;
}

bool Replies::fill(std::uint64_t place, std::string&& reply) {
  Place& filled = places_[place - first_];
  filled.waits = false;
  if (&filled != &places_.back()) held_ += reply.size();
  if (filled.text.empty()) {
    filled.text = std::move(reply);
  } else {
    filled.text.insert(0, reply);
  }
  const bool first = place == first_;
  while (!places_.empty() && !places_.front().waits) {
    ready_ += places_.front().text;
    if (places_.size() > 1) held_ -= places_.front().text.size();
    places_.pop_front();
    ++first_;
  }
  return first;
}

}  // namespace weir::server
