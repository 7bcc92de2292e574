// A short array of integers in eight bytes, for states that need more than two words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace weir {

/// Owns zero or more integers; empty costs no heap. The size lives in front of the values, so that
/// a state that holds Cells stays at two words.
class Cells {
 public:
  Cells() = default;
  explicit Cells(std::size_t size) : block_(std::make_unique<std::int64_t[]>(size + 1)) {
    block_[0] = static_cast<std::int64_t>(size);
  }
  Cells(const Cells& other) : block_(other.copy()) {}
  Cells(Cells&&) noexcept = default;
  Cells& operator=(const Cells& other) {
    if (this == &other) return *this;
    if (block_ && size() == other.size()) {
      std::copy_n(other.values().begin(), size(), values().begin());
    } else {
      block_ = other.copy();
    }
    return *this;
  }
  Cells& operator=(Cells&&) noexcept = default;
  ~Cells() = default;

  std::size_t size() const noexcept { return block_ ? static_cast<std::size_t>(block_[0]) : 0; }
  bool empty() const noexcept { return !block_; }

  std::int64_t& operator[](std::size_t at) noexcept { return block_[at + 1]; }
  std::int64_t operator[](std::size_t at) const noexcept { return block_[at + 1]; }

  std::span<std::int64_t> values() noexcept {
    return block_ ? std::span(block_.get() + 1, size()) : std::span<std::int64_t>{};
  }
  std::span<const std::int64_t> values() const noexcept {
    return block_ ? std::span<const std::int64_t>(block_.get() + 1, size())
                  : std::span<const std::int64_t>{};
  }

  friend bool operator==(const Cells& left, const Cells& right) noexcept {
    return std::ranges::equal(left.values(), right.values());
  }

 private:
  std::unique_ptr<std::int64_t[]> copy() const {
    if (!block_) return nullptr;
    auto block = std::make_unique<std::int64_t[]>(size() + 1);
    std::copy_n(block_.get(), size() + 1, block.get());
    return block;
  }

  std::unique_ptr<std::int64_t[]> block_;
};

}  // namespace weir
