// One command as its handler sees it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "module/clock.hpp"
#include "module/key.hpp"
#include "module/limits.hpp"
#include "module/reply.hpp"

namespace weir::module {

/// What the module knows between calls. The server calls it on one thread.
Limits& limits() noexcept;

struct Call {
  Context* context;
  std::span<Text* const> texts;             ///< the name first
  std::span<const std::string_view> words;  ///< behind the name
  Instant now;                              ///< one reading of the server machine's clock
  Reply reply;
};

/// CL.THROTTLE, on the key itself and in redis-cell's form.
void throttle(Call& call);

// The WEIR commands, on weir:{KEY}:LIMIT and in the form of the scripts.
void take(Call& call);
void peek(Call& call);
void take_all(Call& call);
void cancel(Call& call);
void refund(Call& call);
void reset(Call& call);
void enter(Call& call);
void leave(Call& call);
void renew(Call& call);

/// The functions of the scripts' library as commands, on the stored key itself: their keys, their
/// arguments and their replies are theirs (redis/scripts.hpp).
namespace function {
void take(Call& call);
void peek(Call& call);
void cancel(Call& call);
void refund(Call& call);
void release(Call& call);
void renew(Call& call);
}  // namespace function

}  // namespace weir::module
