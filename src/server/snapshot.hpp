// What the table keeps, in a file that outlives the process.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "weir/local/table.hpp"

namespace weir::server {

/// Why a snapshot was not written or not read: a sentence that names the file and says what to do.
struct SnapshotError {
  std::string message;
};

/// A snapshot of the table while it is used: each state as it was at some time since the call. The
/// file is written beside `path`, synced and renamed, so `path` is at any time whole or absent.
struct SnapshotWritten {
  std::uint64_t states = 0;
  std::uint64_t bytes = 0;
};
Expected<SnapshotWritten, SnapshotError> write_snapshot(const Table& table, Instant now,
                                                        const std::string& path);

struct SnapshotRead {
  Instant written_at{};
  std::uint64_t kept = 0;
  std::uint64_t fresh = 0;    ///< as good as never seen by now, and dropped
  std::uint64_t no_room = 0;  ///< beyond the table's caps
  std::uint64_t no_rule = 0;  ///< of named limits that are no more
};
/// Reads it into the table. Nothing is kept of a file that is not whole, not a snapshot, or of a
/// format that this release does not know.
Expected<SnapshotRead, SnapshotError> read_snapshot(const std::string& path, Rules& rules,
                                                    Table& table, Instant now);

/// The same from bytes, which are read twice: once to see that all is whole, once to keep it.
/// `name` is what errors call them.
Expected<SnapshotRead, SnapshotError> read_snapshot(std::istream& bytes, const std::string& name,
                                                    Rules& rules, Table& table, Instant now);

}  // namespace weir::server
