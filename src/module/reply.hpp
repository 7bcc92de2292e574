// Replies in the words that the server's own connections use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "module/api.hpp"

namespace weir::module {

class Reply {
 public:
  explicit Reply(Context* context) noexcept : context_(context) {}

  void integer(std::int64_t value) const noexcept { api.ReplyWithLongLong(context_, value); }
  void bulk(std::string_view text) const noexcept {
    api.ReplyWithStringBuffer(context_, text.data(), text.size());
  }
  void null() const noexcept { api.ReplyWithNull(context_); }
  void array(std::size_t size) const noexcept {
    api.ReplyWithArray(context_, static_cast<long>(size));
  }
  /// Of so many pairs; an array of twice as many where the server or the client knows no maps.
  void map(std::size_t pairs) const noexcept {
    if (api.ReplyWithMap) {
      api.ReplyWithMap(context_, static_cast<long>(pairs));
    } else {
      array(2 * pairs);
    }
  }
  /// Its first word is a code. A line end would be taken for the reply's own.
  void error(std::string text) const noexcept {
    for (char& byte : text) {
      if (byte == '\r' || byte == '\n' || byte == '\0') byte = ' ';
    }
    api.ReplyWithError(context_, text.c_str());
  }

 private:
  Context* context_;
};

}  // namespace weir::module
