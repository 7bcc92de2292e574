#include "test/module/real_server.hpp"

#include "test/redis/await.hpp"

namespace weir::module {
namespace {

wire::RedisServer::Extras with_clock(wire::RedisServer::Extras extras,
                                     const redis::ClockFile& clock) {
  extras.environment = clock.environment();
  return extras;
}

}  // namespace

std::string module_path() { return WEIR_MODULE; }

wire::RedisServer::Extras with_module(const Words& words, const Words& arguments) {
  wire::RedisServer::Extras extras{
      .arguments = {"--enable-module-command", "local", "--loadmodule", WEIR_MODULE}};
  extras.arguments.insert(extras.arguments.end(), words.begin(), words.end());
  extras.arguments.insert(extras.arguments.end(), arguments.begin(), arguments.end());
  return extras;
}

RealServer::RealServer(wire::RedisServer::Extras extras) : server_(std::move(extras)) {
  connection_.emplace(server_.port());
}

RealServer::RealServer(wire::RedisServer::Extras extras, const redis::ClockFile& clock)
    : RealServer(with_clock(std::move(extras), clock)) {}

std::string RealServer::verdict(const Words& command) {
  const wire::Reply reply = run(command);
  const wire::Reply* const field = reply.field("verdict");
  return field ? field->text : reply.text;
}

std::vector<std::string> RealServer::keys() {
  std::vector<std::string> all;
  std::string cursor = "0";
  do {
    const wire::Reply page = connection_->must({"SCAN", cursor, "COUNT", "1000"});
    cursor = page.elements.at(0).text;
    for (const wire::Reply& key : page.elements.at(1).elements) all.push_back(key.text);
  } while (cursor != "0");
  return all;
}

Contents RealServer::contents() {
  Contents contents;
  for (const std::string& key : keys()) {
    const wire::Reply bytes = run({"GET", key});
    if (bytes.type == wire::ReplyType::null) continue;  // it has expired
    const bool other = bytes.type == wire::ReplyType::error;
    contents[key] = {other ? text({"DUMP", key}) : bytes.text,
                     connection_->must({"PEXPIRETIME", key}).integer};
  }
  return contents;
}

std::vector<std::string> RealServer::immortal_keys() {
  std::vector<std::string> immortal;
  for (const std::string& key : keys()) {
    if (connection_->must({"PTTL", key}).integer == -1) immortal.push_back(key);
  }
  return immortal;
}

void RealServer::restart() {
  connection_.reset();
  server_.restart();
  connection_.emplace(server_.port());
}

void RealServer::await_info(const std::string& section, const std::string& line) {
  test::await("INFO " + section + " says " + line, [&] {
    return text({"INFO", section}).find(line) != std::string::npos;
  });
}

}  // namespace weir::module
