// Any integers as a state's form: refused, or a state that every limit can step.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "limit/state_form.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  using Machine = Limit::Machine;
  static const std::vector<Limit> limits = [] {
    std::vector<Limit> made;
    for (const char* text :
         {"5/1m", "3/7s burst 2", "1M/1s", "leaky-bucket 10/s queue 5", "fixed-window 20/1s",
          "sliding-window 20/1s parts 4", "sliding-log 9/1s", "concurrency 9/1s", "5/1s block 10s",
          "calendar-window 9/month zone Europe/Berlin", "concurrency 3/20s block 1s & 10/1s",
          "10/1s & sliding-log 30/1m & fixed-window 4/100ms & sliding-window 7/1s"}) {
      made.push_back(Limit::parse(text).value());
    }
    return made;
  }();
  // A byte that tells its width before each number, so that small ones are easily hit.
  std::vector<std::int64_t> form;
  for (std::size_t at = 0; at < size;) {
    const std::size_t width = std::min<std::size_t>(data[at] % 9, size - at - 1);
    const bool negative = data[at] >= 128;
    std::uint64_t number = 0;
    std::memcpy(&number, data + at + 1, width);
    form.push_back(static_cast<std::int64_t>(negative ? ~number : number));
    at += 1 + width;
  }
  const auto state = read_form(form);
  if (!state) return 0;
  std::vector<std::int64_t> again;
  write_form(*state, again);
  const auto twin = read_form(again);
  if (!twin || !(*twin == *state)) std::abort();
  for (const Limit& limit : limits) {
    const Machine::Config& config = limit.config();
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1'795'000'000'000'000}}) {
      Limit::State stepped = *state;
      const Instant now{Span{at}};
      const Request request{now, 1, Span{1'000'000}};
      (void)peek<Machine>(config, stepped, request);
      const Decision decision = step<Machine>(config, stepped, request);
      if (decision.remaining < 0 || decision.remaining > decision.limit) std::abort();
      const Grant grant = grant_of<Machine>(config, stepped, request, decision);
      (void)cancel<Machine>(config, stepped, now, grant);
      (void)Machine::refund(config, stepped, now, 2);
      (void)Machine::renew(config, stepped, now, PermitId{form.back()});
      (void)Machine::leave(config, stepped, now, PermitId{form.back()});
      (void)Machine::fresh_at(config, stepped);
    }
  }
  return 0;
}
