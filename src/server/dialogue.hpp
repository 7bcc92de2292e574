// What a connection speaks: bytes in, bytes out, and no socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace weir::server {

/// Who carries a dialogue's bytes, as answers see it that come later, on any thread, perhaps after
/// the connection's end. They share it.
///
/// Threads  post() from any; resume() on the connection's
class Carrier {
 public:
  explicit Carrier(std::string peer = {}) : peer_(std::move(peer)) {}
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  /// Has the action run on the connection's thread, soon; not at all once the connection is gone.
  virtual void post(std::function<void()> action) = 0;
  /// There is more to write, or the dialogue has ended: looks at it again, soon.
  virtual void resume() = 0;

  /// Who is at the other end: HOST:PORT, or the path of a Unix socket.
  const std::string& peer() const noexcept { return peer_; }

 private:
  std::string peer_;
};

/// The server's side of a conversation over a stream of bytes: HTTP/1.1, or HTTP/2 with gRPC.
///
/// The carrier hands in what arrives, asks for what to send whenever there is room, and closes once
/// the dialogue has ended and all is sent. While bytes wait for a slow reader it hands in nothing,
/// and it cuts off a reader that takes nothing for ConnectionLimits::stalled_write.
///
/// Threads  one at a time, the connection's
/// Errors   bad_alloc ends the connection; nothing else is thrown
class Dialogue {
 public:
  Dialogue() = default;
  virtual ~Dialogue() = default;
  Dialogue(const Dialogue&) = delete;
  Dialogue& operator=(const Dialogue&) = delete;

  /// What has arrived, cut anywhere. All of it is taken in; not called after ended().
  virtual void receive(std::string_view bytes) = 0;

  /// Appends to `output` what is to be sent next, perhaps nothing; stops soon after `enough` bytes.
  virtual void write(std::string& output, std::size_t enough) = 0;

  /// Whether more input is welcome now (a client that pipelines waits for its answers).
  virtual bool wants_input() const = 0;

  /// Whether the connection is to be closed once all is written.
  virtual bool ended() const = 0;

  /// Once a second: gives up what has taken too long.
  virtual void tick() = 0;

  /// The server ends: answers what has begun, announces the end, takes on nothing new.
  virtual void drain() = 0;

  /// The client sends no more, and may still read: as drain(), which may have come before.
  virtual void hear_end() { drain(); }
};

/// Makes the dialogue of a connection that has arrived; it may keep the carrier.
using DialogueMaker = std::function<std::unique_ptr<Dialogue>(std::shared_ptr<Carrier>)>;

}  // namespace weir::server
