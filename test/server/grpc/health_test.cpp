// Is a service's health told as it is, and its change to who watches? And do tools learn by
// reflection what there is to call?
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpc/health/v1/health.pb.h>
#include <grpc/reflection/v1/reflection.pb.h>
#include <grpc/reflection/v1alpha/reflection.pb.h>

#include "test/server/grpc/grpc_fixture.hpp"

namespace weir::test {
namespace {

using namespace server::grpc;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using testing::Contains;
using testing::ElementsAre;
using testing::SizeIs;

class GrpcHealth : public GrpcFixture {
 protected:
  static constexpr const char* check = "/grpc.health.v1.Health/Check";
  static constexpr const char* watch = "/grpc.health.v1.Health/Watch";

  static std::string of(const std::string& service) {
    HealthCheckRequest request;
    request.set_service(service);
    return framed(request.SerializeAsString());
  }

  static std::vector<int> told(const Heard& heard) {
    std::vector<int> statuses;
    for (const std::string& message : heard.messages()) {
      HealthCheckResponse response;
      EXPECT_TRUE(response.ParseFromString(message));
      statuses.push_back(response.status());
    }
    return statuses;
  }
};

TEST_F(GrpcHealth, IsToldOfTheServerAndOfItsServices) {
  health.set("a.Service", Health::Serving::not_serving);
  EXPECT_THAT(told(ask(call_header(check), of(""))), ElementsAre(HealthCheckResponse::SERVING));
  EXPECT_THAT(told(ask(call_header(check), of("a.Service"))),
              ElementsAre(HealthCheckResponse::NOT_SERVING));
  const Heard& unknown = ask(call_header(check), of("no.Service"));
  EXPECT_EQ(unknown.code(), 5);
  EXPECT_EQ(unknown.message(), "no such service: no.Service");
  EXPECT_EQ(ask(call_header(check), framed("\xff")).code(), 13);
}

TEST_F(GrpcHealth, OfAServiceWithALongNameIsToldInAShortMessage) {
  const Heard& heard = ask(call_header(check), of(std::string(60'000, '%')));
  EXPECT_EQ(heard.code(), 5);
  EXPECT_LE(heard.message().size(), 3 * 1024U);
}

TEST_F(GrpcHealth, IsToldToWatchersAtFirstAndWhenItChanges) {
  const std::int32_t stream = client->call(call_header(watch), of(""));
  converse(*client, *dialogue);
  EXPECT_THAT(told(client->heard(stream)), ElementsAre(HealthCheckResponse::SERVING));
  tick(400);  // that nothing changes is no idleness
  EXPECT_THAT(told(client->heard(stream)), SizeIs(1));
  health.set("", Health::Serving::not_serving);
  tick(1);
  health.set("", Health::Serving::serving);
  tick(1);
  EXPECT_THAT(told(client->heard(stream)),
              ElementsAre(HealthCheckResponse::SERVING, HealthCheckResponse::NOT_SERVING,
                          HealthCheckResponse::SERVING));
  EXPECT_FALSE(client->heard(stream).ended);
}

TEST_F(GrpcHealth, OfAServiceThatIsNotThereYetIsUnknownUntilItIs) {
  const std::int32_t stream = client->call(call_header(watch), of("new.Service"));
  converse(*client, *dialogue);
  health.set("new.Service", Health::Serving::serving);
  tick(1);
  EXPECT_THAT(told(client->heard(stream)),
              ElementsAre(HealthCheckResponse::SERVICE_UNKNOWN, HealthCheckResponse::SERVING));
}

TEST_F(GrpcHealth, IsToldALastTimeWhenTheServerEnds) {
  const std::int32_t stream = client->call(call_header(watch), of(""));
  converse(*client, *dialogue);
  health.set("", Health::Serving::not_serving);
  dialogue->drain();
  converse(*client, *dialogue);
  EXPECT_THAT(told(client->heard(stream)),
              ElementsAre(HealthCheckResponse::SERVING, HealthCheckResponse::NOT_SERVING));
  EXPECT_EQ(client->heard(stream).code(), 14);
  EXPECT_TRUE(dialogue->ended());
}

TEST_F(GrpcHealth, IsToldBeforeTheWatchEnds) {
  const std::int32_t stream = client->call(call_header(watch), of(""));
  converse(*client, *dialogue);
  health.set("", Health::Serving::not_serving);
  dialogue->drain();
  // Begun before its client has heard of the end.
  const std::int32_t meanwhile = client->call(call_header(watch), of(""));
  dialogue->receive(client->said());
  client->hear(written(*dialogue));
  EXPECT_THAT(told(client->heard(stream)),
              ElementsAre(HealthCheckResponse::SERVING, HealthCheckResponse::NOT_SERVING));
  EXPECT_FALSE(client->heard(stream).ended);
  converse(*client, *dialogue);
  EXPECT_EQ(client->heard(stream).code(), 14);
  EXPECT_EQ(client->heard(meanwhile).code(), 14);
  EXPECT_TRUE(dialogue->ended());
}

TEST_F(GrpcHealth, IsWatchedByOneMessage) {
  EXPECT_EQ(ask(call_header(watch), of("") + of("")).code(), 13);
  EXPECT_EQ(ask(call_header(watch), "").code(), 13);
  EXPECT_EQ(ask(call_header(watch), of("").substr(0, 3)).code(), 13);
  EXPECT_EQ(ask(call_header(watch), framed("\xff")).code(), 13);
}

TEST_F(GrpcHealth, IsNotWatchedByWhoTakesNothing) {
  client->close_window();
  client->call(call_header(watch), of(""));
  converse(*client, *dialogue);
  tick(10);
  EXPECT_TRUE(dialogue->ended());
}

// ---- Reflection ----

template <typename Version>
class GrpcReflection : public GrpcFixture {
 protected:
  using Request = typename Version::Request;
  using Response = typename Version::Response;

  std::vector<Response> answers(const std::vector<Request>& requests) {
    std::string body;
    for (const Request& request : requests) body += framed(request.SerializeAsString());
    const Heard& heard = this->ask(call_header(Version::path), body);
    EXPECT_EQ(heard.code(), 0) << heard.message();
    std::vector<Response> responses;
    for (const std::string& message : heard.messages()) {
      EXPECT_TRUE(responses.emplace_back().ParseFromString(message));
    }
    return responses;
  }

  static std::vector<std::string> files_of(const Response& response) {
    std::vector<std::string> names;
    for (const auto& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(bytes));
      names.push_back(file.name());
    }
    return names;
  }
};

struct V1 {
  using Request = ::grpc::reflection::v1::ServerReflectionRequest;
  using Response = ::grpc::reflection::v1::ServerReflectionResponse;
  static constexpr const char* path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
};
struct V1Alpha {
  using Request = ::grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = ::grpc::reflection::v1alpha::ServerReflectionResponse;
  static constexpr const char* path =
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
};
using ReflectionVersions = testing::Types<V1, V1Alpha>;
TYPED_TEST_SUITE(GrpcReflection, ReflectionVersions, );

TYPED_TEST(GrpcReflection, NamesServicesAndTheirFiles) {
  typename TypeParam::Request list;
  list.set_host("here");
  list.set_list_services("*");
  typename TypeParam::Request symbol;
  symbol.set_file_containing_symbol("envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit");
  typename TypeParam::Request file;
  file.set_file_by_filename("grpc/health/v1/health.proto");
  const auto responses = this->answers({list, symbol, file});
  ASSERT_EQ(responses.size(), 3U);
  std::vector<std::string> names;
  for (const auto& service : responses[0].list_services_response().service()) {
    names.push_back(service.name());
  }
  EXPECT_THAT(names, ElementsAre("envoy.service.ratelimit.v3.RateLimitService",
                                 "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                 "grpc.reflection.v1alpha.ServerReflection"));
  EXPECT_EQ(responses[0].valid_host(), "here");
  EXPECT_EQ(responses[0].original_request().list_services(), "*");
  const auto files = this->files_of(responses[1]);
  EXPECT_EQ(files.front(), "envoy/service/ratelimit/v3/rls.proto");
  EXPECT_THAT(files, Contains("google/protobuf/struct.proto"));
  EXPECT_THAT(files, SizeIs(8));
  EXPECT_THAT(this->files_of(responses[2]), ElementsAre("grpc/health/v1/health.proto"));
}

TYPED_TEST(GrpcReflection, SaysWhatThereIsNot) {
  std::vector<typename TypeParam::Request> requests(6);
  requests[0].set_file_by_filename("no.proto");
  requests[1].set_file_containing_symbol("no.Symbol");
  requests[2].mutable_file_containing_extension()->set_extension_number(1);
  requests[3].set_all_extension_numbers_of_type("no.Type");
  requests[5].set_all_extension_numbers_of_type("grpc.health.v1.HealthCheckRequest");
  const auto responses = this->answers(requests);
  ASSERT_EQ(responses.size(), 6U);
  for (int at = 0; at < 4; ++at) EXPECT_EQ(responses[at].error_response().error_code(), 5) << at;
  EXPECT_EQ(responses[0].error_response().error_message(), "no such file: no.proto");
  EXPECT_EQ(responses[4].error_response().error_code(), 3);
  EXPECT_EQ(responses[5].all_extension_numbers_response().base_type_name(),
            "grpc.health.v1.HealthCheckRequest");
}

TYPED_TEST(GrpcReflection, AnswersAsFastAsItsAnswersAreTaken) {
  // Small questions with large answers: what has no room waits, and nothing is lost.
  std::vector<typename TypeParam::Request> requests(500);
  for (auto& request : requests) {
    request.set_file_by_filename("envoy/service/ratelimit/v3/rls.proto");
  }
  EXPECT_EQ(this->answers(requests).size(), 500U);
}

TYPED_TEST(GrpcReflection, ForgetsWhoAsksNothingMore) {
  const std::int32_t stream = this->client->open(call_header(TypeParam::path), "");
  converse(*this->client, *this->dialogue);
  this->tick(59);
  EXPECT_FALSE(this->client->heard(stream).ended);
  this->tick(1);
  EXPECT_EQ(this->client->heard(stream).code(), 4);
}

TYPED_TEST(GrpcReflection, HoldsNoMoreThanAMessageOfWhoTakesNothing) {
  typename TypeParam::Request request;
  request.set_file_by_filename("envoy/service/ratelimit/v3/rls.proto");
  std::string body;
  while (body.size() < 1'000'000) body += framed(request.SerializeAsString());
  this->client->close_window();
  const std::int32_t stream = this->client->open(call_header(TypeParam::path), body);
  converse(*this->client, *this->dialogue);
  EXPECT_EQ(this->client->heard(stream).body, "");
  EXPECT_EQ(this->client->goaway(), std::nullopt);
  this->tick(10);
  EXPECT_TRUE(this->dialogue->ended());
}

}  // namespace
}  // namespace weir::test
