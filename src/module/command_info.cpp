#include "module/command_info.hpp"

#include <array>

namespace weir::module {
namespace {

constexpr CommandInfoVersion version{1, sizeof(HistoryEntry), sizeof(KeySpec),
                                     sizeof(ArgumentInfo)};

constexpr KeySpec first(std::uint64_t flags) {
  KeySpec spec{.flags = flags, .begins = 2, .finds = 2};
  spec.begin.index = {1};
  spec.find.range = {0, 1, 0};
  return spec;
}

constexpr KeySpec counted(std::uint64_t flags) {
  KeySpec spec{.flags = flags, .begins = 2, .finds = 3};
  spec.begin.index = {1};
  spec.find.counted = {0, 1, 1};
  return spec;
}

constexpr std::uint64_t reads = key_read_only | key_access;
constexpr std::uint64_t changes = key_read_write | key_access | key_update;

using Specs = std::array<KeySpec, 2>;  // the last one ends the list
constexpr Specs of_use[] = {{first(reads)},   {first(changes)},   {first(changes)},
                            {counted(reads)}, {counted(changes)}, {counted(changes)}};

}  // namespace

void describe(Context* context, const char* command, const CommandText& text, KeyUse use) noexcept {
  if (!api.GetCommand) return;
  CommandHandle* const handle = api.GetCommand(context, command);
  if (!handle) return;
  if (api.SetCommandInfo) {
    const CommandInfo info{.version = &version,
                           .summary = text.summary,
                           .complexity = "O(1), of a sliding log O(N) in its entries",
                           .since = "0.1.0",
                           .history = nullptr,
                           .tips = nullptr,
                           .arity = text.arity,
                           .key_specs = of_use[static_cast<std::size_t>(use)].data(),
                           .arguments = text.arguments};
    api.SetCommandInfo(handle, &info);
  }
  // Of Redis 8, whose categories modules may join.
  if (api.SetCommandACLCategories) {
    const bool reading = use == KeyUse::reads_first || use == KeyUse::reads_counted;
    api.SetCommandACLCategories(handle, reading ? "read fast" : "write fast");
  }
}

}  // namespace weir::module
