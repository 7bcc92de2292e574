#include "cli/top_figures.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "weir/vocabulary.hpp"

namespace weir::cli {
namespace {

constexpr std::array verdicts{Verdict::granted, Verdict::deferred, Verdict::denied,
                              Verdict::impossible};

template <typename Number>
Number number_in(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// A line "name:value" of INFO.
std::string_view info_value(std::string_view info, const std::string& name) {
  const std::string begin = "\n" + name + ":";
  const std::size_t found = info.find(begin);
  if (found == std::string_view::npos) return {};
  info.remove_prefix(found + begin.size());
  return info.substr(0, info.find('\r'));
}

std::int64_t integer_field(const wire::Reply& reply, std::string_view name) {
  const wire::Reply* field = reply.field(name);
  return field ? field->integer : 0;
}

std::string text_field(const wire::Reply& reply, std::string_view name) {
  const wire::Reply* field = reply.field(name);
  return field ? field->text : "";
}

std::vector<TopKey> keys_in(const wire::Reply& list) {
  std::vector<TopKey> keys;
  for (const wire::Reply& each : list.elements) {
    keys.push_back({.begin = text_field(each, "key"),
                    .bytes = integer_field(each, "key_bytes"),
                    .limit = text_field(each, "limit"),
                    .calls_per_s = number_in<double>(text_field(each, "calls_per_s")),
                    .error_per_s = number_in<double>(text_field(each, "error_per_s"))});
  }
  return keys;
}

double tenths(double number) { return static_cast<double>(std::llround(number * 10)) / 10; }

wire::Json as_json(const TopFigures::Limit& limit) {
  wire::Json json = wire::Json::object();
  json.member("limit", escaped(limit.name));
  for (std::size_t at = 0; at < verdicts.size(); ++at) {
    json.member(std::string(name(verdicts[at])) + "_per_s", tenths(limit.decisions_per_s[at]));
  }
  return json;
}

wire::Json as_json(const std::vector<TopKey>& keys) {
  wire::Json list = wire::Json::array();
  for (const TopKey& each : keys) {
    list.element(wire::Json::object()
                     .member("key", escaped(each.begin))
                     .member("key_bytes", each.bytes)
                     .member("limit", escaped(each.limit))
                     .member("calls_per_s", each.calls_per_s)
                     .member("error_per_s", each.error_per_s));
  }
  return list;
}

}  // namespace

std::optional<TopReading> read_top(const TopReplies& replies) {
  const wire::Reply* limits = replies.top.field("limits");
  const wire::Reply* hottest = replies.top.field("hottest");
  const wire::Reply* most_refused = replies.top.field("most_refused");
  if (!limits || !hottest || !most_refused) return {};
  const std::string_view info = replies.info.text;
  const auto integer = [&](const char* name) {
    return number_in<std::int64_t>(info_value(info, name));
  };
  const auto seconds = [&](const char* name) { return number_in<double>(info_value(info, name)); };
  TopReading reading{.at_us = integer_field(replies.top, "at_us"),
                     .version = std::string(info_value(info, "weir_version")),
                     .up_s = integer("uptime_in_seconds"),
                     .connections = integer("connected_clients"),
                     .keys = number_in<std::int64_t>(
                         info_value(info, "db0").substr(std::string_view("keys=").size())),
                     .table_bytes = integer("used_memory"),
                     .resident_bytes = integer("used_memory_rss"),
                     .commands = integer("total_commands_processed"),
                     .shared_decisions = integer("shared_decisions"),
                     .cpu_s = seconds("used_cpu_sys") + seconds("used_cpu_user"),
                     .hottest = keys_in(*hottest),
                     .most_refused = keys_in(*most_refused)};
  for (const wire::Reply& each : limits->elements) {
    TopReading::Limit& limit = reading.limits.emplace_back();
    limit.name = text_field(each, "limit");
    for (std::size_t at = 0; at < verdicts.size(); ++at) {
      limit.decisions[at] = integer_field(each, name(verdicts[at]));
    }
  }
  return reading;
}

double TopFigures::Limit::all_per_s() const {
  return std::accumulate(decisions_per_s.begin(), decisions_per_s.end(), 0.0);
}

std::optional<double> TopFigures::Limit::refused() const {
  double refused = 0;
  for (std::size_t at = 0; at < verdicts.size(); ++at) {
    if (!taken(verdicts[at])) refused += decisions_per_s[at];
  }
  const double total = all_per_s();
  return total > 0 ? std::optional(refused / total) : std::nullopt;
}

TopFigures between(const TopReadings& readings) {
  const auto& [before, after] = readings;
  TopFigures figures{.now = after};
  figures.span_s =
      static_cast<double>(std::max<std::int64_t>(1, after.at_us - before.at_us)) * 1e-6;
  // A server that began anew counts from 0 again.
  const bool same = after.up_s >= before.up_s && after.commands >= before.commands &&
                    after.cpu_s >= before.cpu_s && after.limits.size() == before.limits.size();
  const auto rate = [&](std::int64_t then, std::int64_t now) {
    return same ? static_cast<double>(std::max<std::int64_t>(0, now - then)) / figures.span_s : 0;
  };
  figures.commands_per_s = rate(before.commands, after.commands);
  figures.shared_per_s = rate(before.shared_decisions, after.shared_decisions);
  figures.cpu = same ? (after.cpu_s - before.cpu_s) / figures.span_s : 0;
  figures.all.name = "all";
  for (std::size_t each = 0; each < after.limits.size(); ++each) {
    TopFigures::Limit& limit = figures.limits.emplace_back();
    limit.name = after.limits[each].name;
    for (std::size_t at = 0; same && at < verdicts.size(); ++at) {
      limit.decisions_per_s[at] =
          rate(before.limits[each].decisions[at], after.limits[each].decisions[at]);
      figures.all.decisions_per_s[at] += limit.decisions_per_s[at];
    }
  }
  std::ranges::stable_sort(figures.limits, [](const auto& left, const auto& right) {
    return left.all_per_s() > right.all_per_s();
  });
  return figures;
}

std::string escaped(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~' && c != '\\') {
      text += c;
      continue;
    }
    const auto value = static_cast<unsigned char>(c);
    text += {'\\', 'x', digits[value >> 4], digits[value & 15]};
  }
  return text;
}

wire::Json as_json(const TopFigures& figures) {
  const TopReading& now = figures.now;
  wire::Json limits = wire::Json::array();
  for (const TopFigures::Limit& each : figures.limits) limits.element(as_json(each));
  return wire::Json::object()
      .member("at_us", now.at_us)
      .member("span_us", std::int64_t{std::llround(figures.span_s * 1e6)})
      .member("version", escaped(now.version))
      .member("up_s", now.up_s)
      .member("connections", now.connections)
      .member("keys", now.keys)
      .member("table_bytes", now.table_bytes)
      .member("resident_bytes", now.resident_bytes)
      .member("cpu_percent", tenths(figures.cpu * 100))
      .member("commands_per_s", tenths(figures.commands_per_s))
      .member("shared_per_s", tenths(figures.shared_per_s))
      .member("limits", limits)
      .member("hottest", as_json(now.hottest))
      .member("most_refused", as_json(now.most_refused));
}

}  // namespace weir::cli
