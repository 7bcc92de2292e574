#include "test/server/load/question.hpp"

#include <array>
#include <charconv>
#include <span>

namespace weir::load {
namespace {

void append_bulk(std::string& out, std::string_view text) {
  out += '$';
  out += std::to_string(text.size());
  out += "\r\n";
  out += text;
  out += "\r\n";
}

std::optional<std::int64_t> integer_in(std::string_view text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

/// One reply, with an array's items side by side. Arrays in arrays are none of ours.
struct Reply {
  Reading reading = Reading::incomplete;
  char kind = '\0';
  std::array<std::string_view, 32> storage{};
  std::size_t count = 0;
  std::size_t consumed = 0;

  std::span<const std::string_view> items() const { return {storage.data(), count}; }
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Reply reply() {
    Reply reply;
    const auto first = line();
    if (!first) return reply;
    reply.reading = Reading::refused;
    if (first->empty()) return reply;
    reply.kind = first->front();
    std::size_t awaited = 1;
    if (reply.kind == '*') {
      const auto size = integer_in(first->substr(1));
      if (!size || *size < 0 || static_cast<std::size_t>(*size) > reply.storage.size())
        return reply;
      awaited = static_cast<std::size_t>(*size);
    } else {
      at_ = 0;
    }
    for (; reply.count < awaited; ++reply.count) {
      const auto [reading, text] = item();
      reply.storage[reply.count] = text;
      if (reading != Reading::complete) {
        reply.reading = reading;
        return reply;
      }
    }
    reply.reading = Reading::complete;
    reply.consumed = at_;
    return reply;
  }

 private:
  struct Item {
    Reading reading;
    std::string_view text;
  };

  std::optional<std::string_view> line() {
    const std::size_t end = bytes_.find("\r\n", at_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view found = bytes_.substr(at_, end - at_);
    at_ = end + 2;
    return found;
  }

  Item item() {
    const auto head = line();
    if (!head) return {Reading::incomplete, {}};
    if (head->empty()) return {Reading::refused, {}};
    const std::string_view text = head->substr(1);
    switch (head->front()) {
      case ':':
      case '+': return {Reading::complete, text};
      case '-': return {Reading::refused, text};
      case '$': break;
      default: return {Reading::refused, *head};
    }
    const auto size = integer_in(text);
    if (size && *size == -1) return {Reading::complete, {}};
    if (!size || *size < 0) return {Reading::refused, *head};
    const auto length = static_cast<std::size_t>(*size);
    if (bytes_.size() - at_ < length + 2) return {Reading::incomplete, {}};
    const std::string_view bulk = bytes_.substr(at_, length);
    at_ += length + 2;
    return {Reading::complete, bulk};
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

using Items = std::span<const std::string_view>;

std::optional<Answer> throttle_answer(Items items) {
  if (items.size() != 5) return std::nullopt;
  std::array<std::int64_t, 5> numbers{};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto number = integer_in(items[i]);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  if (numbers[0] != 0 && numbers[0] != 1) return std::nullopt;
  return Answer{.admitted = numbers[0] == 0,
                .limit = numbers[1],
                .remaining = numbers[2],
                .retry_after = numbers[3],
                .reset_after = numbers[4]};
}

std::optional<std::string_view> field(Items items, std::string_view name) {
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i] == name) return items[i + 1];
  }
  return std::nullopt;
}

std::optional<Answer> take_answer(Items items) {
  if (items.size() % 2 != 0) return std::nullopt;
  const auto verdict = field(items, "verdict");
  if (!verdict) return std::nullopt;
  const bool taken = *verdict == "granted" || *verdict == "deferred";
  if (!taken && *verdict != "denied" && *verdict != "impossible") return std::nullopt;
  const auto number = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto text = field(items, name);
    return text ? integer_in(*text) : std::nullopt;
  };
  const auto limit = number("limit");
  const auto remaining = number("remaining");
  const auto retry_after = number("retry_after_us");
  const auto reset_after = number("reset_after_us");
  if (!limit || !remaining || !retry_after || !reset_after) return std::nullopt;
  if (!number("ready_after_us") || !field(items, "grant")) return std::nullopt;
  return Answer{.admitted = taken,
                .limit = *limit,
                .remaining = *remaining,
                .retry_after = *retry_after,
                .reset_after = *reset_after};
}

std::optional<Answer> answer_in(const Reply& reply, AnswerForm form) {
  switch (form) {
    case AnswerForm::throttle: return throttle_answer(reply.items());
    case AnswerForm::take: return take_answer(reply.items());
    case AnswerForm::integer: break;
  }
  const auto value = reply.kind == ':' ? integer_in(reply.storage[0]) : std::nullopt;
  if (!value) return std::nullopt;
  return Answer{.admitted = true, .value = *value};
}

}  // namespace

Question throttle(const ThrottleLimit& limit) {
  return {.before_key = {"CL.THROTTLE"},
          .after_key = {std::to_string(limit.max_burst), std::to_string(limit.count),
                        std::to_string(limit.period_s)},
          .form = AnswerForm::throttle};
}

Question take(const std::string& limit) {
  return {.before_key = {"WEIR.TAKE"}, .after_key = {limit}, .form = AnswerForm::take};
}

EncodedQuestion::EncodedQuestion(const Question& question) {
  head_ = '*' + std::to_string(question.before_key.size() + 1 + question.after_key.size()) + "\r\n";
  for (const std::string& argument : question.before_key) append_bulk(head_, argument);
  for (const std::string& argument : question.after_key) append_bulk(tail_, argument);
}

void EncodedQuestion::append(std::string& out, std::string_view key) const {
  out += head_;
  append_bulk(out, key);
  out += tail_;
}

ReadAnswer read_answer(std::string_view bytes, AnswerForm form) {
  const Reply reply = Reader(bytes).reply();
  if (reply.reading == Reading::incomplete) return {};
  if (reply.reading == Reading::complete) {
    if (const auto answer = answer_in(reply, form)) {
      return {.reading = Reading::complete, .consumed = reply.consumed, .answer = *answer};
    }
  }
  return {.reading = Reading::refused, .complaint = std::string(bytes.substr(0, 200))};
}

std::optional<std::string> absurdity(const Answer& answer, AnswerForm form) {
  if (form == AnswerForm::integer) return std::nullopt;
  if (answer.remaining < 0) return "remaining below 0: " + std::to_string(answer.remaining);
  if (answer.remaining > answer.limit) {
    return "remaining " + std::to_string(answer.remaining) + " above limit " +
           std::to_string(answer.limit);
  }
  if (form == AnswerForm::take && !answer.admitted && answer.retry_after == 0)
    return "denied, and retry after 0";
  return std::nullopt;
}

}  // namespace weir::load
