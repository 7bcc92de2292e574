#include <algorithm>
#include <memory>
#include <ostream>
#include <thread>

#include "cli/input.hpp"
#include "cli/machine.hpp"
#include "cli/server_verbs.hpp"
#include "cli/store_health.hpp"
#include "cli/store_reach.hpp"
#include "wire/json.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help =
    R"(Whether this machine is ready for a server, or a Redis for limits: findings.

Examples:
  weir doctor
  weir doctor --max-keys 10M --max-connections 50k --threads 8
  weir doctor redis://limiter@127.0.0.1:6379?password-file=/etc/weir/password

Usage: weir doctor [OPTION...]
       weir doctor URL [--json] [--tls-ca FILE]

  --resp HOST:PORT      where the server would listen (127.0.0.1:7379)
  --metrics HOST:PORT   and for metrics (127.0.0.1:7390), or "off"
  --threads N           as weir serve would be told (one for each processor)
  --max-keys N          (1M)
  --max-connections N   (10k)
  --json                {"health":...,"findings":[...]}

Each finding says how to mend it. Of this machine nothing is changed; in a Redis
the scripts are tried on keys of their own, which expire within two seconds.
Exit codes: 0 ok or warnings; 1 something fails; 2 bad usage or input; 3 no
Redis answers.
)";

struct Wishes {
  Plan plan;
  std::string store;  ///< the URL; empty: this machine
  std::string tls_ca;
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
  wire::Json list = wire::Json::array();
  for (const Finding& finding : findings) {
    list.element(wire::Json::object()
                     .member("health", name(finding.health))
                     .member("subject", finding.subject)
                     .member("seen", finding.seen)
                     .member("mend", finding.mend));
  }
  out << wire::Json::object()
             .member("health", name(worst(findings)))
             .member("findings", list)
             .text()
      << '\n';
}

ExitCode print(const std::vector<Finding>& findings, const Wishes& wishes, std::ostream& out) {
  if (wishes.json) {
    print_as_json(findings, out);
  } else {
    print_as_text(findings, out);
  }
  return worst(findings) == Health::fail ? ExitCode::refused : ExitCode::ok;
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
  return print(examine(this_machine(), plan), wishes, console.out);
}

ExitCode examine_redis(const Wishes& wishes, const Console& console) {
  auto reached = reach_store({.url = wishes.store, .tls_ca = wishes.tls_ca});
  if (!reached) {
    report(console.err, {reached.error().message});
    return reached.error().code;
  }
  return print(examine_store(*reached), wishes, console.out);
}

}  // namespace

Verb add_doctor(CLI::App& weir) {
  const auto wishes = std::make_shared<Wishes>();
  CLI::App* command =
      weir.add_subcommand("doctor", "whether this machine, or a Redis, is ready for limits");
  command->add_option("URL", wishes->store);
  command->add_option("--tls-ca", wishes->tls_ca)->type_name("FILE");
  command->add_option("--resp", wishes->plan.resp);
  command->add_option("--metrics", wishes->plan.metrics);
  command->add_option("--threads", wishes->threads);
  command->add_option("--max-keys", wishes->max_keys);
  command->add_option("--max-connections", wishes->max_connections);
  command->add_flag("--json", wishes->json);
  return {command, help, "", [wishes](const Console& console) {
            return wishes->store.empty() ? examine_this(*wishes, console)
                                         : examine_redis(*wishes, console);
          }};
}

}  // namespace weir::cli
