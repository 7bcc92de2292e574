#include <algorithm>
#include <memory>
#include <ostream>
#include <thread>

#include "cli/input.hpp"
#include "cli/json.hpp"
#include "cli/machine.hpp"
#include "cli/server_verbs.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help =
    R"(Whether this machine is ready for a server: a line a finding, with a mend.

Examples:
  weir doctor
  weir doctor --max-keys 10M --max-connections 50k --threads 8
  weir doctor --json

Usage: weir doctor [OPTION...]

  --resp HOST:PORT      where the server would listen (127.0.0.1:7379)
  --metrics HOST:PORT   and for metrics (127.0.0.1:7390), or "off"
  --threads N           as weir serve would be told (one for each processor)
  --max-keys N          (1M)
  --max-connections N   (10k)
  --json                {"health":...,"findings":[...]}

Looks at addresses, descriptors, the kernel's queues, clocks, memory and
processors, and changes nothing. A server that runs already is no fault.
Exit codes: 0 ok or warnings; 1 something fails; 2 bad usage or input.
)";

struct Wishes {
  Plan plan;
  std::string threads;
  std::string max_keys;
  std::string max_connections;
  bool json = false;
};

struct Size {
  const char* name;
  const std::string& text;
  std::size_t& size;
};

void print_as_text(const std::vector<Finding>& findings, std::ostream& out) {
  std::size_t widest = 0;
  for (const Finding& finding : findings) widest = std::max(widest, finding.subject.size());
  for (const Finding& finding : findings) {
    std::string line = name(finding.health);
    line.resize(6, ' ');
    line += finding.subject;
    line.resize(6 + widest + 2, ' ');
    line += finding.seen;
    if (!finding.mend.empty()) line += "; mend: " + finding.mend;
    out << line << '\n';
  }
}

void print_as_json(const std::vector<Finding>& findings, std::ostream& out) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.element(Json::object()
                     .member("health", name(finding.health))
                     .member("subject", finding.subject)
                     .member("seen", finding.seen)
                     .member("mend", finding.mend));
  }
  out << Json::object().member("health", name(worst(findings))).member("findings", list).text()
      << '\n';
}

ExitCode examine_this(const Wishes& wishes, const Console& console) {
  Plan plan = wishes.plan;
  plan.threads = std::max(1U, std::thread::hardware_concurrency());
  for (const Size& size :
       {Size{"--threads", wishes.threads, plan.threads},
        Size{"--max-keys", wishes.max_keys, plan.max_keys},
        Size{"--max-connections", wishes.max_connections, plan.max_connections}}) {
    if (const auto error = read_size({.name = size.name, .text = size.text}, size.size)) {
      report(console.err, *error);
      return ExitCode::bad_input;
    }
  }
  const std::vector<Finding> findings = examine(this_machine(), plan);
  if (wishes.json) {
    print_as_json(findings, console.out);
  } else {
    print_as_text(findings, console.out);
  }
  return worst(findings) == Health::fail ? ExitCode::refused : ExitCode::ok;
}

}  // namespace

Verb add_doctor(CLI::App& weir) {
  const auto wishes = std::make_shared<Wishes>();
  CLI::App* command = weir.add_subcommand("doctor", "whether this machine is ready for a server");
  command->add_option("--resp", wishes->plan.resp);
  command->add_option("--metrics", wishes->plan.metrics);
  command->add_option("--threads", wishes->threads);
  command->add_option("--max-keys", wishes->max_keys);
  command->add_option("--max-connections", wishes->max_connections);
  command->add_flag("--json", wishes->json);
  return {command, help, "",
          [wishes](const Console& console) { return examine_this(*wishes, console); }};
}

}  // namespace weir::cli
