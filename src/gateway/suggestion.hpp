// What somebody meant who wrote a word that nobody knows.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir::gateway {

/// "; did you mean 'x'?" where one of the known words is near the given one, else nothing. It ends
/// a sentence that says what is wrong.
std::string suggestion(std::string_view given, std::span<const std::string_view> known);

}  // namespace weir::gateway
