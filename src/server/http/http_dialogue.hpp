// HTTP/1.1 as a dialogue.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/dialogue.hpp"
#include "server/http/http_limits.hpp"
#include "server/http/request_reader.hpp"
#include "server/http/router.hpp"
#include "server/log.hpp"
#include "server/metrics.hpp"

namespace weir::server {

/// What all HTTP connections of one worker share.
struct HttpFront {
  const HttpLimits& limits;
  WorkerMetrics& metrics;
  Log& log;
  /// Called before requests are handled that came together: the time, which handlers go by too.
  std::function<Instant()> read_clock;
  Router router{};
  HttpDate date{};
};

/// One connection's requests, answered in their order whenever their answers come.
///
/// Memory   one request at its limits, 16 KiB of what a client pipelines, and the answers that wait
///          to be taken: while these are HttpLimits::output_bytes or more, nothing is read
/// Errors   bytes that are no request are answered with what was expected, and end the connection
class HttpDialogue final : public Dialogue {
 public:
  HttpDialogue(HttpFront& front, std::shared_ptr<Carrier> carrier);
  ~HttpDialogue() override;

  void receive(std::string_view bytes) override;
  void write(std::string& output, std::size_t enough) override;
  bool wants_input() const override;
  bool ended() const override;
  void tick() override;
  void drain() override;

 private:
  /// What the connection waits for.
  enum class Phase : std::uint8_t { idle, head, body, answers };

  bool has_room() const;
  std::size_t take_requests(std::string_view input);
  void answer(HttpRequest& request, bool last);
  void refuse(const HttpFault& fault);
  void count(int status);
  Phase phase() const;

  HttpFront& front_;
  std::shared_ptr<HttpOutbox> outbox_;
  RequestReader reader_;
  std::string input_;  ///< that no request was made of yet
  std::size_t requests_ = 0;
  Phase last_phase_ = Phase::idle;
  std::size_t last_requests_ = 0;
  std::chrono::seconds waited_{0};  ///< in that phase of that request
  bool stalled_input_ = false;      ///< requests may be at hand that there was no room to answer
  bool draining_ = false;
  bool ending_ = false;  ///< nothing more is read
  bool lost_ = false;    ///< an answer will never come
};

}  // namespace weir::server
