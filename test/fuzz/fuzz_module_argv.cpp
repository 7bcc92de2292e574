// Any commands at the module, at any time, over anything that lies in the server: each has one
// reply, nothing is thrown, replicas hold what the server holds, and nothing is kept for ever.
//
// A line is a command, its words parted by tabs. "$" is a word for the last grant or permit. Lines
// that are none: "+ MICROSECONDS" moves the clock, "= KEY BYTES" and "~ KEY LIMIT BYTES" put bytes
// under a key of CL.THROTTLE's and of the others', "? ..." asks which words are keys, "@" begins a
// cluster.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "redis/stored_key.hpp"
#include "test/module/fake_server.hpp"

namespace {

using weir::Instant;
using weir::Span;
using weir::module::FakeServer;
using Words = std::vector<std::string>;

constexpr std::size_t most_lines = 64;
constexpr std::int64_t latest_us = 4'000'000'000'000'000;  // in the year 2096

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

std::vector<std::string> parts(std::string_view text, char mark) {
  std::vector<std::string> found;
  for (;;) {
    const std::size_t end = std::min(text.find(mark), text.size());
    found.emplace_back(text.substr(0, end));
    if (end == text.size()) return found;
    text.remove_prefix(end + 1);
  }
}

class Run {
 public:
  Run() {
    require(server_.loaded(), "the module loads");
    server_.set_time(Instant{Span{now_us_}});
  }

  void line(const Words& words) {
    const std::string& first = words[0];
    if (first == "+") {
      if (words.size() > 1) move_clock(words[1]);
    } else if (first == "@") {
      server_.set_cluster(true);
    } else if (first == "=" && words.size() == 3) {
      plant(words[1], words[2]);
    } else if (first == "~" && words.size() == 4) {
      plant(weir::redis::stored_key({words[1], words[2]}), words[3]);
    } else if (first == "?" && words.size() > 1) {
      const Words command(words.begin() + 1, words.end());
      if (tells_keys(command[0])) server_.keys_of(command);
    } else {
      command(words);
    }
  }

 private:
  bool tells_keys(const std::string& command) const {
    const Words known = server_.commands();  // NAME: FLAGS
    return std::any_of(known.begin(), known.end(), [&](const std::string& each) {
      return each.starts_with(command + ":") && each.ends_with("getkeys-api");
    });
  }

  void move_clock(std::string_view text) {
    std::int64_t us = 0;
    std::from_chars(text.data(), text.data() + text.size(), us);
    now_us_ =
        std::clamp(now_us_ + std::clamp(us, -latest_us, latest_us), std::int64_t{0}, latest_us);
    server_.set_time(Instant{Span{now_us_}});
  }

  /// With an expiry every second time, as a key of another hand may have it or not.
  void plant(const std::string& key, const std::string& bytes) {
    FakeServer::Stored stored{true, bytes, {}};
    if (bytes.size() % 2 == 0) stored.until_ms = now_us_ / 1'000 + 60'000;
    server_.plant(key, stored);
    planted_[key] = stored;
  }

  void command(Words words) {
    for (std::string& word : words) {
      if (word == "$") word = handle_;
    }
    const std::size_t told = server_.replicated().size();
    const weir::wire::Reply reply = server_.run(words);
    // What the module says of anything thrown; also of a rule of the API that it broke.
    require(reply.text != "ERR weir: out of memory", "nothing is thrown");
    if (words[0] == "WEIR.PEEK" || words[0] == "WEIR_1.PEEK" ||
        reply.type == weir::wire::ReplyType::error) {
      require(server_.replicated().size() == told, "a peek and an error write nothing");
    }
    for (const char* field : {"grant", "permit"}) {
      const auto* handle = reply.field(field);
      if (handle && !handle->text.empty()) handle_ = handle->text;
    }
    check_keys();
  }

  void check_keys() {
    const FakeServer::Keys& keys = server_.keys();
    require(keys == server_.replica(), "replicas hold the same");
    for (const auto& [key, stored] : keys) {
      const auto hand = planted_.find(key);
      require(stored.until_ms || (hand != planted_.end() && hand->second == stored),
              "what the module wrote expires");
    }
  }

  FakeServer server_{{"login=5/1m", "gate=concurrency 2/30s"}};
  std::int64_t now_us_ = 1'750'000'000'000'000;
  FakeServer::Keys planted_;
  std::string handle_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Run run;
  std::size_t count = 0;
  for (const std::string& line : parts({reinterpret_cast<const char*>(data), size}, '\n')) {
    if (++count > most_lines) break;
    run.line(parts(line, '\t'));
  }
  return 0;
}
