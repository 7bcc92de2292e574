#include "gateway/rule_files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "gateway/rule_file.hpp"

namespace weir::gateway {
namespace {

namespace fs = std::filesystem;

struct Unread {
  std::string why;
};

bool is_rule_file(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string extension = path.extension().string();
  return !name.starts_with('.') && (extension == ".yaml" || extension == ".yml");
}

/// The files that the paths mean, in their order, those of a folder by name.
std::vector<std::string> files_of(const RulePaths& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      if (is_rule_file(at->path())) inside.push_back(at->path().string());
    }
    if (error) throw Unread{path + ": " + error.message()};
    if (inside.empty()) throw Unread{path + ": a folder without *.yaml; expected rule files in it"};
    std::ranges::sort(inside);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::error_code opened(file ? 0 : errno, std::generic_category());
  if (!file) throw Unread{path + ": " + opened.message()};
  // One byte more than a rule file may have shows that it has too many.
  std::string text(YamlLimits{}.bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw Unread{path + ": cannot be read"};
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

Expected<std::vector<Domain>, std::string> read_rule_files(const RulePaths& paths) {
  try {
    std::vector<Domain> domains;
    std::map<std::string, std::string> file_of;
    for (const std::string& path : files_of(paths)) {
      auto domain = read_rule_file(text_of_file(path));
      if (!domain) return told(path, domain.error());
      const auto [known, fresh] = file_of.emplace(domain->name, path);
      if (!fresh) {
        return told(path, {domain->at, "the domain '" + domain->name + "' is that of " +
                                           known->second + " already"});
      }
      domains.push_back(std::move(domain).value());
    }
    return domains;
  } catch (const Unread& unread) {
    return unread.why;
  }
}

std::string stamps_of(const RulePaths& paths) {
  std::string stamps;
  try {
    for (const std::string& file : files_of(paths)) {
      std::error_code error;
      stamps += fs::canonical(file, error).string();
      const auto size = fs::file_size(file, error);
      const auto time = fs::last_write_time(file, error);
      stamps += error ? "?"
                      : '|' + std::to_string(size) + '|' +
                            std::to_string(time.time_since_epoch().count());
      stamps += '\n';
    }
  } catch (const Unread& unread) {
    stamps += unread.why;
  }
  return stamps;
}

}  // namespace weir::gateway
