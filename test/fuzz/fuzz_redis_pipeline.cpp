// Any bytes as the replies to a few calls: however they are split, the same calls end the same way,
// in their order, and at the connection's end each has ended once.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "redis/pipeline.hpp"

namespace {

using weir::redis::CallOutcome;
using weir::redis::Pipeline;

constexpr Pipeline::CallId calls = 6;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

struct Story {
  std::vector<Pipeline::CallId> answered{};
  std::vector<weir::wire::Reply> replies{};
  Pipeline::Fault fault = Pipeline::Fault::none;
};

/// The second call has two commands, the third is past its deadline, the last was never sent.
Story story_of(std::string_view bytes, std::size_t cut) {
  Pipeline pipeline({.calls = calls});
  std::vector<Pipeline::Ended> ended;
  std::string out;
  const weir::SteadyInstant soon{std::chrono::seconds{1}};
  const weir::SteadyInstant late{std::chrono::seconds{9}};
  for (Pipeline::CallId id = 0; id < calls; ++id) {
    if (id + 1 == calls) pipeline.take_output(out);
    require(pipeline.send({.id = id,
                           .bytes = "x",
                           .commands = id == 1 ? 2U : 1U,
                           .deadline_at = id == 2 ? soon : late}));
  }
  pipeline.expire(soon, ended);
  require(ended.size() == 1 && ended[0].outcome == CallOutcome::timed_out);
  Story story;
  story.fault = pipeline.hear(bytes.substr(0, cut), ended).fault;
  const auto fault = pipeline.hear(bytes.substr(cut), ended).fault;
  require(story.fault == Pipeline::Fault::none || story.fault == fault);
  story.fault = fault;
  pipeline.lose(ended);
  require(ended.size() == calls && pipeline.in_flight() == 0);
  std::vector<int> ends(calls);
  for (auto& one : ended) {
    require(++ends[one.id] == 1);
    if (one.outcome != CallOutcome::answered) continue;
    require(story.answered.empty() || story.answered.back() < one.id);
    require(one.id != 2 && one.id + 1 != calls);
    story.answered.push_back(one.id);
    story.replies.push_back(std::move(one.reply));
  }
  return story;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 256) return 0;  // Splitting at every byte is quadratic.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Story whole = story_of(bytes, 0);
  for (std::size_t cut = 1; cut <= size; ++cut) {
    const Story split = story_of(bytes, cut);
    require(split.answered == whole.answered && split.fault == whole.fault);
    for (std::size_t i = 0; i < whole.replies.size(); ++i) {
      // Not the whole reply: a NaN differs from itself.
      require(split.replies[i].type == whole.replies[i].type);
      require(split.replies[i].text == whole.replies[i].text);
      require(split.replies[i].elements.size() == whole.replies[i].elements.size());
    }
  }
  return 0;
}
