// nginx's limit_req as rules.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>

#include "cli/conversion.hpp"

namespace weir::cli {
namespace {

struct Words {
  std::size_t line = 0;
  std::vector<std::string> words{};
  char end = ';';  ///< or '{', '}', or 0 at the end of the text
};

/// nginx's words: quotes, comments, and what ends a directive.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Words next() {
    Words found;
    for (;;) {
      skip_blanks();
      if (found.words.empty()) found.line = line_;
      if (at_ == text_.size()) return found.end = '\0', found;
      const char c = text_[at_];
      if (c == ';' || c == '{' || c == '}') return ++at_, found.end = c, found;
      found.words.push_back(word());
    }
  }

 private:
  void step() { line_ += text_[at_++] == '\n' ? 1 : 0; }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        step();
      } else {
        return;
      }
    }
  }

  std::string word() {
    std::string word;
    const char quote = text_[at_] == '"' || text_[at_] == '\'' ? text_[at_] : '\0';
    if (quote) ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (quote ? c == quote : std::string_view(" \t\r\n;{}").find(c) != std::string_view::npos) {
        // ${name} is part of a word.
        if (quote || c != '{' || !word.ends_with('$')) break;
        while (at_ < text_.size() && text_[at_] != '}') word += text_[at_], step();
        if (at_ == text_.size()) break;
      }
      if (c == '\\' && at_ + 1 < text_.size()) step();
      word += text_[at_];
      step();
    }
    if (quote && at_ < text_.size()) ++at_;
    return word;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

struct Zone {
  std::string key;
  std::string rate;    ///< "10/s"
  std::size_t period;  ///< milliseconds for one
  std::size_t uses = 0;
};

/// A block and what is limited in it.
struct Block {
  std::size_t line = 0;
  std::string kind{};
  Block* parent = nullptr;
  std::string route{};               ///< of a location, a pattern; empty: cannot be said, or none
  std::vector<std::string> hosts{};  ///< of a server
  std::vector<Words> limits{};
  bool shadow = false;

  const Block* around(std::string_view wanted) const {
    const Block* block = this;
    while (block && block->kind != wanted) block = block->parent;
    return block;
  }
};

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return whole && number <= 1'000'000'000 ? std::optional(number) : std::nullopt;
}

/// The attribute for a variable, as "{ip}"; empty where there is none.
std::string attribute_of(std::string variable) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> known{
      {{"binary_remote_addr", "{ip}"},
       {"remote_addr", "{ip}"},
       {"remote_user", "{user}"},
       {"uri", "{uri}"},
       {"host", "{host}"},
       {"http_host", "{host}"},
       {"request_method", "{method}"}}};
  for (const auto& [name, attribute] : known) {
    if (variable == name) return std::string(attribute);
  }
  if (!variable.starts_with("http_") || variable.size() == 5) return {};
  std::ranges::replace(variable, '_', '-');
  return "{header." + variable.substr(5) + '}';
}

/// "$binary_remote_addr$uri"; texts between variables change nothing of which keys are equal.
std::optional<std::string> key_of(std::string_view text) {
  std::string key;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    text.remove_prefix(dollar);
    if (text.empty()) break;
    text.remove_prefix(1);
    const bool braced = text.starts_with('{');
    if (braced) text.remove_prefix(1);
    const std::size_t end =
        std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), text.size());
    const std::string attribute = attribute_of(std::string(text.substr(0, end)));
    if (attribute.empty()) return {};
    key += (key.empty() ? "" : " ") + attribute;
    text.remove_prefix(std::min(end + (braced ? 1 : 0), text.size()));
  }
  return key;
}

class Converter {
 public:
  Conversion convert(std::string_view text) {
    Reader reader(text);
    blocks_.push_back(std::make_unique<Block>(Block{.line = 1, .kind = "main"}));
    Block* block = blocks_.front().get();
    for (Words words = reader.next(); words.end != '\0'; words = reader.next()) {
      if (words.end == '{') {
        block = open(words, *block);
      } else if (words.end == '}') {
        if (block->parent) block = block->parent;
      } else if (!words.words.empty()) {
        directive(words, *block);
      }
    }
    made_.remarks = {"From nginx's limit_req. There each IPv6 address counts by itself, here with",
                     "its /64, and a location here does not end the search for a longer one."};
    for (const auto& each : blocks_) add_rules(*each);
    for (const auto& each : blocks_) add_exception(*each);
    add_replaced();
    return std::move(made_);
  }

 private:
  void leave_out(std::size_t line, const std::string& what) {
    made_.left_out.push_back({line, what});
  }

  Block* open(const Words& words, Block& parent) {
    auto block = std::make_unique<Block>(Block{.line = words.line, .parent = &parent});
    block->shadow = parent.shadow;
    if (!words.words.empty()) block->kind = words.words.front();
    if (block->kind == "location") {
      const std::string& path = words.words.back();
      const std::string mark = words.words.size() > 2 ? words.words[1] : "";
      if (mark == "=") block->route = literal(path);
      if ((mark.empty() || mark == "^~") && path.starts_with('/'))
        block->route = literal(path) + '*';
    }
    blocks_.push_back(std::move(block));
    return blocks_.back().get();
  }

  void directive(const Words& words, Block& block) {
    const std::string& name = words.words.front();
    if (name == "limit_req_zone") return zone(words);
    if (name == "limit_req") return block.limits.push_back(words);
    if (name == "server_name") {
      block.hosts.assign(words.words.begin() + 1, words.words.end());
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

  /// limit_req_zone KEY zone=NAME:SIZE rate=Nr/s
  void zone(const Words& words) {
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
    const auto key = key_of(words.words[1]);
    if (!key) return leave_out(words.line, "the key " + words.words[1]);
    zones_[name] = {*key, std::to_string(*number) + (minutes ? "/m" : "/s"),
                    (minutes ? 60'000 : 1'000) / *number + 1};
  }

  /// limit_req zone=NAME [burst=N] [nodelay | delay=N]
  void add_rule(const Words& words, const Block& block) {
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
    rule.key = zone->second.key;
    if (queues && burst > 0) {
      rule.limit = "leaky-bucket " + zone->second.rate + " queue " + std::to_string(burst);
      const std::size_t longest = std::min<std::size_t>(zone->second.period * burst, 60'000);
      rule.hold = std::to_string(longest) + "ms";
    } else {
      rule.limit = zone->second.rate + " burst " + std::to_string(burst + 1);
    }
    made_.rules.push_back(std::move(rule));
    of_.push_back(&block);
  }

  NewRule rule_in(const Block& block, std::size_t line, const std::string& name) const {
    NewRule rule{.line = line, .name = made_.fresh_name(name), .routes = {}};
    if (!block.route.empty()) rule.routes.push_back(block.route);
    rule.shadow = block.shadow;
    if (const Block* server = block.around("server")) {
      for (const std::string& host : server->hosts) {
        if (host != "_" && !host.empty()) rule.hosts.push_back(with_stars(host));
      }
    }
    return rule;
  }

  void add_rules(const Block& block) {
    if (block.limits.empty()) return;
    const Block* const server = block.around("server");
    const bool by_form = server && std::ranges::any_of(server->hosts, [](const std::string& host) {
                           return host.starts_with('~') || host.starts_with('.');
                         });
    if (block.kind == "location" ? block.route.empty() : block.kind == "if") {
      return leave_out(block.line, block.kind + " of a form that no pattern has");
    }
    if (by_form) return leave_out(server->line, "a server_name of a form that no pattern has");
    for (const Words& words : block.limits) add_rule(words, block);
  }

  /// A location without limits of its own has those around it, and none of a shorter location.
  void add_exception(const Block& block) {
    if (block.kind != "location" || !block.limits.empty() || block.route.empty()) return;
    const auto kept_from = [&](const Block* other) {
      return other->kind == "location" && counts_instead(block, *other);
    };
    if (std::ranges::none_of(of_, kept_from)) return;
    for (const Block* around = block.parent; around; around = around->parent) {
      if (around->limits.empty()) continue;
      return leave_out(block.line,
                       "a location that has the limits around it, not those of a "
                       "shorter one");
    }
    NewRule rule = rule_in(block, block.line, "unlimited");
    rule.limit = "unlimited";
    made_.rules.push_back(std::move(rule));
    of_.push_back(&block);
  }

  /// The nearest block that has limits counts alone.
  bool counts_instead(const Block& near, const Block& far) const {
    for (const Block* at = near.parent; at; at = at->parent) {
      if (at == &far) return true;
    }
    if (near.around("server") != far.around("server") || far.route.empty()) return false;
    if (!far.route.ends_with('*') || near.route == far.route) return false;
    return near.route.starts_with(far.route.substr(0, far.route.size() - 1));
  }

  void add_replaced() {
    for (std::size_t at = 0; at < of_.size(); ++at) {
      for (std::size_t other = 0; other < of_.size(); ++other) {
        if (!counts_instead(*of_[at], *of_[other])) continue;
        made_.rules[at].replaces.push_back(made_.rules[other].name);
      }
    }
  }

  Conversion made_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::map<std::string, Zone> zones_;
  std::vector<const Block*> of_;  // each rule's
};

}  // namespace

Expected<Conversion, gateway::FileError> convert_nginx(std::string_view text) {
  if (text.find('\0') != text.npos) return gateway::FileError{{}, "a NUL byte in the text"};
  return Converter().convert(text);
}

}  // namespace weir::cli
