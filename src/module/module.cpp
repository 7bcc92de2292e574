// What the server sees of this module: its name, its commands, and functions that never throw.
#include <array>

#include "module/call.hpp"
#include "module/command_info.hpp"

namespace weir::module {

Limits& limits() noexcept {
  static Limits known;
  return known;
}

namespace {

/// Of a command, its name included: more than any has.
constexpr std::size_t most_words = 64;

using Run = void (*)(Call&);

/// The keys behind their number, for servers that ask the command itself.
void tell_keys(Context* context, std::span<const std::string_view> words) noexcept {
  if (words.size() < 2) return;
  std::size_t count = 0;
  for (const char digit : words[1]) {
    if (digit < '0' || digit > '9' || count > most_words) return;
    count = count * 10 + static_cast<std::size_t>(digit - '0');
  }
  if (words.size() < count + 2) return;
  for (std::size_t at = 0; at < count; ++at) api.KeyAtPos(context, static_cast<int>(at + 2));
}

enum class Asked : bool { to_run, maybe_for_keys };

void run(Run handler, Context* context, std::span<Text* const> texts, Asked asked) {
  const Reply reply(context);
  // The server calls on one thread, one command within none: room that is not cleared each time.
  static std::array<std::string_view, most_words> words;
  if (texts.size() > most_words)
    return reply.error("ERR too many arguments; expected fewer than 64");
  for (std::size_t at = 0; at < texts.size(); ++at) words[at] = view(texts[at]);
  const auto given = std::span<const std::string_view>(words).first(texts.size());
  if (asked == Asked::maybe_for_keys && api.IsKeysPositionRequest(context)) {
    return tell_keys(context, given);
  }
  limits().begin();
  Call call{context, texts, given.subspan(1), wall_clock(), reply};
  handler(call);
}

/// Nothing is thrown into the server. What can be is the want of memory, before a reply begins.
template <Run Handler, Asked Why = Asked::to_run>
int entry(Context* context, Text** texts, int count) noexcept {
  try {
    run(Handler, context, {texts, static_cast<std::size_t>(count)}, Why);
  } catch (...) {
    api.ReplyWithError(context, "ERR weir: out of memory");
  }
  return api_ok;
}

constexpr ArgumentInfo key{.name = "key", .type = ArgumentType::key, .key_spec = 0};
constexpr ArgumentInfo keys{
    .name = "key", .type = ArgumentType::key, .key_spec = 0, .flags = argument_multiple};
constexpr ArgumentInfo limit{.name = "limit"};
constexpr ArgumentInfo end{};

constexpr ArgumentInfo integer(const char* name) {
  return {.name = name, .type = ArgumentType::integer};
}
constexpr ArgumentInfo option(const char* name, const char* token) {
  return {.name = name, .type = ArgumentType::integer, .token = token, .flags = argument_optional};
}

constexpr ArgumentInfo throttle_arguments[] = {
    key,
    integer("max_burst"),
    integer("count"),
    integer("period"),
    {.name = "quantity", .type = ArgumentType::integer, .flags = argument_optional},
    end};
constexpr ArgumentInfo take_arguments[] = {key, limit, option("cost", "COST"),
                                           option("patience", "PATIENCE"), end};
constexpr ArgumentInfo peek_arguments[] = {key, limit, option("cost", "COST"), end};
constexpr ArgumentInfo take_all_arguments[] = {integer("numkeys"),
                                               keys,
                                               {.name = "limit", .flags = argument_multiple},
                                               option("cost", "COST"),
                                               {.name = "costs",
                                                .type = ArgumentType::integer,
                                                .token = "COSTS",
                                                .flags = argument_optional | argument_multiple},
                                               option("patience", "PATIENCE"),
                                               end};
constexpr ArgumentInfo cancel_arguments[] = {key, limit, {.name = "grant"}, end};
constexpr ArgumentInfo refund_arguments[] = {
    key, limit, integer("units"), {.name = "id", .token = "ID", .flags = argument_optional}, end};
constexpr ArgumentInfo reset_arguments[] = {key, limit, end};
constexpr ArgumentInfo enter_arguments[] = {key, limit, option("weight", "WEIGHT"), end};
constexpr ArgumentInfo permit_arguments[] = {key, limit, integer("permit"), end};

// Of the functions' own words: the limit is its config text.
constexpr ArgumentInfo decide_arguments[] = {
    integer("numkeys"),
    keys,
    {.name = "limit", .flags = argument_multiple},
    {.name = "cost", .type = ArgumentType::integer, .flags = argument_multiple},
    integer("patience_us"),
    end};
constexpr ArgumentInfo told_cancel_arguments[] = {
    integer("numkeys"),
    keys,
    limit,
    integer("cost"),
    integer("ready_at"),
    {.name = "mark", .type = ArgumentType::integer, .flags = argument_multiple},
    end};
constexpr ArgumentInfo told_refund_arguments[] = {integer("numkeys"), keys, limit, integer("units"),
                                                  end};
constexpr ArgumentInfo told_permit_arguments[] = {integer("numkeys"), keys, limit,
                                                  integer("permit"), end};

struct Command {
  const char* name;
  Entry entry;
  KeyUse use;
  CommandText text;
};

constexpr Command commands[] = {
    {"CL.THROTTLE",
     entry<throttle>,
     KeyUse::changes_first,
     {"Takes from a key as redis-cell does.", -5, throttle_arguments}},
    {"WEIR.TAKE",
     entry<take>,
     KeyUse::changes_first,
     {"Takes from a key under a limit.", -3, take_arguments}},
    {"WEIR.PEEK",
     entry<peek>,
     KeyUse::reads_first,
     {"Tells what WEIR.TAKE would answer.", -3, peek_arguments}},
    {"WEIR.TAKEALL",
     entry<take_all, Asked::maybe_for_keys>,
     KeyUse::changes_counted,
     {"Takes from several keys, all or none.", -4, take_all_arguments}},
    {"WEIR.CANCEL",
     entry<cancel>,
     KeyUse::gives_back_first,
     {"Gives a grant back before its instant.", 4, cancel_arguments}},
    {"WEIR.REFUND",
     entry<refund>,
     KeyUse::gives_back_first,
     {"Gives back units that were taken but not used.", -4, refund_arguments}},
    {"WEIR.RESET",
     entry<reset>,
     KeyUse::gives_back_first,
     {"Forgets what a key has used.", 3, reset_arguments}},
    {"WEIR.ENTER",
     entry<enter>,
     KeyUse::changes_first,
     {"Takes a permit to be inside, under a lease.", -3, enter_arguments}},
    {"WEIR.LEAVE",
     entry<leave>,
     KeyUse::gives_back_first,
     {"Gives a permit back.", 4, permit_arguments}},
    {"WEIR.RENEW",
     entry<renew>,
     KeyUse::changes_first,
     {"Has a permit's lease begin anew.", 4, permit_arguments}},
    {"WEIR_1.TAKE",
     entry<function::take, Asked::maybe_for_keys>,
     KeyUse::changes_counted,
     {"As the function weir_1_take.", -6, decide_arguments}},
    {"WEIR_1.PEEK",
     entry<function::peek, Asked::maybe_for_keys>,
     KeyUse::reads_counted,
     {"As the function weir_1_peek.", -6, decide_arguments}},
    {"WEIR_1.CANCEL",
     entry<function::cancel, Asked::maybe_for_keys>,
     KeyUse::gives_back_counted,
     {"As the function weir_1_cancel.", -8, told_cancel_arguments}},
    {"WEIR_1.REFUND",
     entry<function::refund, Asked::maybe_for_keys>,
     KeyUse::gives_back_counted,
     {"As the function weir_1_refund.", 5, told_refund_arguments}},
    {"WEIR_1.RELEASE",
     entry<function::release, Asked::maybe_for_keys>,
     KeyUse::gives_back_counted,
     {"As the function weir_1_release.", 5, told_permit_arguments}},
    {"WEIR_1.RENEW",
     entry<function::renew, Asked::maybe_for_keys>,
     KeyUse::changes_counted,
     {"As the function weir_1_renew.", 5, told_permit_arguments}},
};

const char* flags_of(KeyUse use) noexcept {
  switch (use) {
    case KeyUse::reads_first: return "readonly fast";
    case KeyUse::gives_back_first: return "write fast";  // also where memory has run out
    case KeyUse::changes_first: return "write deny-oom fast";
    case KeyUse::reads_counted: return "readonly fast getkeys-api";
    case KeyUse::gives_back_counted: return "write fast getkeys-api";
    case KeyUse::changes_counted: return "write deny-oom fast getkeys-api";
  }
  return "";
}

bool add_commands(Context* context) noexcept {
  for (const Command& command : commands) {
    const int first = command.use < KeyUse::reads_counted ? 1 : 2;
    if (api.CreateCommand(context, command.name, command.entry, flags_of(command.use), first, first,
                          1) != api_ok) {
      return false;
    }
    describe(context, command.name, command.text, command.use);
  }
  return true;
}

/// Named limits: NAME=LIMIT words behind the module's path.
bool add_limits(Context* context, std::span<Text* const> texts) {
  limits() = {};
  for (const Text* text : texts) {
    const std::string_view word = view(text);
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      api.Log(context, "warning", "expected NAME=LIMIT, as in login=5/1m");
      return false;
    }
    const std::string wrong = limits().add({word.substr(0, equals), word.substr(equals + 1)});
    if (!wrong.empty()) {
      api.Log(context, "warning", "%s", wrong.c_str());
      return false;
    }
  }
  return true;
}

bool load(Context* context, std::span<Text* const> texts) {
  if (!load_api(context)) return false;
  if (api.IsModuleNameBusy("weir")) return false;
  api.SetModuleAttribs(context, "weir", 100, api_version);  // 0.1.0
  api.SetModuleOptions(context, option_no_implicit_signal);
  return add_limits(context, texts) && add_commands(context);
}

}  // namespace
}  // namespace weir::module

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): the server looks for these names.

int RedisModule_OnLoad(weir::module::Context* context, weir::module::Text** texts,
                       int count) noexcept {
  try {
    return weir::module::load(context, {texts, static_cast<std::size_t>(count)})
               ? weir::module::api_ok
               : weir::module::api_error;
  } catch (...) {
    return weir::module::api_error;
  }
}

/// Refuses. A transaction that a client has queued names our commands by address, and the server
/// would follow that into what is gone.
int RedisModule_OnUnload(weir::module::Context* context) noexcept {
  weir::module::api.Log(context, "warning", "the module stays until the server ends");
  return weir::module::api_error;
}

// NOLINTEND(readability-identifier-naming)
}
