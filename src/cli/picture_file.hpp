// Where a picture goes.
#pragma once

#include <string>

#include "cli/verb.hpp"

namespace weir::cli {

struct PictureFile {
  std::string path;  ///< "-": the console's output
  std::string picture;
};

ExitCode write(const PictureFile& file, const Console& console);

}  // namespace weir::cli
