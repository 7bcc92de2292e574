#include <iostream>

#include "cli/command_line.hpp"
#include "cli/server_verbs.hpp"
#include "cli/verbs.hpp"

int main(int argc, char** argv) {
  using namespace weir::cli;
  constexpr std::array verbs{
      add_serve,   add_simulate, add_simulate_service, add_explain,    add_take,
      add_peek,    add_reset,    add_doctor,           add_top,        add_check,
      add_convert, add_lua,      add_module,           add_completion, add_man,
      add_version};
  std::ios::sync_with_stdio(false);
  const Console console{std::cout, std::cerr, screen_in(surroundings())};
  return static_cast<int>(run({argv + 1, argv + argc}, verbs, console));
}
