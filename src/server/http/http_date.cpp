#include "server/http/http_date.hpp"

#include <fmt/format.h>

#include <chrono>

namespace weir::server {

void HttpDate::now(Instant instant) noexcept {
  using namespace std::chrono;
  const auto second = floor<seconds>(instant.time_since_epoch());
  if (second.count() == second_) return;
  second_ = second.count();
  constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const sys_seconds at{second};
  const auto midnight = floor<std::chrono::days>(at);
  const year_month_day date{midnight};
  const hh_mm_ss time{at - midnight};
  fmt::format_to_n(text_.data(), text_.size(), "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                   days[weekday{midnight}.c_encoding()], static_cast<unsigned>(date.day()),
                   months[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                   time.hours().count(), time.minutes().count(), time.seconds().count());
}

}  // namespace weir::server
