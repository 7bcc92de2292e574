"""Do clients that others wrote understand the server: grpcio, curl, h2load?

    clients_test.py RLS_SERVER PROTO_FOLDER
"""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

RLS = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
HEALTH = "/grpc.health.v1.Health/"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
SERVER, PROTO = sys.argv[1:3]

try:
    import grpc
    from google.protobuf import descriptor_pb2
    from proto_messages import messages_of
except ImportError:
    print("python3-grpcio is not installed: skipped")
    sys.exit(0)

MESSAGES = messages_of(PROTO)
Request = MESSAGES["envoy.service.ratelimit.v3.RateLimitRequest"]
Response = MESSAGES["envoy.service.ratelimit.v3.RateLimitResponse"]
HealthRequest = MESSAGES["grpc.health.v1.HealthCheckRequest"]
HealthResponse = MESSAGES["grpc.health.v1.HealthCheckResponse"]
Inquiry = MESSAGES["grpc.reflection.v1alpha.ServerReflectionRequest"]
Told = MESSAGES["grpc.reflection.v1alpha.ServerReflectionResponse"]


def request_of(key: str) -> "Request":
    request = Request(domain="edge")
    request.descriptors.add().entries.add(key=key, value="1")
    return request


class Clients(unittest.TestCase):
    def setUp(self):
        self.server = subprocess.Popen([SERVER, "weir"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        self.address = self.server.stdout.readline().split()[1]
        self.channel = grpc.insecure_channel(self.address)
        self.addCleanup(self.channel.close)
        self.ask = self.channel.unary_unary(RLS, request_serializer=Request.SerializeToString,
                                            response_deserializer=Response.FromString)

    def stop(self):
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()

    def fails(self, call):
        with self.assertRaises(grpc.RpcError) as raised:
            call()
        return raised.exception.code(), raised.exception.details()

    def test_limits_are_asked(self):
        answer = self.ask(request_of("a"), timeout=5)
        self.assertEqual((answer.overall_code, answer.statuses[0].limit_remaining), (1, 9))
        self.assertEqual(self.ask(request_of("over"), timeout=5).overall_code, 2)

    def test_a_thousand_calls_at_once_are_answered(self):
        calls = [self.ask.future(request_of("a"), timeout=20) for _ in range(1000)]
        self.assertEqual({call.result().overall_code for call in calls}, {1})

    def test_errors_come_with_their_words(self):
        self.assertEqual(self.fails(lambda: self.ask(Request(), timeout=5)),
                         (grpc.StatusCode.UNKNOWN, "rate limit domain must not be empty"))
        request = Request(domain="edge")
        request.descriptors.add().entries.add(key="fail", value="100 % 堰\n")
        self.assertEqual(self.fails(lambda: self.ask(request, timeout=5)),
                         (grpc.StatusCode.UNKNOWN, "100 % 堰\n"))
        missing = self.channel.unary_unary("/no.Such/Method")
        self.assertEqual(self.fails(lambda: missing(b"", timeout=5)),
                         (grpc.StatusCode.UNIMPLEMENTED, "no such method: /no.Such/Method"))

    def test_what_is_too_large_is_said_to_be(self):
        self.assertEqual(self.ask(request_of("x" * 4_000_000), timeout=20).overall_code, 1)
        request = request_of("x" * 4_200_000)
        self.assertEqual(self.fails(lambda: self.ask(request, timeout=20))[0],
                         grpc.StatusCode.RESOURCE_EXHAUSTED)
        small_by_gzip = request_of("x" * 1000)
        self.assertEqual(self.fails(lambda: self.ask(small_by_gzip, timeout=5,
                                                     compression=grpc.Compression.Gzip)),
                         (grpc.StatusCode.UNIMPLEMENTED,
                          "grpc-encoding: expected identity, found 'gzip'"))
        self.assertEqual(self.ask(request_of("a"), timeout=5).overall_code, 1)

    def test_health_is_checked_and_watched(self):
        ways = {"request_serializer": HealthRequest.SerializeToString,
                "response_deserializer": HealthResponse.FromString}
        check = self.channel.unary_unary(HEALTH + "Check", **ways)
        self.assertEqual(check(HealthRequest(), timeout=5).status, 1)
        self.assertEqual(self.fails(lambda: check(HealthRequest(service="no"), timeout=5))[0],
                         grpc.StatusCode.NOT_FOUND)
        watched = self.channel.unary_stream(HEALTH + "Watch", **ways)(HealthRequest(), timeout=20)
        self.assertEqual(next(watched).status, 1)
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.fails(lambda: next(watched))[0], grpc.StatusCode.UNAVAILABLE)
        self.assertEqual(self.server.wait(10), 0)

    def test_tools_learn_what_there_is(self):
        inquire = self.channel.stream_stream(REFLECTION,
                                             request_serializer=Inquiry.SerializeToString,
                                             response_deserializer=Told.FromString)
        asked = [Inquiry(list_services="*"),
                 Inquiry(file_containing_symbol="grpc.health.v1.Health")]
        services, file = inquire(iter(asked), timeout=5)
        self.assertIn("envoy.service.ratelimit.v3.RateLimitService",
                      [each.name for each in services.list_services_response.service])
        described = descriptor_pb2.FileDescriptorProto.FromString(
            file.file_descriptor_response.file_descriptor_proto[0])
        self.assertEqual(described.name, "grpc/health/v1/health.proto")

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_curl_is_answered(self):
        with tempfile.NamedTemporaryFile() as body:
            body.write(bytes(5))
            body.flush()
            told = subprocess.run(
                ["curl", "--silent", "--http2-prior-knowledge", "--max-time", "10",
                 "--dump-header", "-", "--output", "/dev/null",
                 "--header", "content-type: application/grpc",
                 "--data-binary", f"@{body.name}", f"http://{self.address}{HEALTH}Check"],
                capture_output=True, text=True, check=True).stdout
        self.assertIn("HTTP/2 200", told)
        self.assertIn("grpc-status: 0", told)

    @unittest.skipUnless(shutil.which("h2load"), "h2load is not installed")
    def test_h2load_is_answered(self):
        with tempfile.NamedTemporaryFile() as body:
            message = request_of("a").SerializeToString()
            body.write(b"\0" + len(message).to_bytes(4, "big") + message)
            body.flush()
            told = subprocess.run(
                ["h2load", "-n", "20000", "-c", "10", "-m", "100", "-d", body.name,
                 "-H", "content-type: application/grpc", f"http://{self.address}{RLS}"],
                capture_output=True, text=True, check=True).stdout
        self.assertRegex(told, re.escape("20000 succeeded, 0 failed"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
