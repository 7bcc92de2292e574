// Which server a call belongs to, where there may be several.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "redis/access.hpp"
#include "redis/cluster.hpp"
#include "redis/connection.hpp"
#include "redis/pipeline.hpp"
#include "weir/steady_instant.hpp"

namespace weir::redis {

/// Keeps the connections that a client needs, and knows the way.
///
/// Threads  the loop's
class Topology {
 public:
  using Heard = std::function<void(Pipeline::Ended&&)>;

  /// As whom a connection is made.
  enum class Guise : std::uint8_t {
    client,  ///< with the password and the database
    asker,   ///< with neither: a Sentinel knows none
  };

  /// What carries out a topology's wishes.
  class Host {
   public:
    virtual ~Host() = default;
    virtual std::unique_ptr<Connection> connect(const Node& node, Guise guise) = 0;
    /// Lets it end its calls, then destroys it. May be null.
    virtual void retire(std::unique_ptr<Connection> connection) = 0;
    /// `heard` is called once, but not after the topology's end, nor before this returns. False,
    /// and it is not called, where the connection is down or full.
    virtual bool question(Connection& at, std::string_view bytes, Heard heard) = 0;
    /// Calls that wait may find their way now.
    virtual void way_found() = 0;
  };

  /// Where a call goes now.
  struct Place {
    Connection* at = nullptr;  ///< null: not known
    enum class Else : std::uint8_t { wait, give_up } otherwise = Else::give_up;
  };

  /// What becomes of a call that was answered with an error.
  struct Next {
    enum class What : std::uint8_t {
      tell,    ///< the reply goes to who asked
      follow,  ///< to `stop`, at once
      pause,   ///< again to where it was, after a moment
      search,  ///< again from the start, once the way is found
    };
    What what = What::tell;
    Cluster::Stop stop{};
  };

  virtual ~Topology() = default;

  virtual Place place_of(std::uint16_t slot) = 0;
  virtual Place place_of(const Node& node) = 0;
  virtual Next judge(std::string_view error, Cluster::Journey& journey, const Node& asked) = 0;

  /// Of any connection that the host made for it.
  virtual void closed(Connection& at) = 0;
  virtual void opened(Connection& at) = 0;
  virtual void pushed(Connection& at, const wire::Reply& push) = 0;

  /// Does what is due; returns when to be called next.
  virtual SteadyInstant tick(SteadyInstant now) = 0;

  /// Why a place is not known.
  virtual std::string why() const = 0;
};

std::unique_ptr<Topology> make_sentinel_topology(Topology::Host& host, const Access& access);
std::unique_ptr<Topology> make_cluster_topology(Topology::Host& host, const Access& access);

}  // namespace weir::redis
