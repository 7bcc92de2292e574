// Many connections that are asked on a fixed schedule, however late their answers are.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::bench {

/// How questions and answers look on one connection.
///
/// Threads  one at a time
/// Errors   take() throws load::LoadFailed for what is no answer, or a refusal
class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual std::string name() const = 0;
  /// Which listener of weir serve speaks it.
  virtual std::string listener() const = 0;
  /// What a connection begins with.
  virtual std::string greeting() const { return {}; }
  /// Appends the connection's next question, the number-th from 0.
  virtual void ask(std::string& output, std::uint32_t number) const = 0;

  struct Taken {
    std::size_t bytes = 0;    ///< 0 where more must come
    std::size_t answers = 0;  ///< that ended in them: 0 or 1
  };
  /// Takes the first thing that a server said; appends to `output` what that calls for.
  virtual Taken take(std::string_view bytes, std::string& output) const = 0;
};

/// CL.THROTTLE over RESP, GET /v1/forward over HTTP/1.1, ShouldRateLimit over gRPC.
std::vector<const Protocol*> protocols();

/// What one gRPC connection sends that begins so many calls and resets each at once.
std::string abandoned_calls(std::uint32_t count);

struct OpenLoad {
  std::uint16_t port = 0;  ///< on 127.0.0.1
  std::uint32_t connections = 50;
  std::chrono::nanoseconds lasts{};
  /// Between two questions, which go to the connections in turn. 0: a closed loop, where each
  /// connection asks when it has been answered.
  std::chrono::nanoseconds every{0};
};

/// In the order of the answers.
struct Lateness {
  std::vector<std::chrono::nanoseconds> answered{};  ///< after the question was due
  std::vector<std::chrono::nanoseconds> asked{};     ///< the same, when it was sent: the client's
};

/// One thread, which never sleeps: it needs a processor of its own. Throws load::LoadFailed; no
/// answer within ten seconds of the end is one.
Lateness run(const Protocol& protocol, const OpenLoad& load);

}  // namespace weir::bench
