#include "test/fault/store/process_rows.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/fault/store/rows.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::test {
namespace {

constexpr int processes = 8;

/// As fast as its thread can.
Load::Settings load_of_worker(const std::string& url) {
  Load::Settings load;
  load.url = url;
  load.threads = 1;
  load.pace = std::chrono::microseconds{200};
  // The store is well, so nothing but it may decide: the machine's own pauses are waited out.
  load.policy.deadline = std::chrono::seconds{10};
  load.policy.members = processes;
  return load;
}

int start(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"weir_faults"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::execv("/proc/self/exe", pointers.data());
  ::_exit(127);
}

std::vector<Call> read_calls(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<Call> calls;
  Call call;
  while (file.read(reinterpret_cast<char*>(&call), sizeof call)) calls.push_back(call);
  return calls;
}

std::uint32_t number_of(std::string_view digits) {
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// A folder that goes with it.
struct Folder {
  std::string path = (std::filesystem::temp_directory_path() / "weir-calls-XXXXXX").string();
  Folder() {
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

/// Of calls that the store itself decided: what it had told before may be late by a reply's way.
history::History decided_now(const std::vector<Call>& calls) {
  history::History records;
  for (const Call& call : calls) {
    if (call.of != Call::Of::bucket || (call.source != redis::Source::store && !call.admitted)) {
      continue;
    }
    records.push_back({.client = call.client,
                       .key = call.key,
                       .called_at_ns = call.called_at_ns,
                       .returned_at_ns = call.returned_at_ns,
                       .admitted = call.admitted});
  }
  return records;
}

Figures eight_processes(const Scale& scale) {
  const wire::RedisServer server;
  const std::string url = url_of(server.port());
  const Folder folder;
  const auto file = [&](int number) { return folder.path + "/" + std::to_string(number); };
  const std::string lasts = std::to_string((scale.before + scale.fault + scale.after).count());
  std::array<int, processes> children{};
  for (int i = 0; i < processes; ++i) {
    children[static_cast<std::size_t>(i)] =
        start({"--worker", url, std::to_string(i), lasts, file(i)});
  }
  Figures figures;
  for (const int child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    require(figures, "each process ends well", [&] { return status == 0; });
  }
  std::vector<Call> calls;
  for (int i = 0; i < processes; ++i) {
    const auto own = read_calls(file(i));
    calls.insert(calls.end(), own.begin(), own.end());
  }
  count(figures, calls);
  judge_excess(figures, calls);
  require(figures, "the store alone decides", [&] { return figures.by_policy == 0; });
  const auto denials = history::check_denials(decided_now(calls), Asked::bucket);
  figures.notes.emplace_back("wrong denials", std::to_string(denials.violations));
  require(figures, "I5: nothing denied that had room", [&] { return denials.kept(); });
  balance(figures, calls, charged(url));
  return figures;
}

}  // namespace

int work(std::span<char* const> arguments) {
  if (arguments.size() != 4) return EXIT_FAILURE;
  Load::Settings settings = load_of_worker(arguments[0]);
  settings.first_client = number_of(arguments[1]);
  Load load(settings);
  std::this_thread::sleep_for(std::chrono::milliseconds{number_of(arguments[2])});
  const std::vector<Call> calls = load.stop();
  std::ofstream file(arguments[3], std::ios::binary);
  file.write(reinterpret_cast<const char*>(calls.data()),
             static_cast<std::streamsize>(calls.size() * sizeof(Call)));
  return file.good() ? EXIT_SUCCESS : EXIT_FAILURE;
}

std::vector<Row> rows_of_processes() {
  return {{"I3", "none: eight processes, a store that is well", eight_processes}};
}

}  // namespace weir::test
