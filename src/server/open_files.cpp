#include "server/open_files.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace weir::server {

std::size_t make_room_for(std::size_t clients, Log& log) {
  constexpr rlim_t others = 256;  // listeners, logs, /metrics and its visitors, the event loops
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return clients;
  const rlim_t wanted = clients + others;
  if (files.rlim_cur < wanted) {
    files.rlim_cur = std::min(wanted, files.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &files);
    ::getrlimit(RLIMIT_NOFILE, &files);
  }
  if (files.rlim_cur >= wanted) return clients;
  const std::size_t room = files.rlim_cur > 2 * others ? files.rlim_cur - others
                                                       : std::max<rlim_t>(1, files.rlim_cur / 2);
  const auto number = [](auto value) { return static_cast<std::int64_t>(value); };
  log.write(LogKind::few_files, {{"clients", number(room)},
                                 {"wanted", number(clients)},
                                 {"files", number(files.rlim_cur)},
                                 {"mend", "raise ulimit -Hn or lower --max-connections"}});
  return room;
}

}  // namespace weir::server
