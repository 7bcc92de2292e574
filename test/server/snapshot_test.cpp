#include "server/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/crc.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace weir::server {
namespace {

using namespace std::string_literals;
using std::string;
using testing::HasSubstr;

constexpr Instant now{std::chrono::seconds{1'795'000'000}};

class Snapshot : public testing::Test {
 protected:
  Snapshot() {
    string folder = testing::TempDir() + "weir-snapshot-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    path_ = folder_ / "states";
    (void)rules_.add({"login", "5/1h"});
  }
  ~Snapshot() override { std::filesystem::remove_all(folder_); }

  void fill(Table& table) {
    const Rule* const rules[] = {rules_.find("@login").value(), &rules_.redis_cell(),
                                 rules_.find("sliding-log 7/1h").value(),
                                 rules_.find("9/1h block 1h & sliding-window 8/1h").value()};
    for (int call = 0; call < 3'000; ++call) {
      string key = std::to_string(call % 211);
      if (call % 2 == 0) key += string("\0\r\n a long key of many bytes", 28);
      (void)table.take({rules[call % 4], key}, {now + Span{call}});
    }
  }

  string written(const Table& table) {
    const auto done = write_snapshot(table, now, path_);
    EXPECT_TRUE(done) << done.error().message;
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static string error_of(const string& bytes) {
    Rules rules;
    Table table;
    std::istringstream stream(bytes);
    const auto read = read_snapshot(stream, "s", rules, table, now);
    EXPECT_EQ(table.stats().keys, 0u);
    return read ? "no error" : read.error().message;
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
  Rules rules_;
};

TEST_F(Snapshot, AServerThatReadsItAnswersAsTheOneThatWroteIt) {
  Table first;
  fill(first);
  const auto done = write_snapshot(first, now, path_);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->states, first.stats().keys);
  EXPECT_EQ(done->bytes, std::filesystem::file_size(path_));
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".new"));

  Rules rules;
  ASSERT_TRUE(rules.add({"other", "1/1s"}));
  ASSERT_TRUE(rules.add({"login", "5/1h"}));
  Table second;
  const auto read = read_snapshot(path_, rules, second, now);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->kept, first.stats().keys);
  EXPECT_EQ(read->written_at, now);
  const Limit::Machine::Config ten = Limit::parse("10/1h").value().config();
  const Instant later = now + std::chrono::milliseconds(10);  // no table's clock is ahead of it
  for (int key = 0; key < 250; ++key) {
    const string name = std::to_string(key);
    for (const char* limit :
         {"@login", "sliding-log 7/1h", "9/1h block 1h & sliding-window 8/1h"}) {
      ASSERT_EQ(first.take({rules_.find(limit).value(), name}, {later}).decision,
                second.take({rules.find(limit).value(), name}, {later}).decision)
          << limit << ' ' << key;
    }
    ASSERT_EQ(first.take({&rules_.redis_cell(), name, &ten}, {later}).decision,
              second.take({&rules.redis_cell(), name, &ten}, {later}).decision);
  }
}

TEST_F(Snapshot, CutAnywhereItIsRefusedWhole) {
  Table table;
  for (int key = 0; key < 20; ++key) {
    (void)table.take({rules_.find("@login").value(), std::to_string(key)}, {now});
  }
  const string bytes = written(table);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(error_of(bytes.substr(0, size)),
                testing::AnyOf(HasSubstr("ends too early"), HasSubstr("is no snapshot"),
                               HasSubstr("has a format")))
        << size;
  }
  EXPECT_THAT(error_of(bytes + "x"), HasSubstr("goes on behind its end"));
}

TEST_F(Snapshot, WithOneBitWrongItIsRefusedWhole) {
  Table table;
  for (int key = 0; key < 20; ++key) {
    (void)table.take({rules_.find("@login").value(), std::to_string(key)}, {now});
  }
  const string bytes = written(table);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char bit : {'\x01', '\x80'}) {
      string wrong = bytes;
      wrong[at] = static_cast<char>(wrong[at] ^ bit);
      EXPECT_THAT(error_of(wrong), HasSubstr("the snapshot s ")) << at;
    }
  }
}

/// A checksum is right too where whoever wrote the file was wrong.
TEST_F(Snapshot, WhoseRecordsContradictEachOtherIsRefused) {
  Table table;
  (void)table.take({rules_.find("@login").value(), "alice"}, {now});
  const string bytes = written(table);
  constexpr std::size_t head = 16 + 8;  // the first line; the block's size and checksum
  const auto with = [&](std::size_t at, char byte) {
    string changed = bytes;
    changed[at] = byte;
    boost::crc_32_type crc;
    crc.process_bytes(changed.data() + head, changed.size() - head);
    for (unsigned place = 0; place < 4; ++place) {
      changed[head - 4 + place] = static_cast<char>(crc.checksum() >> 8 * place);
    }
    return changed;
  };
  const std::size_t rule = bytes.find("R\0\1"s, head);
  const std::size_t state = bytes.find("S\0\5alice"s, head);
  const std::size_t end = bytes.size() - 2;
  ASSERT_TRUE(rule != string::npos && state != string::npos && bytes[end] == 'E');
  EXPECT_EQ(with(end, 'E'), bytes);  // else the checksum would be ours alone
  const auto damaged = HasSubstr("is damaged behind its checksum");
  EXPECT_THAT(error_of(with(rule + 1, '\1')), damaged) << "the first rule is not number 0";
  EXPECT_THAT(error_of(with(rule + 2, '\3')), damaged) << "a kind of rule that is none";
  EXPECT_THAT(error_of(with(state + 1, '\1')), damaged) << "a state of no rule";
  EXPECT_THAT(error_of(with(end + 1, '\0')), damaged) << "more states than were counted";
  EXPECT_THAT(error_of(with(end + 1, '\2')), damaged) << "fewer states than were counted";
}

TEST_F(Snapshot, OfAnotherProgramOrReleaseSaysSo) {
  EXPECT_THAT(error_of(""), HasSubstr("is no snapshot of weir"));
  EXPECT_THAT(error_of("REDIS0011\xfa and so on"), HasSubstr("is no snapshot of weir"));
  EXPECT_THAT(error_of("weir snapshot 2\n"), HasSubstr("does not know"));
  Rules rules;
  Table table;
  const auto read = read_snapshot((folder_ / "none").string(), rules, table, now);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("No such file"));
}

TEST_F(Snapshot, KeepsWhatAChangedServerStillKnows) {
  Table first;
  (void)first.take({rules_.find("@login").value(), "alice", nullptr}, {now, 5});
  (void)first.take({rules_.find("1/1s").value(), "bob"}, {now});
  (void)first.take({rules_.find("2/1h").value(), "carol"}, {now});
  (void)written(first);

  Rules without;
  Table second;
  const auto read = read_snapshot(path_, without, second, now + std::chrono::seconds(5));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->no_rule, 1u);  // login is no more
  EXPECT_EQ(read->fresh, 1u);    // bob has waited long enough
  EXPECT_EQ(read->kept, 1u);

  Rules changed;  // the name keeps the state, whatever the numbers
  ASSERT_TRUE(changed.add({"login", "6/1h"}));
  Table third;
  ASSERT_TRUE(read_snapshot(path_, changed, third, now));
  EXPECT_EQ(third.take({changed.find("@login").value(), "alice"}, {now, 5}).decision.verdict,
            Verdict::denied);
}

TEST_F(Snapshot, KeepsLeasesAlsoUnderOtherNumbers) {
  ASSERT_TRUE(rules_.add({"jobs", "100/1h & concurrency 3/30s"}));
  const auto permit_of = [](const Grant& grant) { return Concurrency::permit_of(grant.marks[1]); };
  Table first;
  const Rule* before = rules_.find("@jobs").value();
  Grant early;
  Grant late;
  (void)first.take({before, "alice"}, {now}, &early);
  (void)first.take({before, "alice"}, {now + std::chrono::seconds(5)}, &late);
  (void)written(first);

  Rules changed;
  ASSERT_TRUE(changed.add({"jobs", "100/1h & concurrency 2/10s"}));
  const Subject subject{changed.find("@jobs").value(), "alice"};
  Table second;
  Instant at = now + std::chrono::seconds(6);
  ASSERT_TRUE(read_snapshot(path_, changed, second, at));
  const Decision denied = second.take(subject, {at}).decision;
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(denied.ready_at, now + std::chrono::seconds(30));
  EXPECT_EQ(second.leave(subject, at, permit_of(late)), 1);
  Grant next;
  EXPECT_EQ(second.take(subject, {at}, &next).decision.verdict, Verdict::granted);
  EXPECT_GT(permit_of(next), permit_of(late));
  EXPECT_EQ(second.renew(subject, at, permit_of(next)), std::chrono::seconds(10));
  at = now + std::chrono::seconds(30);
  EXPECT_EQ(second.leave(subject, at, permit_of(early)), 0);
}

TEST_F(Snapshot, WrittenUnderTrafficHoldsEveryKeyThatWasThere) {
  Table table;
  const Rule* login = rules_.find("@login").value();
  for (int key = 0; key < 5'000; ++key) {
    (void)table.take({login, "old" + std::to_string(key)}, {now, 5});
  }
  std::atomic<bool> enough{false};
  std::thread traffic([&] {
    for (int key = 0; !enough; ++key) {
      (void)table.take({login, "new" + std::to_string(key % 50'000)}, {now});
      (void)table.reset({login, "new" + std::to_string(key / 2 % 50'000)});
    }
  });
  for (int turn = 0; turn < 5; ++turn) {
    ASSERT_TRUE(write_snapshot(table, now, path_));
    Table read;
    ASSERT_TRUE(read_snapshot(path_, rules_, read, now));
    for (int key = 0; key < 5'000; ++key) {
      ASSERT_EQ(read.take({login, "old" + std::to_string(key)}, {now}).decision.verdict,
                Verdict::denied);
    }
  }
  enough = true;
  traffic.join();
}

TEST_F(Snapshot, ThatCannotBeWrittenLeavesTheOldOne) {
  Table table;
  (void)table.take({rules_.find("@login").value(), "alice"}, {now});
  const string before = written(table);
  std::filesystem::create_directory(path_.string() + ".new");
  const auto failed = write_snapshot(table, now, path_);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("cannot create the snapshot " + path_.string()));
  std::filesystem::remove(path_.string() + ".new");
  EXPECT_EQ(written(table), before);
  EXPECT_THAT(write_snapshot(table, now, folder_ / "none" / "x").error().message,
              HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace weir::server
