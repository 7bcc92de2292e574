#include "cli/nginx_search.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace weir::cli {
namespace {

using Form = NginxLocation::Form;

class Search {
 public:
  explicit Search(NginxBlock& server) : server_(server) { collect(server); }

  std::vector<NginxCell> cells() const {
    std::set<std::pair<std::string, bool>> paths{{"", false}};
    for (const NginxBlock* each : all_) {
      if (!each->is_expression()) {
        paths.emplace(each->location.path, each->location.form == Form::exact);
      }
    }
    std::vector<NginxCell> found;
    found.reserve(paths.size());
    for (const auto& [path, exact] : paths) found.push_back(cell(path, exact));
    return found;
  }

 private:
  /// What is inside an expression, or has no path, is not looked for.
  void collect(NginxBlock& block) {
    for (const auto& each : block.inside) {
      if (!each->is_location()) continue;
      if (each->is_expression()) {
        all_.push_back(each.get());
      } else if (each->location.path.starts_with('/')) {
        all_.push_back(each.get());
        collect(*each);
      }
    }
  }

  static bool is_for(const NginxBlock& block, std::string_view path, bool exact) {
    const NginxLocation& location = block.location;
    return location.form == Form::exact ? exact && path == location.path
                                        : path.starts_with(location.path);
  }

  NginxCell cell(std::string_view path, bool exact) const {
    NginxCell cell;
    NginxBlock* last = &server_;
    look(server_, path, exact, cell, last);
    cell.taken.push_back(last);
    for (NginxBlock* each : all_) {
      const bool may_be_for = each->is_expression() || is_for(*each, path, exact);
      if (may_be_for && std::ranges::find(cell.taken, each) == cell.taken.end()) {
        cell.passed.push_back(each);
      }
    }
    return cell;
  }

  /// As nginx does: the longest path, what is inside of that, and then the expressions, unless an
  /// exact path has been found. Whether it has.
  static bool look(NginxBlock& in, std::string_view path, bool exact, NginxCell& cell,
                   NginxBlock*& last) {
    NginxBlock* longest = nullptr;
    for (const auto& each : in.inside) {
      if (!each->is_location() || each->is_expression() || !each->location.path.starts_with('/') ||
          !is_for(*each, path, exact)) {
        continue;
      }
      const bool longer = !longest || each->location.path.size() > longest->location.path.size() ||
                          each->location.form == Form::exact;
      if (longer) longest = each.get();
    }
    if (longest) {
      last = longest;
      if (longest->location.form == Form::exact) return true;
      if (look(*longest, path, exact, cell, last)) return true;
      if (longest->location.form == Form::first) return false;
    }
    for (const auto& each : in.inside) {
      if (each->is_expression()) cell.taken.push_back(each.get());
    }
    return false;
  }

  NginxBlock& server_;
  std::vector<NginxBlock*> all_;
};

}  // namespace

bool NginxBlock::is_inside(const NginxBlock& other) const {
  const NginxBlock* at = parent;
  while (at && at != &other) at = at->parent;
  return at != nullptr;
}

const NginxBlock* NginxBlock::around(std::string_view wanted) const {
  const NginxBlock* block = this;
  while (block && block->kind != wanted) block = block->parent;
  return block;
}

const NginxBlock* NginxBlock::heritage() const {
  const NginxBlock* block = parent;
  while (block && block->limits.empty()) block = block->parent;
  return block;
}

std::vector<NginxCell> cells_of(NginxBlock& server) { return Search(server).cells(); }

bool names_closer(const NginxBlock& server, const NginxBlock& other) {
  const auto rank = [](const NginxBlock& block) {
    const auto has_star = [](const std::string& host) { return host.find('*') != host.npos; };
    return block.hosts.empty() ? 0 : std::ranges::any_of(block.hosts, has_star) ? 1 : 2;
  };
  const auto covers = [](const std::string& pattern, const std::string& host) {
    return pattern.starts_with('*')
               ? host.ends_with(pattern.substr(1))
               : pattern.ends_with('*') && host.starts_with(pattern.substr(0, pattern.size() - 1));
  };
  if (rank(server) <= rank(other)) return false;
  return other.hosts.empty() || std::ranges::any_of(server.hosts, [&](const std::string& host) {
           return std::ranges::any_of(
               other.hosts, [&](const std::string& pattern) { return covers(pattern, host); });
         });
}

}  // namespace weir::cli
