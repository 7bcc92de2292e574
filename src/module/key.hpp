// One key of the server, open while it is looked at and written.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "module/api.hpp"
#include "weir/vocabulary.hpp"

namespace weir::module {

inline std::string_view view(const Text* text) noexcept {
  std::size_t size = 0;
  const char* const bytes = api.StringPtrLen(text, &size);
  return {bytes, size};
}

/// A key's name: a string of the server's that is freed with it, or an argument.
class KeyName {
 public:
  KeyName(Context* context, std::string_view bytes)
      : owner_(context), text_(api.CreateString(context, bytes.data(), bytes.size())) {}
  explicit KeyName(Text* argument) noexcept : owner_(nullptr), text_(argument) {}
  ~KeyName() {
    if (owner_) api.FreeString(owner_, text_);
  }
  KeyName(KeyName&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)), text_(other.text_) {}
  KeyName& operator=(KeyName&&) = delete;

  Text* get() const noexcept { return text_; }

 private:
  Context* owner_;  ///< null: an argument
  Text* text_;
};

/// Errors   none: what the key holds is asked for first
class Key {
 public:
  enum class Holds : std::uint8_t { nothing, bytes, something_else };

  enum class Use : std::uint8_t { to_look, to_change };

  /// The name must outlive it.
  Key(Context* context, Text* name, Use use)
      : context_(context),
        name_(name),
        mode_(use == Use::to_look ? open_to_read : open_to_read | open_to_write),
        key_(api.OpenKey(context, name, mode_)) {}
  ~Key() {
    if (key_) api.CloseKey(key_);
  }
  Key(Key&& other) noexcept
      : context_(other.context_), name_(other.name_), mode_(other.mode_), key_(other.key_) {
    other.key_ = nullptr;
  }
  Key& operator=(Key&&) = delete;

  Holds holds() const noexcept {
    if (!key_) return Holds::nothing;
    const int type = api.KeyType(key_);
    if (type == type_empty) return Holds::nothing;
    return type == type_string ? Holds::bytes : Holds::something_else;
  }

  /// Requires holds() == bytes. Until the key is written.
  std::string_view bytes() const noexcept {
    std::size_t size = 0;
    const char* const at = api.StringDMA(key_, &size, mode_);
    return {at, size};
  }

  /// Keeps the bytes until `fresh_at`, at the millisecond after; what replicas and the log are told
  /// is that outcome and that time, and not the request. Requires Use::to_change.
  void write(std::string_view bytes, Instant fresh_at);

  /// Requires Use::to_change, and that there is something.
  void erase();

 private:
  void announce(const char* event, int type);

  Context* context_;
  Text* name_;
  int mode_;
  OpenedKey* key_;
};

}  // namespace weir::module
