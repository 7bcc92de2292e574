// The options of `weir serve` that say which certificates it shows and trusts.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cli/input.hpp"
#include "server/options.hpp"

namespace weir::cli {

void add_tls_options(CLI::App& command, server::TlsFileNames& files);

/// The page of --help-tls.
std::string tls_help();

/// TLS needs both files, and serves tls: addresses alone. Requires the addresses to be read.
std::optional<InputError> read_tls(const server::TlsFileNames& files, server::Options& options);

}  // namespace weir::cli
