// A decider over a service of its own, with rules from a text.
#pragma once

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/gateway/decider.hpp"
#include "server/gateway/rule_keeper.hpp"

namespace weir::test {

/// A folder that is gone at the end.
class RuleFolder {
 public:
  RuleFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-rules-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no folder for rules");
    path_ = name;
  }
  ~RuleFolder() { std::filesystem::remove_all(path_); }
  RuleFolder(const RuleFolder&) = delete;
  RuleFolder& operator=(const RuleFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  std::filesystem::path path_;
};

class Gate {
 public:
  explicit Gate(std::string_view rules) : keeper_(rules_, {.files = {folder_.path().string()}}) {
    reload(rules);
  }

  /// Puts the text in force; false where it is no rule file.
  bool reload(std::string_view text) {
    folder_.write("rules.yaml", text);
    auto loaded = keeper_.load();
    if (!loaded) return false;
    for (const Table::Succession& succession : keeper_.put_in_force(*loaded, service.clock.now())) {
      service.table.succeed(succession, [] {});
    }
    decider.renew(*loaded, keeper_.identities());
    return true;
  }

  struct Ask {
    std::vector<gateway::Call> calls;
    std::vector<Cost> hits{};  ///< 1 each unless said
    server::GateAsk::Verb verb = server::GateAsk::Verb::take;
    Span patience{0};
    server::GateAsk::Leasing leasing = server::GateAsk::Leasing::never;
  };

  /// The answer, where it comes at once.
  std::optional<server::GateAnswer> ask(Ask asked) {
    asked.hits.resize(asked.calls.size(), 1);
    const auto answered = std::make_shared<std::optional<server::GateAnswer>>();
    decider.decide({.rules = decider.generation()->rules.usual(),
                    .calls = asked.calls,
                    .hits = asked.hits,
                    .verb = asked.verb,
                    .patience = asked.patience,
                    .leasing = asked.leasing},
                   [answered](server::GateAnswer&& answer) { *answered = std::move(answer); });
    return *answered;
  }

  /// Whether a call by this user is let through.
  bool lets(std::string_view user) { return ask({.calls = {{.user = user}}})->allowed; }

  /// What the named rule has counted.
  const server::RuleCounts::PerRule& counts(std::string_view rule) const {
    for (const gateway::EdgeRule& each : decider.generation()->rules.usual()->domain().rules) {
      if (each.label == rule) return decider.counts().of(each.number);
    }
    throw std::runtime_error("no such rule");
  }

  std::uint64_t decided(std::string_view rule, server::GateResult result) const {
    return counts(rule).decisions[static_cast<std::size_t>(result)][0].value();
  }

 private:
  RuleFolder folder_;
  Rules rules_;

 public:
  boost::asio::io_context loop;
  server::Service service{rules_, {}, {.level = server::LogLevel::off}};

 private:
  server::WorkerContext worker_{service, service.metrics.add_worker(),
                                service.hot_keys.add_worker(service.clock.now())};

 public:
  server::Decider decider{worker_, loop};

 private:
  server::RuleKeeper keeper_;
};

}  // namespace weir::test
