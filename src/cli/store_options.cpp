#include "cli/store_options.hpp"

#include <chrono>
#include <limits>
#include <string_view>

namespace weir::cli {
namespace {

using namespace std::chrono_literals;

struct StoreOption {
  const char* name;
  const char* takes;
  const char* text;
  std::string StoreSettings::*setting;
};

constexpr std::array<StoreOption, 7> store_options{{
    {"--store", "URL", "where states are: memory (unless said), or a Redis", &StoreSettings::store},
    {"--store-deadline", "SPAN", "a call to it takes no longer (5ms)", &StoreSettings::deadline},
    {"--without-store", "POLICY", "when it does not answer: share (unless said), open, closed",
     &StoreSettings::without_store},
    {"--members", "N", "servers that use it; share is 1/N of each limit (1)",
     &StoreSettings::members},
    {"--store-ca", "FILE", "PEM, whom to trust as it (those whom this machine trusts)",
     &StoreSettings::tls_ca},
    {"--store-cert", "FILE", "PEM, a certificate to show to it", &StoreSettings::tls_certificate},
    {"--store-key", "FILE", "PEM, its key", &StoreSettings::tls_key},
}};

constexpr Span longest_deadline = 10s;

std::optional<InputError> read_deadline(const std::string& text, redis::Policy& policy) {
  if (text.empty()) return {};
  const auto span = read_span({.name = "--store-deadline", .text = text});
  if (!span) return span.error();
  if (*span <= Span{0} || *span > longest_deadline) {
    return InputError{"--store-deadline must be more than 0 and at most 10s", text, 0};
  }
  policy.deadline = *span;
  return {};
}

std::optional<InputError> read_members(const std::string& text, redis::Policy& policy) {
  std::size_t members = 1;
  if (auto error = read_size({.name = "--members", .text = text}, members)) return error;
  if (members > 1'000'000) return InputError{"--members may be at most 1M", text, 0};
  policy.members = static_cast<std::uint32_t>(members);
  return {};
}

std::optional<InputError> read_policy(const std::string& text, redis::Policy& policy) {
  if (text.empty()) return {};
  using redis::WithoutStore;
  if (text == "share") {
    policy.without_store = WithoutStore::share;
  } else if (text == "open") {
    policy.without_store = WithoutStore::open;
  } else if (text == "closed") {
    policy.without_store = WithoutStore::closed;
  } else {
    return InputError{"--without-store expects one of: share, open, closed", text, 0};
  }
  return {};
}

}  // namespace

void add_store_options(CLI::App& command, StoreSettings& settings) {
  for (const StoreOption& option : store_options) {
    command.add_option(option.name, settings.*option.setting, option.text)->type_name(option.takes);
  }
}

std::string store_help() {
  std::string page = R"(Where weir serve keeps states that several servers share.

Examples:
  weir serve --store redis://10.0.0.7 --members 3
  weir serve --store 'rediss://limiter@10.0.0.7?password-file=/etc/weir/redis'
  weir serve --store redis+cluster://10.0.0.7,10.0.0.8 --without-store closed

Usage: weir serve --store URL [OPTION...]

)";
  for (const StoreOption& option : store_options) {
    std::string line = std::string("  ") + option.name + ' ' + option.takes;
    line.resize(27, ' ');
    page += line + option.text + '\n';
  }
  return page + R"(
URLs: redis://[USER[:PASSWORD]@]HOST[:PORT][/DB], rediss:// by TLS, unix://PATH,
redis+sentinel://HOST,HOST/MASTER, redis+cluster://HOST,HOST; behind ? one may
say password-file=PATH, and db=N.
)";
}

std::optional<InputError> read_store(const StoreSettings& settings, server::Options& options) {
  if (settings.store.empty() || settings.store == "memory") {
    for (const StoreOption& option : store_options) {
      if (std::string_view(option.name) == "--store" || (settings.*option.setting).empty())
        continue;
      return InputError{std::string(option.name) + " needs --store URL, such as redis://127.0.0.1"};
    }
    return {};
  }
  if (!options.snapshot.path.empty()) {
    return InputError{
        "--snapshot is for states in this process; with --store they outlive it in "
        "the store"};
  }
  if (options.max_memory != server::Options{}.max_memory) {
    return InputError{
        "--max-memory is for states in this process; with --store bound the store's "
        "memory, and say --max-keys for those kept while it is gone"};
  }
  server::StoreOptions& store = options.store;
  store.url = settings.store;
  store.tls_ca = settings.tls_ca;
  store.tls_certificate = settings.tls_certificate;
  store.tls_key = settings.tls_key;
  store.policy.keys = options.max_keys;
  if (auto error = read_deadline(settings.deadline, store.policy)) return error;
  if (auto error = read_policy(settings.without_store, store.policy)) return error;
  return read_members(settings.members, store.policy);
}

}  // namespace weir::cli
