#include "limit/state_form.hpp"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

using Form = std::vector<std::int64_t>;
using Fields = std::span<const std::int64_t>;

constexpr std::int64_t farthest = std::int64_t{1} << 53;
/// Stands for Instant::min(): never seen.
constexpr std::int64_t field_of_never = -farthest;

/// What a form begins with: the same within several terms and alone, and never another's.
template <typename State>
constexpr std::int64_t tag = -1;
template <>
constexpr std::int64_t tag<Gcra::State> = 0;
template <>
constexpr std::int64_t tag<LeakyBucket::State> = 1;
template <>
constexpr std::int64_t tag<FixedWindow::State> = 2;
template <>
constexpr std::int64_t tag<SlidingWindow::State> = 3;
template <>
constexpr std::int64_t tag<SlidingLog::State> = 4;
template <>
constexpr std::int64_t tag<Box<Limit::Composite::State>> = 5;
template <>
constexpr std::int64_t tag<Concurrency::State> = 6;
template <>
constexpr std::int64_t tag<CalendarWindow::State> = 7;

// ---- Writing ----

std::int64_t field_of(Instant instant) noexcept {
  return std::clamp(instant.time_since_epoch().count(), field_of_never, farthest);
}

void write(const Gcra::State& state, Form& form) {
  form.insert(form.end(), {field_of(state.repaid_at.whole), state.repaid_at.rest});
}
void write(const LeakyBucket::State& state, Form& form) {
  form.insert(form.end(), {field_of(state.drained_at.whole), state.drained_at.rest});
}
template <typename Numbers>
void write(const CountedState<Numbers>& state, Form& form) {
  form.insert(form.end(), {field_of(state.window), state.used});
}
void write(const SlidingWindow::State& state, Form& form) {
  form.push_back(field_of(state.newest));
  const auto counts = state.counts.values();
  form.insert(form.end(), counts.begin(), counts.end());
}
void write(const SlidingLog::State& state, Form& form) {
  for (std::uint32_t at = 0; at < state.size; ++at) form.push_back(field_of(state[at]));
}

void write(const Concurrency::State& state, Form& form) {
  if (state.cells.empty()) return;
  form.insert(form.end(), {static_cast<std::int64_t>(state.latest()), field_of(state.granted_at()),
                           state.weight()});
  for (std::uint32_t at = 0; at < state.size; ++at) {
    const Concurrency::Entry entry = state[at];
    form.insert(form.end(),
                {field_of(entry.leaves_at), static_cast<std::int64_t>(entry.permit), entry.weight});
  }
}

template <typename State>
void write_any(const State& state, Form& form);

void write(const Box<Limit::Composite::State>& state, Form& form) {
  for (const auto& term : state.get().terms) {
    form.push_back(field_of(term.blocked_until));
    const std::size_t length = form.size();
    form.push_back(0);
    write_any(term.inner, form);
    form[length] = static_cast<std::int64_t>(form.size() - length - 1);
  }
}

template <typename State>
void write_any(const State& state, Form& form) {
  std::visit(
      [&]<typename Chosen>(const Chosen& chosen) {
        form.push_back(tag<Chosen>);
        write(chosen, form);
      },
      state);
}

// ---- Reading ----

bool is_instant(std::int64_t field) noexcept {
  return field >= field_of_never && field <= farthest;
}
bool is_count(std::int64_t field) noexcept { return field >= 0 && field <= longest_span.count(); }

Instant instant_of(std::int64_t field) noexcept {
  return field == field_of_never ? Instant::min() : Instant{Span{field}};
}

std::optional<FineInstant> read_fine(Fields fields) {
  if (fields.size() != 2 || !is_instant(fields[0]) || fields[1] < 0 || fields[1] >= farthest) {
    return {};
  }
  return FineInstant{instant_of(fields[0]), fields[1]};
}

bool read(Fields fields, Gcra::State& state) {
  const auto repaid_at = read_fine(fields);
  if (repaid_at) state.repaid_at = *repaid_at;
  return repaid_at.has_value();
}
bool read(Fields fields, LeakyBucket::State& state) {
  const auto drained_at = read_fine(fields);
  if (drained_at) state.drained_at = *drained_at;
  return drained_at.has_value();
}
template <typename Numbers>
bool read_counter(Fields fields, CountedState<Numbers>& state) {
  if (fields.size() != 2 || !is_instant(fields[0]) || !is_count(fields[1])) return false;
  state = {instant_of(fields[0]), fields[1]};
  return true;
}
bool read(Fields fields, FixedWindow::State& state) { return read_counter(fields, state); }
bool read(Fields fields, CalendarWindow::State& state) { return read_counter(fields, state); }
bool read(Fields fields, SlidingWindow::State& state) {
  if (fields.empty() || !is_instant(fields[0])) return false;
  const Fields counts = fields.subspan(1);
  if (counts.size() > SlidingWindow::most_parts + 1) return false;
  if (!std::all_of(counts.begin(), counts.end(), is_count)) return false;
  state.newest = instant_of(fields[0]);
  if (counts.empty()) return true;
  state.counts = Cells(counts.size());
  std::copy(counts.begin(), counts.end(), state.counts.values().begin());
  return true;
}
bool read(Fields fields, SlidingLog::State& state) {
  if (fields.size() > SlidingLog::most_entries) return false;
  if (!std::all_of(fields.begin(), fields.end(), is_instant)) return false;
  if (!std::is_sorted(fields.begin(), fields.end())) return false;
  if (fields.empty()) return true;
  state.ring = Cells(fields.size());
  std::copy(fields.begin(), fields.end(), state.ring.values().begin());
  state.size = static_cast<std::uint32_t>(fields.size());
  return true;
}

bool read(Fields fields, Concurrency::State& state) {
  if (fields.empty()) return true;
  constexpr std::size_t front = 3;
  constexpr std::size_t width = 3;
  if (fields.size() < front || (fields.size() - front) % width != 0) return false;
  const std::size_t permits = (fields.size() - front) / width;
  if (permits > Concurrency::most_permits) return false;
  const std::int64_t latest = fields[0];
  if (latest < 1 || latest >= farthest || !is_instant(fields[1])) return false;
  state.cells = Cells(Concurrency::cells_for(permits));
  state.cells[0] = latest;
  state.cells[1] = fields[1];
  for (std::size_t at = 0; at < permits; ++at) {
    const Fields entry = fields.subspan(front + at * width, width);
    const bool in_order = at == 0 || entry[0] >= fields[front + (at - 1) * width];
    if (!is_instant(entry[0]) || !in_order || entry[1] < 1 || entry[1] > latest) return false;
    if (entry[2] < 1 || entry[2] > Concurrency::most_permits) return false;
    state.put(state.size++, {Instant{Span{entry[0]}}, PermitId{entry[1]}, entry[2]});
    state.cells[2] += entry[2];
  }
  return state.cells[2] == fields[2];
}

template <typename State>
bool read_any(Fields form, State& state);

bool read(Fields fields, Box<Limit::Composite::State>& state) {
  auto& terms = state.open().terms;
  while (!fields.empty()) {
    if (terms.size() == most_terms || fields.size() < 2 || !is_instant(fields[0])) return false;
    const std::int64_t length = fields[1];
    if (length < 0 || static_cast<std::uint64_t>(length) > fields.size() - 2) return false;
    auto& term = terms.emplace_back();
    term.blocked_until = instant_of(fields[0]);
    const auto size = static_cast<std::size_t>(length);
    if (!read_any(fields.subspan(2, size), term.inner)) return false;
    fields = fields.subspan(2 + size);
  }
  return true;
}

/// Reads the alternative whose tag the form begins with.
template <typename... States>
bool read_tagged(Fields form, std::variant<States...>& state) {
  const auto is_read = [&]<typename Chosen>(Chosen&& chosen) {
    if (form[0] != tag<Chosen> || !read(form.subspan(1), chosen)) return false;
    state = std::forward<Chosen>(chosen);
    return true;
  };
  return (is_read(States{}) || ...);
}

template <typename State>
bool read_any(Fields form, State& state) {
  return !form.empty() && read_tagged(form, state);
}

}  // namespace

void write_form(const Limit::State& state, std::vector<std::int64_t>& form) {
  write_any(state, form);
}

std::optional<Limit::State> read_form(std::span<const std::int64_t> form) {
  Limit::State state;
  if (!read_any(form, state)) return {};
  return state;
}

}  // namespace weir
