// The rows of the fault matrix: what is done to a store, and what its callers see.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "test/fault/store/drill.hpp"

namespace weir::test {

struct Row {
  std::string name;
  std::string fault;
  std::function<Figures(const Scale&)> run;
};

std::vector<Row> rows_of_one_server();
std::vector<Row> rows_of_scripts();
std::vector<Row> rows_of_a_network();
std::vector<Row> rows_of_replicas();
std::vector<Row> rows_of_a_cluster();
std::vector<Row> rows_of_clocks();
std::vector<Row> rows_of_processes();

inline std::string url_of(int port) { return "redis://127.0.0.1:" + std::to_string(port); }

}  // namespace weir::test
