#include "server/snapshot_keeper.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

namespace weir::server {
namespace {

std::int64_t whole(std::uint64_t number) { return static_cast<std::int64_t>(number); }

}  // namespace

SnapshotKeeper::SnapshotKeeper(Service& service, const SnapshotOptions& options)
    : service_(service), options_(options) {
  service_.metrics.snapshot.kept = !options_.path.empty();
}

SnapshotKeeper::~SnapshotKeeper() { stop(); }

std::optional<StartError> SnapshotKeeper::cannot_write(const SnapshotOptions& options) {
  if (options.path.empty()) return {};
  const auto parent = std::filesystem::path(options.path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  std::error_code unknown;
  if (std::filesystem::is_directory(options.path, unknown)) {
    return StartError{"--snapshot: " + options.path + " is a folder; name a file"};
  }
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return StartError{"--snapshot: the folder " + folder +
                    " cannot be written: " + std::generic_category().message(errno)};
}

void SnapshotKeeper::read() {
  std::error_code unknown;
  if (options_.path.empty() || !std::filesystem::exists(options_.path, unknown)) return;
  const Instant now = service_.clock.now();
  const auto read = read_snapshot(options_.path, service_.rules, service_.table, now);
  if (read) {
    const Span age = now - read->written_at;
    service_.log.write(LogKind::snapshot_read, {{"file", options_.path},
                                                {"states", whole(read->kept)},
                                                {"fresh", whole(read->fresh)},
                                                {"no_room", whole(read->no_room)},
                                                {"no_limit", whole(read->no_rule)},
                                                {"age_s", age / std::chrono::seconds(1)}});
    return;
  }
  const std::string aside = options_.path + ".refused";
  const bool moved = std::rename(options_.path.c_str(), aside.c_str()) == 0;
  service_.log.write(LogKind::snapshot_refused,
                     {{"reason", read.error().message},
                      {"mend", moved ? "none; the server starts empty, the file is now " + aside
                                     : "the server starts empty and cannot move the file: " +
                                           std::generic_category().message(errno)}});
}

void SnapshotKeeper::start() {
  if (!options_.path.empty()) thread_ = std::thread([this] { run(); });
}

void SnapshotKeeper::finish() {
  stop();
  if (!options_.path.empty()) write();
}

void SnapshotKeeper::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, options_.every, [this] { return stopping_; })) {
    lock.unlock();
    write();
    lock.lock();
  }
}

void SnapshotKeeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Expected<SnapshotWritten, SnapshotError> SnapshotKeeper::try_to_write(Instant now) {
  try {
    return write_snapshot(service_.table, now, options_.path);
  } catch (const std::bad_alloc&) {
    return SnapshotError{"out of memory"};  // short, for it needs none
  }
}

void SnapshotKeeper::write() {
  const auto begun_at = std::chrono::steady_clock::now();
  const Instant now = service_.clock.now();
  const auto written = try_to_write(now);
  SnapshotMetrics& metrics = service_.metrics.snapshot;
  if (!written) {
    metrics.failed.add(1);
    service_.log.write(LogKind::snapshot_failed,
                       {{"reason", written.error().message},
                        {"mend", "see that there is room and that the folder may be written"}});
    return;
  }
  const auto took = std::chrono::steady_clock::now() - begun_at;
  metrics.written.add(1);
  metrics.states = written->states;
  metrics.bytes = written->bytes;
  metrics.written_at_us = now.time_since_epoch().count();
  metrics.took_us = std::chrono::duration_cast<Span>(took).count();
}

}  // namespace weir::server
