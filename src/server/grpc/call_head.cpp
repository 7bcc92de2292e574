#include "server/grpc/call_head.hpp"

namespace weir::server::grpc {
namespace {

constexpr std::size_t field_overhead = 32;  ///< RFC 9113, 6.5.2
constexpr std::size_t shown_bytes = 128;    ///< of a client's text in an error

}  // namespace

void CallHead::read(std::string_view name, std::string_view value, const Services& services) {
  list_bytes_ += name.size() + value.size() + field_overhead;
  if (name == ":path") {
    method_ = services.find(value);
    if (!method_) unknown_path_ = value.substr(0, shown_bytes);
  } else if (name == ":method") {
    posts_ = value == "POST";
  } else if (name == "content-type") {
    is_grpc_ = server::grpc::is_grpc(value);
  } else if (name == "grpc-timeout") {
    timeout_ = timeout_of(value);
    bad_timeout_ = !timeout_;
  } else if (name == "grpc-encoding") {
    encoding_ = value == "identity" ? std::string_view() : value.substr(0, shown_bytes);
  }
}

std::optional<Refusal> CallHead::refusal(std::size_t most_list_bytes) const {
  if (longer_than(most_list_bytes)) {
    return Refusal{"431",
                   {Code::resource_exhausted, "the header list is longer than " +
                                                  std::to_string(most_list_bytes) + " bytes"}};
  }
  if (!posts_) return Refusal{"405", {Code::internal, "expected the HTTP method POST"}};
  if (!is_grpc_) {
    return Refusal{"415",
                   {Code::invalid_argument,
                    "expected content-type application/grpc or application/grpc+proto"}};
  }
  if (!method_) {
    return Refusal{"200", {Code::unimplemented, "no such method: " + unknown_path_}};
  }
  if (bad_timeout_) {
    return Refusal{"400",
                   {Code::internal, "grpc-timeout: expected 1 to 8 digits and one of H M S m u n"}};
  }
  if (timeout_ && timeout_->count() == 0) {
    return Refusal{"200", {Code::deadline_exceeded, "grpc-timeout: no time is left"}};
  }
  return {};
}

}  // namespace weir::server::grpc
