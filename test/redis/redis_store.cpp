#include "test/redis/redis_store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace weir::redis {

ClockFile::ClockFile() {
  path_ = (std::filesystem::temp_directory_path() / "weir-clock-XXXXXX").string();
  const int file = ::mkstemp(path_.data());
  if (file < 0 || ::ftruncate(file, sizeof(std::int64_t)) != 0) {
    throw std::runtime_error("no file for a clock");
  }
  void* const page =
      ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (page == MAP_FAILED) throw std::runtime_error("no page for a clock");
  time_ = static_cast<std::int64_t*>(page);
}

ClockFile::~ClockFile() {
  ::munmap(const_cast<std::int64_t*>(time_), sizeof(std::int64_t));
  ::unlink(path_.c_str());
}

void ClockFile::set(Instant now) { *time_ = now.time_since_epoch().count(); }

std::vector<std::string> ClockFile::environment() const {
  return {"LD_PRELOAD=" WEIR_SET_CLOCK, "WEIR_TEST_CLOCK=" + path_};
}

namespace {

wire::RedisServer::Extras with_clock(wire::RedisServer::Extras extras, const ClockFile& clock) {
  extras.environment = clock.environment();
  return extras;
}

}  // namespace

RedisStore::RedisStore(Loaded loaded, const wire::RedisServer::Extras& extras)
    : loaded_(loaded), server_(with_clock(extras, clock_)), connection_(server_.port()) {
  if (loaded != Loaded::library) return;
  const auto reply = run({"FUNCTION", "LOAD", function_library()});
  if (reply.type == wire::ReplyType::error) throw std::runtime_error(reply.text);
}

std::string RedisStore::name() const {
  return loaded_ == Loaded::library ? "FCALL in Redis" : "EVALSHA in Redis";
}

wire::Reply RedisStore::run(const std::vector<std::string>& command) {
  return connection_.run(command);
}

ScriptReply RedisStore::call(const ScriptCall& call) {
  if (loaded_ == Loaded::scripts) return call_script(call);
  return run({"FCALL", function_name(call.verb)}, call);
}

ScriptReply RedisStore::call_script(const ScriptCall& call) {
  std::string& digest = digests_[std::string(redis::name(call.verb)) + call.letter];
  if (digest.empty()) digest = run({"SCRIPT", "LOAD", script_of(call.verb, call.letter)}).text;
  return run({"EVALSHA", digest}, call);
}

ScriptReply RedisStore::run(std::vector<std::string> command, const ScriptCall& call) {
  command.push_back(std::to_string(call.keys.size()));
  command.insert(command.end(), call.keys.begin(), call.keys.end());
  command.insert(command.end(), call.arguments.begin(), call.arguments.end());
  const wire::Reply reply = run(command);
  if (reply.type == wire::ReplyType::error) return {{}, reply.text};
  if (reply.type == wire::ReplyType::integer) return {{reply.integer}, ""};
  ScriptReply told;
  for (const wire::Reply& element : reply.elements) told.integers.push_back(element.integer);
  return told;
}

std::optional<std::string> RedisStore::get(std::string_view key) {
  wire::Reply reply = run({"GET", std::string(key)});
  if (reply.type == wire::ReplyType::null) return {};
  return std::move(reply.text);
}

void RedisStore::set(std::string_view key, std::string_view value) {
  run({"SET", std::string(key), std::string(value)});
}

bool RedisStore::erase(std::string_view key) { return run({"DEL", std::string(key)}).integer > 0; }

std::optional<std::int64_t> RedisStore::expires_in_ms(std::string_view key) {
  const std::int64_t ms = run({"PTTL", std::string(key)}).integer;
  if (ms < 0) return {};
  return ms;
}

std::string renumbered(std::string text) {
  const std::string ours(library_name);
  for (std::size_t at = text.find(ours); at != std::string::npos; at = text.find(ours)) {
    text.replace(at, ours.size(), "weir_2");
  }
  return text;
}

ReleasesSideBySide::ReleasesSideBySide() : RedisStore(Loaded::library) {
  const auto reply = RedisStore::run({"FUNCTION", "LOAD", renumbered(function_library())});
  if (reply.type == wire::ReplyType::error) throw std::runtime_error(reply.text);
}

ScriptReply ReleasesSideBySide::call(const ScriptCall& call) {
  switch (calls_++ % 3) {
    case 0: return RedisStore::call(call);
    case 1: return run({"FCALL", renumbered(function_name(call.verb))}, call);
    default: return call_script(call);
  }
}

}  // namespace weir::redis
