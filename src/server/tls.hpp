// TLS: what a server shows and trusts, and one connection's encryption. Names OpenSSL's types only
// as pointers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/options.hpp"
#include "server/speaks.hpp"
#include "server/start_error.hpp"
#include "weir/vocabulary.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace weir::server {

/// A certificate, its key and whom to trust, as they were read once. Connections keep theirs.
using TlsContext = std::shared_ptr<ssl_ctx_st>;

/// For a server: TLS 1.2 or later, no renegotiation, no resumption.
Expected<TlsContext, StartError> load_tls(const TlsFileNames& files);

/// The files behind a context, and when they change.
///
/// Threads  one at a time
class TlsFiles {
 public:
  explicit TlsFiles(TlsFileNames names) : names_(std::move(names)) {}

  const TlsContext& context() const noexcept { return context_; }

  /// Reads the files now. What was read before stays in use where they are no good.
  std::optional<StartError> load();

  /// Once a second: whether the files are others than those last read, and have been the same for a
  /// second; a key is often written a moment after its certificate.
  bool changed();

 private:
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::array<Stamp, 3>;
  Stamps stamps() const;

  TlsFileNames names_;
  TlsContext context_;
  Stamps read_{};
  Stamps seen_{};
};

/// One connection's TLS, on a non-blocking socket that others own and wait for.
///
/// Memory   OpenSSL's buffers: a record each way at most, none while idle
/// Errors   `ended`: the client closed, or broke the protocol
class TlsStream {
 public:
  enum class Step : std::uint8_t { done, wants_read, wants_write, ended };
  struct Moved {
    Step step;
    std::size_t bytes = 0;
  };

  /// Of a socket whose client speaks so: where the client offers protocols by their names (ALPN),
  /// that is the one that is chosen, and no other.
  struct Of {
    int descriptor;
    Speaks speaks;
  };
  TlsStream(const TlsContext& context, const Of& of);

  Step handshake();
  bool established() const noexcept { return established_; }

  Moved read(std::span<char> room);
  /// May be called again with the same bytes at another place, and more behind them.
  Moved write(std::string_view bytes);

  /// Whether there may be input that the socket will not tell of.
  bool holds_input() const;

  /// Tells the client that nothing more will come.
  void finish();

 private:
  struct Free {
    void operator()(ssl_st* ssl) const noexcept;
  };
  Step step_after(int result);

  std::unique_ptr<ssl_st, Free> ssl_;
  bool established_ = false;
  bool broken_ = false;
};

}  // namespace weir::server
