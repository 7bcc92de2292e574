// The files of scripts/, as the build put them into the program.
#pragma once

#include <string_view>

namespace weir::redis {

/// The text of scripts/NAME.lua; empty where there is no such file.
std::string_view script_piece(std::string_view name) noexcept;

}  // namespace weir::redis
