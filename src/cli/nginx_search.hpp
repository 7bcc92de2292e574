// Which of nginx's locations a request finds.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/nginx_config.hpp"

namespace weir::cli {

/// A block, what is limited in it, and the blocks inside.
struct NginxBlock {
  std::size_t line = 0;
  std::size_t place = 0;  ///< among all
  std::string kind{};
  NginxBlock* parent = nullptr;
  NginxLocation location{};          ///< where it is one
  std::vector<std::string> hosts{};  ///< of a server; none: any
  std::vector<NginxDirective> limits{};
  bool shadow = false;
  std::vector<std::size_t> rules{};  ///< that were made of it
  std::vector<std::unique_ptr<NginxBlock>> inside{};

  bool is_location() const { return kind == "location"; }
  bool is_expression() const {
    return is_location() && location.form == NginxLocation::Form::expression;
  }
  bool is_inside(const NginxBlock& other) const;
  const NginxBlock* around(std::string_view wanted) const;  ///< itself, or the nearest of the kind

  /// The nearest block around it that has limits: nginx counts by those where it has none itself.
  const NginxBlock* heritage() const;
};

/// Requests for which nginx looks through the same locations.
struct NginxCell {
  /// In the order in which they are taken: expressions, then the one without, or the server.
  std::vector<NginxBlock*> taken{};
  std::vector<NginxBlock*> passed{};  ///< that are for the requests too, but are never taken
};

/// All that there are in a block that has locations.
std::vector<NginxCell> cells_of(NginxBlock& server);

/// Whether requests that both servers name go to this one, as it names them more closely.
bool names_closer(const NginxBlock& server, const NginxBlock& other);

}  // namespace weir::cli
