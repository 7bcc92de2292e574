// One timer for many instants. Names Asio: for implementations.
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "weir/steady_instant.hpp"

namespace weir::redis {

/// Rings at the earliest instant that it was told of since it last rang.
///
/// Threads  the loop's
class LoopAlarm {
 public:
  using Ring = std::function<void()>;

  LoopAlarm(boost::asio::io_context::executor_type loop, Ring ring)
      : body_(std::make_shared<Body>(loop, std::move(ring))) {}
  ~LoopAlarm() { stop(); }
  LoopAlarm(const LoopAlarm&) = delete;
  LoopAlarm& operator=(const LoopAlarm&) = delete;

  void ring_by(SteadyInstant at) {
    if (at < body_->at) body_->set(at);
  }

  /// It rings no more, and holds nothing that its ring() did.
  void stop() {
    body_->ring = nullptr;
    body_->timer.cancel();
  }

 private:
  using Timer =
      boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                        boost::asio::wait_traits<std::chrono::steady_clock>,
                                        boost::asio::io_context::executor_type>;

  /// Outlives the alarm where the loop still holds a handler.
  struct Body : std::enable_shared_from_this<Body> {
    Body(boost::asio::io_context::executor_type loop, Ring rings)
        : timer(loop), ring(std::move(rings)) {}

    void set(SteadyInstant instant) {
      at = instant;
      timer.expires_at(instant);
      timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
        if (error || !self->ring) return;
        self->at = SteadyInstant::max();
        const Ring kept = self->ring;  // it may stop the alarm
        kept();
      });
    }

    Timer timer;
    Ring ring;
    SteadyInstant at = SteadyInstant::max();
  };

  std::shared_ptr<Body> body_;
};

}  // namespace weir::redis
