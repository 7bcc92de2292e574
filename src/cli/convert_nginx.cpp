// nginx's limit_req as rules.
#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "cli/conversion.hpp"
#include "cli/nginx_search.hpp"

namespace weir::cli {
namespace {

struct Zone {
  std::string key;
  std::string rate;    ///< "10/s"
  std::size_t period;  ///< milliseconds for one
  std::size_t uses = 0;
};

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return whole && number <= 1'000'000'000 ? std::optional(number) : std::nullopt;
}

class Converter {
 public:
  Conversion convert(std::string_view text) {
    NginxReader reader(text);
    blocks_.push_back(&file_);
    NginxBlock* block = &file_;
    for (NginxDirective read = reader.next(); read.end != '\0'; read = reader.next()) {
      if (read.end == '{') {
        block = open(read, *block);
      } else if (read.end == '}') {
        if (block->parent) block = block->parent;
      } else if (!read.words.empty()) {
        directive(read, *block);
      }
    }
    made_.remarks = {"From nginx's limit_req. There each IPv6 address counts by itself, here with",
                     "its /64."};
    for (NginxBlock* each : blocks_) add_rules(*each);
    for (NginxBlock* each : blocks_) look_into(*each);
    while (keep_from_others()) {
    }
    add_replaced();
    return std::move(made_);
  }

 private:
  void leave_out(std::size_t line, const std::string& what) {
    const auto same = [&](const Unconverted& told) {
      return told.line == line && told.what == what;
    };
    if (std::ranges::none_of(made_.left_out, same)) made_.left_out.push_back({line, what});
  }

  NginxBlock* open(const NginxDirective& read, NginxBlock& parent) {
    parent.inside.push_back(std::make_unique<NginxBlock>());
    NginxBlock& block = *parent.inside.back();
    block.line = read.line;
    block.place = blocks_.size();
    block.parent = &parent;
    block.shadow = parent.shadow;
    if (!read.words.empty()) block.kind = read.words.front();
    if (block.is_location()) block.location = NginxLocation::of(read.words);
    // Such a one is for the other's requests alone.
    if (parent.is_expression() || (parent.is_location() && block.is_expression())) {
      block.location.routes.clear();
    }
    blocks_.push_back(&block);
    return &block;
  }

  void directive(const NginxDirective& words, NginxBlock& block) {
    const std::string& name = words.words.front();
    if (name == "limit_req_zone") return zone(words);
    if (name == "limit_req") return block.limits.push_back(words);
    if (name == "server_name") {
      for (const std::string& host : std::span(words.words).subspan(1)) name_server(block, host);
    } else if (name == "limit_req_dry_run" && words.words.size() == 2) {
      block.shadow = words.words[1] == "on";
    } else if (name == "limit_req_status" && words.words.size() == 2 && words.words[1] == "429") {
      // What weir answers.
    } else if (name == "include" || name.starts_with("limit_")) {
      std::string text;
      for (const std::string& word : words.words) text += (text.empty() ? "" : " ") + word;
      leave_out(words.line, text);
    }
  }

  static void name_server(NginxBlock& server, const std::string& host) {
    if (host.empty() || host == "_") return;
    if (host.starts_with('.')) server.hosts.push_back(host.substr(1));
    server.hosts.push_back(host.starts_with('.') ? '*' + host : host);
  }

  /// limit_req_zone KEY zone=NAME:SIZE rate=Nr/s
  void zone(const NginxDirective& words) {
    std::string name;
    std::string_view rate;
    for (const std::string& word : words.words) {
      if (word.starts_with("zone=")) name = word.substr(5, word.find(':') - 5);
      if (word.starts_with("rate=")) rate = std::string_view(word).substr(5);
    }
    const bool minutes = rate.ends_with("r/m");
    const auto number = rate.size() > 3 ? number_in(rate.substr(0, rate.size() - 3)) : std::nullopt;
    if (name.empty() || !number || *number == 0 || !(minutes || rate.ends_with("r/s"))) {
      return leave_out(words.line, "limit_req_zone; expected KEY zone=NAME:SIZE rate=NUMBERr/s");
    }
    const auto key = nginx_key(words.words[1]);
    if (!key) return leave_out(words.line, "the key " + words.words[1]);
    zones_[name] = {*key, std::to_string(*number) + (minutes ? "/m" : "/s"),
                    (minutes ? 60'000 : 1'000) / *number + 1};
  }

  /// limit_req zone=NAME [burst=N] [nodelay | delay=N]
  void add_rule(const NginxDirective& words, NginxBlock& block) {
    std::string name;
    std::size_t burst = 0;
    bool queues = true;
    for (std::size_t at = 1; at < words.words.size(); ++at) {
      const std::string& word = words.words[at];
      const auto number = word.starts_with("burst=") ? number_in(word.substr(6)) : std::nullopt;
      if (word.starts_with("zone=")) {
        name = word.substr(5);
      } else if (number) {
        burst = *number;
      } else if (word == "nodelay") {
        queues = false;
      } else if (word.starts_with("delay=")) {
        queues = false;
        leave_out(words.line, word + ": what is within the burst is let in at once");
      } else {
        return leave_out(words.line, "limit_req " + word);
      }
    }
    const auto zone = zones_.find(name);
    if (zone == zones_.end())
      return leave_out(words.line, "limit_req of zone '" + name + "', which is not converted");
    if (++zone->second.uses == 2) {
      leave_out(words.line, "the zone " + name + " is shared; here each rule counts by itself");
    }
    NewRule rule = rule_in(block, words.line, name);
    rule.key = key_in(block, zone->second.key);
    if (queues && burst > 0) {
      rule.limit = "leaky-bucket " + zone->second.rate + " queue " + std::to_string(burst);
      const std::size_t longest = std::min<std::size_t>(zone->second.period * burst, 60'000);
      rule.hold = std::to_string(longest) + "ms";
    } else {
      rule.limit = zone->second.rate + " burst " + std::to_string(burst + 1);
    }
    add(std::move(rule), block);
  }

  void add(NewRule&& rule, NginxBlock& block) {
    block.rules.push_back(made_.rules.size());
    made_.rules.push_back(std::move(rule));
  }

  /// In a server block its name is always the same.
  static std::string key_in(const NginxBlock& block, std::string key) {
    const std::size_t at = key.find(server_name_in_key);
    if (at == key.npos) return key;
    if (!block.around("server")) return key.replace(at, server_name_in_key.size(), "{host}");
    const std::size_t begin = at == 0 ? 0 : at - 1;
    return key.erase(begin, server_name_in_key.size() + 1);
  }

  NewRule rule_in(const NginxBlock& block, std::size_t line, const std::string& name) const {
    NewRule rule{.line = line, .name = made_.fresh_name(name), .routes = block.location.routes};
    rule.shadow = block.shadow;
    if (const NginxBlock* server = block.around("server")) {
      for (const std::string& host : server->hosts) rule.hosts.push_back(with_stars(host));
    }
    return rule;
  }

  void add_rules(NginxBlock& block) {
    if (block.limits.empty()) return;
    const NginxBlock* const server = block.around("server");
    const bool by_form = server && std::ranges::any_of(server->hosts, [](const std::string& host) {
                           return host.starts_with('~');
                         });
    if (by_form) return leave_out(server->line, "a server_name of a form that no pattern has");
    if (block.kind == "if") return leave_out(block.line, "if of a form that no pattern has");
    if (has_no_pattern(block)) return leave_out_location(block);
    for (const NginxDirective& read : block.limits) add_rule(read, block);
    if (block.location.any_case && !block.rules.empty()) {
      leave_out(block.line, "~*: here in small letters, in capitals, and as written");
    }
  }

  static bool has_no_pattern(const NginxBlock& block) {
    return block.is_location() && block.location.routes.empty();
  }
  void leave_out_location(const NginxBlock& block) {
    leave_out(block.line, "location " + block.location.path +
                              " of a form that no pattern has: here the limits of others count");
  }

  void look_into(NginxBlock& server) {
    const auto is_location = [](const auto& block) { return block->is_location(); };
    if (server.is_location() || std::ranges::none_of(server.inside, is_location)) return;
    for (NginxCell& cell : cells_of(server)) cells_.push_back(std::move(cell));
  }

  /// Has a rule said for what has none of its own where rules of others would count for its
  /// requests. Whether there was one; then there may be more.
  bool keep_from_others() {
    const std::size_t rules = made_.rules.size();
    for (NginxBlock* block : blocks_) {
      if (loses_limits(*block) || is_met_by_servers(*block)) say_limits_of(*block);
    }
    for (const NginxCell& cell : cells_) {
      for (std::size_t at = 0; at < cell.taken.size(); ++at) {
        const std::span later = std::span(cell.taken).subspan(at + 1);
        if (is_met_by(*cell.taken[at], later) || is_met_by(*cell.taken[at], cell.passed)) {
          say_limits_of(*cell.taken[at]);
        }
      }
    }
    return made_.rules.size() != rules;
  }

  /// Whether no rule could be made of its limits, and those around it would count.
  bool loses_limits(const NginxBlock& block) const {
    if (block.limits.empty() || !block.rules.empty()) return false;
    const NginxBlock* outer = block.parent;
    while (outer && !has_limits(*outer)) outer = outer->parent;
    return outer != nullptr;
  }

  bool is_met_by_servers(const NginxBlock& server) const {
    return server.kind == "server" && server.rules.empty() &&
           std::ranges::any_of(blocks_, [&](const NginxBlock* block) {
             const NginxBlock* other = has_limits(*block) ? block->around("server") : nullptr;
             return other && names_closer(server, *other);
           });
  }

  bool has_limits(const NginxBlock& block) const {
    return std::ranges::any_of(
        block.rules, [&](std::size_t rule) { return made_.rules[rule].limit != "unlimited"; });
  }

  /// Whether rules of these count for its requests, though nginx counts by other limits.
  template <typename Blocks>
  bool is_met_by(const NginxBlock& block, const Blocks& others) const {
    const NginxBlock* const counted = block.limits.empty() ? block.heritage() : &block;
    return std::ranges::any_of(others, [&](const NginxBlock* other) {
      return has_limits(*other) && other != counted && !(counted && counted->is_inside(*other));
    });
  }

  void say_limits_of(NginxBlock& block) {
    if (!block.rules.empty()) return;
    if (has_no_pattern(block)) return leave_out_location(block);
    const NginxBlock* const counted = block.heritage();
    if (block.limits.empty() && counted) {
      for (const NginxDirective& read : counted->limits) add_rule(read, block);
      if (!block.rules.empty()) return;
    }
    NewRule free = rule_in(block, block.line, "unlimited");
    const bool is_of_all = free.routes.empty() && free.hosts.empty();
    if (!block.limits.empty()) {
      leave_out(block.line, is_of_all ? "its limits: here those around it count"
                                      : "the limits of this " + block.kind + ": here it has none");
    }
    if (is_of_all) return;
    free.limit = "unlimited";
    add(std::move(free), block);
  }

  void add_replaced() {
    for (const NginxBlock* block : blocks_) {
      for (const NginxBlock* outer = block->parent; outer; outer = outer->parent) {
        goes_before(*block, *outer);
      }
      if (!block->rules.empty()) goes_before_servers(*block);
    }
    for (const NginxCell& cell : cells_) {
      for (std::size_t at = 0; at < cell.taken.size(); ++at) {
        for (const NginxBlock* later : std::span(cell.taken).subspan(at + 1)) {
          goes_before(*cell.taken[at], *later);
        }
        for (const NginxBlock* passed : cell.passed) goes_before(*cell.taken[at], *passed);
      }
    }
    for (const auto& [block, other] : before_) replace(*blocks_[block], *blocks_[other]);
  }

  void goes_before(const NginxBlock& block, const NginxBlock& other) {
    if (!block.rules.empty() && !other.rules.empty()) before_.emplace(block.place, other.place);
  }

  void goes_before_servers(const NginxBlock& block) {
    const NginxBlock* const server = block.around("server");
    for (const NginxBlock* each : blocks_) {
      const NginxBlock* const other = each->around("server");
      if (server && other && names_closer(*server, *other)) goes_before(block, *each);
    }
  }

  /// Of two that nginx takes one before the other here, and the other way round there, both count.
  void replace(const NginxBlock& block, const NginxBlock& other) {
    if (before_.contains({other.place, block.place})) {
      return leave_out(std::max(block.line, other.line),
                       "which of lines " + std::to_string(std::min(block.line, other.line)) +
                           " and " + std::to_string(std::max(block.line, other.line)) +
                           " nginx takes for which path: here the limits of both count");
    }
    for (const std::size_t rule : block.rules) {
      for (const std::size_t replaced : other.rules) {
        if (made_.rules[replaced].limit == "unlimited") continue;
        made_.rules[rule].replaces.push_back(made_.rules[replaced].name);
      }
    }
  }

  Conversion made_;
  NginxBlock file_{.line = 1, .kind = "main"};
  std::vector<NginxBlock*> blocks_{};  ///< all that are in it, as they follow
  std::vector<NginxCell> cells_{};
  std::set<std::pair<std::size_t, std::size_t>> before_{};  ///< places: whose rules replace whose
  std::map<std::string, Zone> zones_;
};

}  // namespace

Expected<Conversion, gateway::FileError> convert_nginx(std::string_view text) {
  if (text.find('\0') != text.npos) return gateway::FileError{{}, "a NUL byte in the text"};
  return Converter().convert(text);
}

}  // namespace weir::cli
