#include "cli/machine.hpp"

#include <sys/resource.h>
#include <sys/timex.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <thread>

#include "cli/input.hpp"
#include "cli/remote.hpp"
#include "server/server.hpp"

namespace weir::cli {
namespace {

/// Listens for a moment, as the server would.
Binding bind(const std::string& address) {
  Rules rules;
  server::Options options;
  // Whether the certificate is any good is not the question here.
  options.resp = {address.starts_with("tls:") ? address.substr(4) : address};
  options.metrics = "off";
  options.max_keys = 1;
  options.log.level = server::LogLevel::off;
  const auto listening = server::Server(options, rules).listen();
  if (listening) return {Binding::Outcome::free};
  const std::string& reason = listening.error().message;
  const bool in_use = reason.find(" is in use") != std::string::npos;
  return {in_use ? Binding::Outcome::in_use : Binding::Outcome::impossible, printable(reason)};
}

/// The value behind "NAME:" in what INFO tells; empty where there is none.
std::string info_line(const std::string& info, const std::string& name) {
  const std::size_t at = info.find(name + ":");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 1;
  return printable(std::string_view(info).substr(begin, info.find('\r', begin) - begin));
}

Answerer ask_resp(const std::string& address) {
  constexpr std::array<std::string_view, 1> command{"INFO"};
  const auto reply = ask(Remote{.address = address}, command);
  if (!reply) {
    const bool speaks = reply.error().message.find("does not speak RESP") != std::string::npos;
    return {speaks ? Answerer::Kind::other : Answerer::Kind::nobody, ""};
  }
  const std::string version = info_line(reply->text, "weir_version");
  if (!version.empty()) return {Answerer::Kind::weir, version};
  if (reply->text.starts_with("NOAUTH")) return {Answerer::Kind::other, "it asks for a password"};
  const std::string other = info_line(reply->text, "redis_version");
  if (!other.empty()) return {Answerer::Kind::other, "Redis " + other};
  return {Answerer::Kind::other, printable(std::string_view(reply->text).substr(0, 60))};
}

Answerer ask_metrics(const std::string& address) {
  constexpr std::chrono::seconds patience{2};
  const std::size_t colon = address.rfind(':');
  boost::asio::ip::tcp::iostream stream;
  stream.expires_after(patience);
  stream.connect(address.substr(0, colon), address.substr(colon + 1));
  if (!stream) return {};
  stream << "GET /metrics HTTP/1.1\r\nHost: " << address << "\r\nConnection: close\r\n\r\n"
         << std::flush;
  std::string line;
  for (int lines = 0; lines < 100 && std::getline(stream, line); ++lines) {
    if (line.starts_with("weir_")) return {Answerer::Kind::weir, ""};
  }
  return {Answerer::Kind::other, ""};
}

std::optional<bool> clock_synchronised() {
  timex time{};
  const int state = adjtimex(&time);
  if (state < 0) return {};
  return state != TIME_ERROR && (time.status & STA_UNSYNC) == 0;
}

std::int64_t clock_nanoseconds() {
  constexpr int readings = 2'000;
  const auto begin = std::chrono::steady_clock::now();
  auto last = begin;
  for (int reading = 0; reading < readings; ++reading) last = std::chrono::steady_clock::now();
  return std::chrono::nanoseconds(last - begin).count() / readings;
}

std::uint64_t descriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.bind = bind;
  machine.ask_resp = ask_resp;
  machine.ask_metrics = ask_metrics;
  machine.descriptors = descriptors();
  machine.clock_synchronised = clock_synchronised();
  machine.clock_nanoseconds = clock_nanoseconds();
  machine.processors = std::max(1U, std::thread::hardware_concurrency());
  return machine;
}

}  // namespace weir::cli
