// Rule files as they lie on a disk.
#pragma once

#include <string>
#include <vector>

#include "gateway/rule_set.hpp"

namespace weir::gateway {

/// Files, and folders whose *.yaml and *.yml are meant; what begins with a dot is passed over, as
/// the folders that Kubernetes keeps beside a ConfigMap's files.
using RulePaths = std::vector<std::string>;

/// The domains of all files. Errors name the file and the place: one that cannot be read, is no
/// rule file, or has a domain that another has already; a folder without rule files.
Expected<std::vector<Domain>, std::string> read_rule_files(const RulePaths& paths);

/// What tells that files have changed: each file's real path, size and time, as one text. A file
/// that is not there is part of it as such.
std::string stamps_of(const RulePaths& paths);

}  // namespace weir::gateway
