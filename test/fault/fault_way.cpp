#include "test/fault/fault_way.hpp"

#include <algorithm>
#include <utility>

namespace weir::test {

using std::chrono::nanoseconds;

WayStats& WayStats::operator+=(const WayStats& other) noexcept {
  bytes += other.bytes;
  corrupted += other.corrupted;
  duplicated += other.duplicated;
  dropped_replies += other.dropped_replies;
  lost_replies += other.lost_replies;
  return *this;
}

void FaultWay::set(const WayFaults& faults) {
  faults_ = faults;
  seen_ = 0;
  replies_ = 0;
}

void FaultWay::take(std::string_view bytes, SteadyTime now) {
  stats_.bytes += bytes.size();
  nanoseconds later = faults_.delay;
  if (faults_.jitter.count() > 0) {
    later += nanoseconds{random_() % static_cast<std::uint64_t>(faults_.jitter.count())};
  }
  last_due_at_ = std::max(last_due_at_, now + later);
  std::string passed = without_dropped(bytes);
  corrupt(passed);
  const bool twice = by_chance(faults_.duplicate_ppm);
  cut(passed);
  if (twice) {
    ++stats_.duplicated;
    hold(passed, last_due_at_);
  }
  hold(std::move(passed), last_due_at_);
}

// Replies are followed from the first byte on, whatever the faults: they may be set amid one.
std::string FaultWay::without_dropped(std::string_view bytes) {
  const bool whole_only = faults_.drop_reply || faults_.lose_reply || faults_.lose_reply_ppm > 0;
  std::string passed;
  while (!bytes.empty() && end_ == End::none) {
    wire::Reply ignored;
    const wire::ReadReply read = reader_.read(bytes, ignored);
    if (read.status == wire::ReadStatus::malformed) {  // No replies: nothing to leave out.
      passed += std::exchange(reply_, {});
      passed += bytes;
      return passed;
    }
    reply_ += bytes.substr(0, read.consumed);
    bytes.remove_prefix(read.consumed);
    if (read.status != wire::ReadStatus::complete) break;
    const std::size_t number = replies_++;
    if (faults_.drop_reply == number) {
      ++stats_.dropped_replies;
      reply_.clear();
    } else if (faults_.lose_reply == number || by_chance(faults_.lose_reply_ppm)) {
      ++stats_.lost_replies;
      reply_.clear();
      end_ = End::reset;
    }
    passed += std::exchange(reply_, {});
  }
  if (!whole_only) passed += std::exchange(reply_, {});
  return passed;
}

void FaultWay::corrupt(std::string& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (faults_.corrupt_at != seen_ + i && !by_chance(faults_.corrupt_ppm)) continue;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << random_() % 8));
    ++stats_.corrupted;
  }
}

void FaultWay::cut(std::string& bytes) {
  for (const auto& [after, end] :
       {std::pair{faults_.reset_after, End::reset}, std::pair{faults_.close_after, End::close}}) {
    if (!after || end_ != End::none || seen_ + bytes.size() < *after) continue;
    bytes.resize(*after - std::min(*after, seen_));
    end_ = end;
  }
  seen_ += bytes.size();
}

void FaultWay::hold(std::string bytes, SteadyTime due_at) {
  if (bytes.empty()) return;
  held_ += bytes.size();
  chunks_.push_back({.bytes = std::move(bytes), .due_at = due_at});
}

void FaultWay::finish() {
  if (end_ == End::none) end_ = End::close;
}

std::string_view FaultWay::due(SteadyTime now) const {
  if (due_at() > now) return {};
  const std::string_view first = chunks_.front().bytes;
  return faults_.piece_bytes == 0 ? first : first.substr(0, faults_.piece_bytes);
}

void FaultWay::wrote(std::size_t bytes, SteadyTime now) {
  Chunk& first = chunks_.front();
  first.bytes.erase(0, bytes);
  held_ -= bytes;
  if (first.bytes.empty()) chunks_.pop_front();
  if (faults_.bytes_per_second == 0) return;
  const std::chrono::duration<double> taken{static_cast<double>(bytes) /
                                            static_cast<double>(faults_.bytes_per_second)};
  free_at_ = std::max(free_at_, now) + std::chrono::duration_cast<nanoseconds>(taken);
}

SteadyTime FaultWay::due_at() const {
  if (faults_.stalled || chunks_.empty()) return SteadyTime::max();
  return std::max(chunks_.front().due_at, free_at_);
}

FaultWay::End FaultWay::end() const {
  return chunks_.empty() && !faults_.stalled ? end_ : End::none;
}

}  // namespace weir::test
