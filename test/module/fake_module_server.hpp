// The module in the server of this process, as a host under test.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "test/module/fake_server.hpp"
#include "test/module/module_host.hpp"

namespace weir::module {

class FakeModuleServer : public ModuleServer {
 public:
  explicit FakeModuleServer(FakeServer& server) : server_(server) {}

  std::string name() const override { return "the module"; }
  void set_time(Instant now) override { server_.set_time(now); }
  wire::Reply run(const std::vector<std::string>& command) override { return server_.run(command); }
  std::optional<std::string> get(const std::string& key) override {
    const auto at = server_.keys().find(key);
    if (at == server_.keys().end()) return {};
    return at->second.bytes;
  }
  bool is_mortal(const std::string& key) override {
    return server_.keys().at(key).until_ms.has_value();
  }

 private:
  FakeServer& server_;
};

}  // namespace weir::module
