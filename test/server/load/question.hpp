// What a load client asks a RESP server, and what it makes of the answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::load {

/// The forms that an answer can have.
enum class AnswerForm {
  throttle,  ///< CL.THROTTLE's five integers
  take,      ///< WEIR.TAKE's fields and values
  integer,   ///< one integer; every answer counts as an admission
};

/// A command around the place where a key goes.
struct Question {
  std::vector<std::string> before_key;
  std::vector<std::string> after_key{};
  AnswerForm form = AnswerForm::throttle;
};

struct ThrottleLimit {
  std::int64_t max_burst = 15;
  std::int64_t count = 30;
  std::int64_t period_s = 60;
};

Question throttle(const ThrottleLimit& limit);
/// `limit` in weir's grammar.
Question take(const std::string& limit);

/// A Question in RESP, ready to be joined around any key.
class EncodedQuestion {
 public:
  explicit EncodedQuestion(const Question& question);
  void append(std::string& out, std::string_view key) const;

 private:
  std::string head_;
  std::string tail_;
};

struct Answer {
  bool admitted = false;
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  /// In the answer's own unit: seconds of CL.THROTTLE, microseconds of WEIR.TAKE. -1: never, or
  /// there is nothing to retry.
  std::int64_t retry_after = -1;
  std::int64_t reset_after = 0;
  std::int64_t value = 0;  ///< of an integer answer

  bool operator==(const Answer&) const = default;
};

enum class Reading {
  complete,
  incomplete,  ///< more bytes must come
  refused,     ///< an error reply, or bytes that are no answer of the awaited form
};

struct ReadAnswer {
  Reading reading = Reading::incomplete;
  std::size_t consumed = 0;  ///< bytes of the complete answer
  Answer answer{};
  std::string complaint{};  ///< of a refused one
};

/// Reads the first answer in `bytes`.
ReadAnswer read_answer(std::string_view bytes, AnswerForm form);

/// What no limiter may answer, if this is such an answer: more remaining than the limit, less than
/// nothing, or a denial that invites to retry at once. (CL.THROTTLE rounds what is less than a
/// millisecond down to 0 seconds, as redis-cell does.)
std::optional<std::string> absurdity(const Answer& answer, AnswerForm form);

}  // namespace weir::load
