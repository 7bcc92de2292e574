#include "server/grpc/reflection.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpc/reflection/v1/reflection.pb.h>
#include <grpc/reflection/v1alpha/reflection.pb.h>

#include <memory>
#include <set>
#include <string>

namespace weir::server::grpc {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

constexpr int quiet_seconds = 60;  ///< after which a client that asks nothing more is let go

/// Either version: their messages differ in the package alone.
template <typename Request, typename Response>
class Inquiry final : public Conversation {
 public:
  explicit Inquiry(const Services& services) : services_(services) {}

  void hear(std::string_view message, const Reply& reply) override {
    quiet_for_ = 0;
    Request request;
    if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
      return reply.finish({Code::internal, "the message is no ServerReflectionRequest"});
    }
    Response response;
    response.set_valid_host(request.host());
    answer(request, response);
    *response.mutable_original_request() = std::move(request);
    reply.send(response);
  }

  void hear_end(const Reply& reply) override { reply.finish(); }

  void tick(const Reply& reply) override {
    if (++quiet_for_ >= quiet_seconds) {
      reply.finish({Code::deadline_exceeded, "nothing was asked for a minute"});
    }
  }

  void drain(const Reply&) override {}

 private:
  void answer(const Request& request, Response& response) const {
    const DescriptorPool& pool = *DescriptorPool::generated_pool();
    switch (request.message_request_case()) {
      case Request::kFileByFilename: {
        const std::string& name = request.file_by_filename();
        return tell_files(pool.FindFileByName(name), "no such file: " + name, response);
      }
      case Request::kFileContainingSymbol: {
        const std::string& name = request.file_containing_symbol();
        return tell_files(pool.FindFileContainingSymbol(name), "no such symbol: " + name, response);
      }
      case Request::kListServices:
        for (std::string& name : services_.names()) {
          response.mutable_list_services_response()->add_service()->set_name(std::move(name));
        }
        return;
      case Request::kAllExtensionNumbersOfType: {
        const std::string& name = request.all_extension_numbers_of_type();
        if (!pool.FindMessageTypeByName(name)) {
          return tell_error(Code::not_found, "no such message: " + name, response);
        }
        response.mutable_all_extension_numbers_response()->set_base_type_name(name);
        return;
      }
      case Request::kFileContainingExtension:
        return tell_error(Code::not_found, "there are no extensions", response);
      default:
        return tell_error(Code::invalid_argument, "the request asks for nothing known", response);
    }
  }

  /// The file, and those that it imports.
  static void tell_files(const FileDescriptor* file, const std::string& absence,
                         Response& response) {
    if (!file) return tell_error(Code::not_found, absence, response);
    std::set<const FileDescriptor*> told;
    tell_file(*file, told, response);
  }

  static void tell_file(const FileDescriptor& file, std::set<const FileDescriptor*>& told,
                        Response& response) {
    if (!told.insert(&file).second) return;
    google::protobuf::FileDescriptorProto text;
    file.CopyTo(&text);
    text.SerializeToString(
        response.mutable_file_descriptor_response()->add_file_descriptor_proto());
    for (int at = 0; at < file.dependency_count(); ++at) {
      tell_file(*file.dependency(at), told, response);
    }
  }

  static void tell_error(Code code, const std::string& message, Response& response) {
    auto& error = *response.mutable_error_response();
    error.set_error_code(static_cast<int>(code));
    error.set_error_message(message);
  }

  const Services& services_;
  int quiet_for_ = 0;
};

template <typename Request, typename Response>
Streaming inquiries_of(const Services& services) {
  return [&services] { return std::make_unique<Inquiry<Request, Response>>(services); };
}

}  // namespace

void serve_reflection_by(Services& services) {
  namespace v1 = ::grpc::reflection::v1;
  namespace v1alpha = ::grpc::reflection::v1alpha;
  services.add("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
               inquiries_of<v1::ServerReflectionRequest, v1::ServerReflectionResponse>(services));
  services.add(
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
      inquiries_of<v1alpha::ServerReflectionRequest, v1alpha::ServerReflectionResponse>(services));
}

}  // namespace weir::server::grpc
