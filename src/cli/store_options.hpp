// The options of weir serve on a store that servers share.
#pragma once

#include <CLI/App.hpp>
#include <array>
#include <optional>
#include <string>

#include "cli/input.hpp"
#include "server/options.hpp"

namespace weir::cli {

/// What was written behind them, as it was.
struct StoreSettings {
  std::string store;
  std::string deadline;
  std::string without_store;
  std::string members;
  std::string tls_ca;
  std::string tls_certificate;
  std::string tls_key;
};

void add_store_options(CLI::App& command, StoreSettings& settings);

/// Their page of help.
std::string store_help();

std::optional<InputError> read_store(const StoreSettings& settings, server::Options& options);

}  // namespace weir::cli
