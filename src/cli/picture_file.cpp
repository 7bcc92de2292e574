#include "cli/picture_file.hpp"

#include <cerrno>
#include <fstream>
#include <ostream>
#include <system_error>

#include "cli/input.hpp"

namespace weir::cli {

ExitCode write(const PictureFile& file, const Console& console) {
  if (file.path == "-") {
    console.out << file.picture;
    return ExitCode::ok;
  }
  std::ofstream out(file.path, std::ios::binary | std::ios::trunc);
  out << file.picture;
  out.close();
  if (!out) {
    report(console.err, {"cannot write '" + printable(file.path) +
                         "': " + std::generic_category().message(errno)});
    return ExitCode::bad_input;
  }
  return ExitCode::ok;
}

}  // namespace weir::cli
