// The format: a line that tells the version, then blocks of
//
//   size of the payload, its CRC-32      4 bytes each, least first
//   payload                              records, none of them cut
//
// and these records, with varints (7 bits a byte, least first) and strings (a varint and bytes):
//
//   H instant                            when it was begun; the first record
//   R number kind name limit             a rule, before its first state
//   S number key count field...          a state in its form (limit/state_form.hpp), zigzag
//   E count                              of states; the last record
#include "server/snapshot.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/crc.hpp>
#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "limit/state_form.hpp"

namespace weir::server {
namespace {

constexpr std::string_view first_line = "weir snapshot 1\n";
constexpr std::size_t block_bytes = std::size_t{64} << 10;
/// No block is larger: the largest state is a log of 100 000 instants.
constexpr std::size_t most_block_bytes = std::size_t{8} << 20;

enum class Kind : std::uint8_t { redis_cell, named, from_request };

std::uint32_t crc_of(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

// ---- Writing ----

void put_number(std::string& out, std::uint64_t number) {
  for (; number >= 128; number >>= 7) out += static_cast<char>(number | 128);
  out += static_cast<char>(number);
}
void put_signed(std::string& out, std::int64_t number) {
  put_number(out,
             static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63));
}
void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out += text;
}
void put_word(std::string& out, std::size_t word) {
  for (int byte = 0; byte < 4; ++byte) out += static_cast<char>(word >> 8 * byte);
}

/// Records, as they collect into a block.
class Records {
 public:
  explicit Records(Instant begun_at) {
    bytes_ += 'H';
    put_signed(bytes_, begun_at.time_since_epoch().count());
  }

  void add(const Table::Kept& kept) {
    const std::uint64_t number = number_of(kept.rule);
    form_.clear();
    write_form(kept.state, form_);
    bytes_ += 'S';
    put_number(bytes_, number);
    put_text(bytes_, kept.key);
    put_number(bytes_, form_.size());
    for (const std::int64_t field : form_) put_signed(bytes_, field);
    ++states_;
  }

  void end() {
    bytes_ += 'E';
    put_number(bytes_, states_);
  }

  std::uint64_t states() const noexcept { return states_; }
  std::size_t size() const noexcept { return bytes_.size(); }

  /// The block of what has collected; empties it.
  std::string take_block() {
    std::string block;
    put_word(block, bytes_.size());
    put_word(block, crc_of(bytes_));
    block += bytes_;
    bytes_.clear();
    return block;
  }

 private:
  std::uint64_t number_of(const Rule& rule) {
    const auto [known, is_new] = numbers_.emplace(rule.id, numbers_.size());
    if (is_new) {
      const Kind kind = rule.id == 0 ? Kind::redis_cell
                        : rule.named ? Kind::named
                                     : Kind::from_request;
      bytes_ += 'R';
      put_number(bytes_, known->second);
      bytes_ += static_cast<char>(kind);
      put_text(bytes_, rule.name);
      put_text(bytes_, rule.limit.text());
    }
    return known->second;
  }

  std::string bytes_;
  std::vector<std::int64_t> form_;
  std::unordered_map<std::uint32_t, std::uint64_t> numbers_;
  std::uint64_t states_ = 0;
};

/// A file that is made beside the one that it shall become. Every call is false with errno where
/// the system refuses it.
class NewFile {
 public:
  explicit NewFile(const std::string& path)
      : path_(path),
        making_(path + ".new"),
        file_(
            ::open(making_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)) {}
  ~NewFile() {
    const int error = errno;
    if (file_ >= 0) {
      ::close(file_);
      ::unlink(making_.c_str());
    }
    errno = error;
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool is_open() const noexcept { return file_ >= 0; }

  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_, bytes.data(), bytes.size());
      if (count >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
      } else if (errno != EINTR) {
        return false;
      }
    }
    return true;
  }

  /// On the disk and under its name, or not at all.
  bool finish() {
    if (::fsync(file_) != 0) return false;
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0 || ::rename(making_.c_str(), path_.c_str()) != 0) {
      const int error = errno;
      ::unlink(making_.c_str());
      errno = error;
      return false;
    }
    const std::size_t slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return true;  // renamed; that the name is on the disk cannot be made sure
    const bool synced = ::fsync(directory) == 0 || errno == EINVAL;
    ::close(directory);
    return synced;
  }

 private:
  std::string path_;
  std::string making_;
  int file_;
};

// ---- Reading ----

/// Takes records apart. Every call is empty or false where the bytes are no record.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const noexcept { return rest_.empty(); }

  std::optional<std::uint8_t> byte() {
    if (rest_.empty()) return {};
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto next = byte();
      if (!next || (shift == 63 && *next > 1)) return {};
      value |= std::uint64_t{*next & 127U} << shift;
      if (*next < 128) return value;
    }
    return {};
  }
  std::optional<std::int64_t> signed_number() {
    const auto value = number();
    if (!value) return {};
    return static_cast<std::int64_t>(*value >> 1) ^ -static_cast<std::int64_t>(*value & 1);
  }
  std::optional<std::string_view> text() {
    const auto size = number();
    if (!size || *size > rest_.size()) return {};
    const std::string_view text = rest_.substr(0, static_cast<std::size_t>(*size));
    rest_.remove_prefix(text.size());
    return text;
  }
  bool fields(std::vector<std::int64_t>& form) {
    form.clear();
    const auto count = number();
    if (!count || *count > rest_.size()) return false;  // each takes a byte at least
    for (std::uint64_t left = *count; left > 0; --left) {
      const auto field = signed_number();
      if (!field) return false;
      form.push_back(*field);
    }
    return true;
  }

 private:
  std::string_view rest_;
};

/// Why bytes are no snapshot; empty where they are one.
using Fault = std::string;

/// Where records go that only have to be well.
struct Nowhere {
  void begun(Instant) {}
  void rule(Kind, std::string_view, std::string_view) {}
  void state(std::size_t, std::string_view, Limit::State&&) {}
};

/// Puts states into a table.
class IntoTable {
 public:
  IntoTable(Rules& rules, Table& table, Instant now) : rules_(rules), table_(table), now_(now) {}

  void begun(Instant at) { read_.written_at = at; }

  void rule(Kind kind, std::string_view name, std::string_view limit) {
    if (kind == Kind::redis_cell) return known_.push_back(&rules_.redis_cell());
    const auto found = rules_.find(kind == Kind::named ? "@" + std::string(name) : limit);
    known_.push_back(found ? *found : nullptr);
  }

  void state(std::size_t number, std::string_view key, Limit::State&& state) {
    const Rule* rule = known_[number];
    if (!rule) {
      ++read_.no_rule;
      return;
    }
    switch (table_.restore({rule, key}, std::move(state), now_)) {
      case Table::Restored::kept: ++read_.kept; break;
      case Table::Restored::fresh: ++read_.fresh; break;
      case Table::Restored::no_room: ++read_.no_room; break;
    }
  }

  const SnapshotRead& read() const noexcept { return read_; }

 private:
  Rules& rules_;
  Table& table_;
  Instant now_;
  std::vector<const Rule*> known_;
  SnapshotRead read_;
};

/// Goes through the records of all blocks, and hands them to the sink.
template <typename Sink>
class Walk {
 public:
  explicit Walk(Sink& sink) : sink_(sink) {}

  Fault blocks(std::istream& bytes) {
    std::string line(first_line.size(), '\0');
    bytes.read(line.data(), static_cast<std::streamsize>(line.size()));
    if (line.substr(0, 14) != first_line.substr(0, 14)) return "is no snapshot of weir";
    if (line != first_line) return "has a format that this release does not know";
    std::string payload;
    while (!ended_) {
      std::array<char, 8> head{};
      bytes.read(head.data(), head.size());
      if (bytes.gcount() != head.size()) return "ends too early";
      const std::size_t size = word(head.data());
      if (size > most_block_bytes)
        return "is damaged: a block of " + std::to_string(size) + " bytes";
      payload.resize(size);
      bytes.read(payload.data(), static_cast<std::streamsize>(size));
      if (static_cast<std::size_t>(bytes.gcount()) != size) return "ends too early";
      if (crc_of(payload) != word(head.data() + 4)) return "is damaged: a checksum is wrong";
      if (!records(payload)) return "is damaged behind its checksum";
    }
    return bytes.peek() == std::istream::traits_type::eof() ? "" : "goes on behind its end";
  }

 private:
  static std::size_t word(const char* from) {
    std::size_t word = 0;
    for (int byte = 3; byte >= 0; --byte) word = word << 8 | static_cast<unsigned char>(from[byte]);
    return word;
  }

  bool records(std::string_view payload) {
    RecordReader reader(payload);
    while (!reader.at_end()) {
      if (ended_) return false;
      const auto kind = reader.byte();
      const bool known = *kind == 'H'   ? head(reader)
                         : !begun_      ? false
                         : *kind == 'R' ? rule(reader)
                         : *kind == 'S' ? state(reader)
                         : *kind == 'E' ? end(reader)
                                        : false;
      if (!known) return false;
    }
    return true;
  }

  bool head(RecordReader& reader) {
    const auto instant = reader.signed_number();
    if (!instant || begun_) return false;
    begun_ = true;
    sink_.begun(Instant{Span{*instant}});
    return true;
  }

  bool rule(RecordReader& reader) {
    const auto number = reader.number();
    const auto kind = reader.byte();
    const auto name = reader.text();
    const auto limit = reader.text();
    if (!number || !kind || !name || !limit || *number != rules_) return false;
    if (*kind > static_cast<std::uint8_t>(Kind::from_request)) return false;
    ++rules_;
    sink_.rule(static_cast<Kind>(*kind), *name, *limit);
    return true;
  }

  bool state(RecordReader& reader) {
    const auto number = reader.number();
    const auto key = reader.text();
    if (!number || *number >= rules_ || !key || !reader.fields(form_)) return false;
    auto state = read_form(form_);
    if (!state) return false;
    ++states_;
    sink_.state(static_cast<std::size_t>(*number), *key, std::move(*state));
    return true;
  }

  bool end(RecordReader& reader) {
    const auto states = reader.number();
    ended_ = true;
    return states && *states == states_;
  }

  Sink& sink_;
  std::vector<std::int64_t> form_;
  std::uint64_t rules_ = 0;
  std::uint64_t states_ = 0;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace

Expected<SnapshotWritten, SnapshotError> write_snapshot(const Table& table, Instant now,
                                                        const std::string& path) {
  const auto failed = [&](const char* what) {
    return SnapshotError{std::string("cannot ") + what + " the snapshot " + path + ": " +
                         std::generic_category().message(errno)};
  };
  NewFile file(path);
  if (!file.is_open()) return failed("create");
  SnapshotWritten written;
  const auto write = [&](std::string_view bytes) {
    written.bytes += bytes.size();
    return file.write(bytes);
  };
  if (!write(first_line)) return failed("write");
  Records records(now);
  Table::Cursor cursor;
  for (bool more = true; more;) {
    more = table.each(cursor, [&](const Table::Kept& kept) {
      records.add(kept);
      return records.size() < block_bytes;
    });
    if (records.size() >= block_bytes && !write(records.take_block())) return failed("write");
  }
  records.end();
  if (!write(records.take_block())) return failed("write");
  if (!file.finish()) return failed("finish");
  written.states = records.states();
  return written;
}

Expected<SnapshotRead, SnapshotError> read_snapshot(std::istream& bytes, const std::string& name,
                                                    Rules& rules, Table& table, Instant now) {
  const auto refused = [&](const Fault& fault) {
    return SnapshotError{"the snapshot " + name + ' ' + fault};
  };
  Nowhere nowhere;
  if (const Fault fault = Walk(nowhere).blocks(bytes); !fault.empty()) return refused(fault);
  bytes.clear();
  bytes.seekg(0);
  IntoTable into(rules, table, now);
  const Fault fault = Walk(into).blocks(bytes);
  if (!fault.empty()) return refused(fault + ", though it was whole a moment ago");
  return into.read();
}

Expected<SnapshotRead, SnapshotError> read_snapshot(const std::string& path, Rules& rules,
                                                    Table& table, Instant now) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return SnapshotError{"cannot open the snapshot " + path + ": " +
                         std::generic_category().message(errno)};
  }
  return read_snapshot(file, path, rules, table, now);
}

}  // namespace weir::server
