#include "limit/tzif.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "limit/posix_rule.hpp"

namespace weir {
namespace {

constexpr std::size_t header_size = 44;
constexpr std::size_t most_changes = 4'096;
/// Seconds that a file may go back or ahead; what lies beyond was or will be for ever.
constexpr std::int64_t farthest_second = std::int64_t{1} << 32;

/// A number as the file has it, highest byte first. Requires 4 or 8 bytes.
std::int64_t signed_number(std::string_view bytes) {
  std::uint64_t number = static_cast<signed char>(bytes[0]) < 0 ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(number);
}

/// The counts of a header, and how long the block behind it is.
struct Header {
  std::size_t standards;
  std::size_t universals;
  std::size_t leaps;
  std::size_t changes;
  std::size_t types;
  std::size_t letters;

  std::size_t block_size(std::size_t time_size) const {
    return changes * (time_size + 1) + types * 6 + letters + leaps * (time_size + 4) + standards +
           universals;
  }
};

Expected<Header, TzifError> read_header(std::string_view bytes) {
  if (bytes.size() < header_size) return TzifError::cut_short;
  if (bytes.substr(0, 4) != "TZif") return TzifError::not_tzif;
  if (bytes[4] < '2') return TzifError::old;
  std::array<std::size_t, 6> counts{};
  for (std::size_t at = 0; at < counts.size(); ++at) {
    const std::int64_t count = signed_number(bytes.substr(20 + 4 * at, 4));
    if (count < 0 || count > std::int64_t{1} << 20) return TzifError::odd;
    counts[at] = static_cast<std::size_t>(count);
  }
  return Header{.standards = counts[1],
                .universals = counts[0],
                .leaps = counts[2],
                .changes = counts[3],
                .types = counts[4],
                .letters = counts[5]};
}

/// The block of eight-byte times: the first offset, and each change that changes something.
std::optional<TimeZone::Settings> read_block(const Header& header, std::string_view block) {
  const std::size_t indexes = header.changes * 8;
  const std::size_t types = indexes + header.changes;
  if (header.types == 0 || header.leaps != 0 || header.changes > most_changes) return {};
  const auto offset_of = [&](std::size_t type) {
    return Span{std::chrono::seconds{signed_number(block.substr(types + type * 6, 4))}};
  };
  TimeZone::Settings settings;
  settings.first_offset = offset_of(0);
  Span current = settings.first_offset;
  for (std::size_t at = 0; at < header.changes; ++at) {
    const std::int64_t second = signed_number(block.substr(at * 8, 8));
    const auto type = static_cast<unsigned char>(block[indexes + at]);
    if (type >= header.types) return {};
    const Span offset = offset_of(type);
    if (second < -farthest_second) {
      settings.first_offset = current = offset;
    } else if (second <= farthest_second && offset != current) {
      settings.changes.push_back({Instant{std::chrono::seconds{second}}, offset});
      current = offset;
    }
  }
  return settings;
}

int year_of(Instant at) {
  const std::chrono::sys_days day{std::chrono::floor<std::chrono::days>(at.time_since_epoch())};
  return static_cast<int>(std::chrono::year_month_day{day}.year());
}

/// The rule goes on where the file's own changes end. Those that it gives as well, in whole years,
/// are left to it: so a zone has one form, however many years were written out.
void go_on(TimeZone::Settings& settings, TimeZone::Yearly yearly) {
  auto& changes = settings.changes;
  const auto by_rule = [&](int year, std::size_t which) {
    return TimeZone::Change{TimeZone::change_in(year, yearly, which), yearly.changes[which].offset};
  };
  const int last = changes.empty() ? 1970 : year_of(changes.back().at);
  for (std::size_t which = 0; which < yearly.changes.size(); ++which) {
    const TimeZone::Change change = by_rule(last, which);
    const Span before = changes.empty() ? settings.first_offset : changes.back().offset;
    const bool is_later = changes.empty() || change.at > changes.back().at;
    if (is_later && change.offset != before) changes.push_back(change);
  }
  int first = last + 1;
  while (changes.size() >= 2 && *(changes.end() - 2) == by_rule(first - 1, 0) &&
         changes.back() == by_rule(first - 1, 1)) {
    changes.resize(changes.size() - 2);
    --first;
  }
  yearly.first_year = first;
  settings.yearly = yearly;
}

}  // namespace

const char* describe(TzifError error) noexcept {
  switch (error) {
    case TzifError::not_tzif: return "is no TZif file";
    case TzifError::old: return "is a TZif file of version 1; expected 2 or later";
    case TzifError::cut_short: return "is cut short";
    case TzifError::odd: return "has counts or leap seconds that no zone of ours has";
    case TzifError::unknown_rule:
      return "ends with a rule other than two changes a year by month, week and weekday";
    case TzifError::no_zone: return "has offsets or changes that no clock has";
  }
  return "";
}

Expected<TimeZone, TzifError> read_tzif(std::string_view bytes) {
  const auto old_header = read_header(bytes);
  if (!old_header) return old_header.error();
  const std::size_t second = header_size + old_header->block_size(4);
  if (second > bytes.size()) return TzifError::cut_short;
  bytes.remove_prefix(second);
  const auto header = read_header(bytes);
  if (!header) return header.error();
  bytes.remove_prefix(header_size);
  const std::size_t size = header->block_size(8);
  if (size >= bytes.size()) return TzifError::cut_short;
  auto settings = read_block(*header, bytes.substr(0, size));
  if (!settings || bytes[size] != '\n') return TzifError::odd;
  const std::string_view footer = bytes.substr(size + 1);
  if (footer.empty() || footer.back() != '\n') return TzifError::cut_short;
  const auto rule = read_posix_rule(footer.substr(0, footer.size() - 1));
  if (!rule) return TzifError::unknown_rule;
  if (rule->yearly) go_on(*settings, *rule->yearly);
  auto zone = TimeZone::configure(*std::move(settings));
  if (!zone) return TzifError::no_zone;
  return std::move(zone).value();
}

TimeZone forgetting_before(int year, const TimeZone& zone) {
  using namespace std::chrono;
  const Instant from{sys_days{std::chrono::year{year} / January / 1}.time_since_epoch()};
  TimeZone::Settings settings = zone.settings();
  settings.first_offset = zone.offset_at(from);
  std::erase_if(settings.changes, [&](const auto& change) { return change.at <= from; });
  if (settings.yearly) {
    settings.yearly->first_year = std::max(settings.yearly->first_year, year);
  }
  return TimeZone::configure(std::move(settings)).value();
}

}  // namespace weir
