// Runs rows of the fault matrix, and prints their figures: ./do faults [NAME...].
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "test/fault/store/process_rows.hpp"
#include "test/fault/store/rows.hpp"

namespace weir::test {
namespace {

constexpr const char* usage =
    "weir_faults [--short] [--json FILE] [NAME...]\n"
    "NAMEs are rows, as F4; without any, all are run. --short: as long as a change's tests are.\n";

std::vector<Row> all_rows() {
  std::vector<Row> all;
  for (const auto& rows : {rows_of_processes, rows_of_one_server, rows_of_a_cluster,
                           rows_of_replicas, rows_of_scripts, rows_of_a_network, rows_of_clocks}) {
    for (Row& row : rows()) all.push_back(std::move(row));
  }
  return all;
}

struct Wanted {
  Scale scale{.before = std::chrono::seconds{1},
              .fault = std::chrono::seconds{4},
              .after = std::chrono::seconds{3},
              .probe_every = std::chrono::seconds{1},
              .grace = std::chrono::milliseconds{50}};
  std::string json_file{};
  std::vector<Row> rows{};
};

Wanted read(std::span<char* const> arguments) {
  Wanted wanted;
  std::vector<Row> known = all_rows();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (argument == "--short") {
      wanted.scale = {};
    } else if (argument == "--json" && i + 1 < arguments.size()) {
      wanted.json_file = arguments[++i];
    } else {
      const auto row = std::find_if(known.begin(), known.end(),
                                    [&](const Row& each) { return each.name == argument; });
      if (row == known.end()) throw std::runtime_error("there is no row " + argument);
      wanted.rows.push_back(*row);
    }
  }
  if (wanted.rows.empty()) wanted.rows = std::move(known);
  return wanted;
}

Figures run(const Row& row, const Scale& scale) {
  Figures figures;
  try {
    figures = row.run(scale);
  } catch (const std::exception& error) {
    figures.broken.emplace_back(error.what());
  }
  figures.row = row.name;
  figures.fault = row.fault;
  for (const std::string& promise : figures.broken) {
    std::cerr << row.name << ": NOT KEPT: " << promise << "\n";
  }
  std::cerr << json({figures}) << std::flush;
  return figures;
}

int run_wanted(std::span<char* const> arguments) {
  const Wanted wanted = read(arguments);
  std::vector<Figures> results;
  for (const Row& row : wanted.rows) results.push_back(run(row, wanted.scale));
  std::cout << markdown(results);
  if (!wanted.json_file.empty()) std::ofstream(wanted.json_file) << json(results);
  const bool kept =
      std::all_of(results.begin(), results.end(), [](const Figures& each) { return each.kept(); });
  return kept ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace weir::test

int main(int count, char** words) {
  const std::span<char* const> arguments(words + 1, static_cast<std::size_t>(count - 1));
  if (!arguments.empty() && std::string(arguments[0]) == "--worker") {
    return weir::test::work(arguments.subspan(1));
  }
  try {
    return weir::test::run_wanted(arguments);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n" << weir::test::usage;
    return EXIT_FAILURE;
  }
}
