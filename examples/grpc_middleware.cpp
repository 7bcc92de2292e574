// Access limits in the handlers of a gRPC server: five replies a minute for each user.
//
//   grpc_middleware   serves a port of 127.0.0.1, asks itself, and shows the answers
//
// It shows: over the limit a call ends with RESOURCE_EXHAUSTED and the application's own words,
// retry-after is in its trailing metadata, and the handler does no work; who is not logged in is
// UNAUTHENTICATED, and counts for nothing.
#include <forum.grpc.pb.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "weir/http/grpcpp.hpp"

namespace {

using namespace std::chrono_literals;

/// A service verifies a token here. Metadata that any client may write proves nothing.
std::string_view user_of(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find("user");
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

class Forum final : public forum::Forum::Service {
 public:
  grpc::Status Reply(grpc::ServerContext* context, const forum::Post* /*request*/,
                     forum::Posted* posted) override {
    if (auto refused = weir::http::refusal(
            limits_, *context, {.method = "/forum.Forum/Reply", .user = user_of(*context)})) {
      return *refused;
    }
    posted->set_number(++replied_);
    return grpc::Status::OK;
  }

  int replied() const noexcept { return replied_; }

 private:
  const weir::http::AccessLimits limits_ =
      weir::http::AccessLimits::of({{.path = "/forum.Forum/Reply",
                                     .max_count = 5,
                                     .within = 60s,
                                     .need_login = true,
                                     .answer = {429, "text/plain", "take a rest"}}});
  std::atomic<int> replied_{0};
};

/// How a call ended, and when it may be made again.
struct Ended {
  grpc::Status status;
  std::string retry_after;
};

Ended reply(forum::Forum::Stub& stub, const std::string& user) {
  grpc::ClientContext context;
  if (!user.empty()) context.AddMetadata("user", user);
  forum::Posted posted;
  Ended ended{stub.Reply(&context, {}, &posted), {}};
  const auto& metadata = context.GetServerTrailingMetadata();
  if (const auto found = metadata.find("retry-after"); found != metadata.end()) {
    ended.retry_after.assign(found->second.data(), found->second.size());
  }
  std::cout << (user.empty() ? "nobody" : user) << ": " << ended.status.error_code() << ' '
            << ended.status.error_message() << ' ' << ended.retry_after << '\n';
  return ended;
}

/// True where everything was as it should be.
bool show(forum::Forum::Stub& stub, const Forum& forum) {
  bool right = reply(stub, "").status.error_code() == grpc::StatusCode::UNAUTHENTICATED;
  for (int call = 0; call < 5; ++call) right &= reply(stub, "alice").status.ok();
  const Ended refused = reply(stub, "alice");
  right &= refused.status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  right &= refused.status.error_message() == "take a rest" && refused.retry_after == "60";
  right &= reply(stub, "bob").status.ok();
  return right && forum.replied() == 6;
}

}  // namespace

int main() {
  Forum forum;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&forum);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 2;
  const auto stub = forum::Forum::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  const bool right = show(*stub, forum);
  server->Shutdown();
  return right ? 0 : 1;
}
