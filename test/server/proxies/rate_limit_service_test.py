"""Is weir the rate limit service that Envoy expects: rate_limit_service_test.py PROTO_FOLDER

The files of envoyproxy/ratelimit, and what its own integration test asks of them.
"""

import contextlib
import itertools
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve()
sys.path += [str(HERE.parents[1] / "clients"), str(HERE.parents[1] / "grpc")]

try:
    import grpc
    from proto_messages import messages_of
except ImportError as absent:
    print(f"{absent.name} is not installed: skipped")
    sys.exit(77)
from weir_process import Weir  # noqa: E402

RLS = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
WATCH = "/grpc.health.v1.Health/Watch"
MESSAGES = messages_of(sys.argv.pop(1))
Request = MESSAGES["envoy.service.ratelimit.v3.RateLimitRequest"]
Response = MESSAGES["envoy.service.ratelimit.v3.RateLimitResponse"]
HealthRequest = MESSAGES["grpc.health.v1.HealthCheckRequest"]
HealthResponse = MESSAGES["grpc.health.v1.HealthCheckResponse"]
OK, OVER = 1, 2
SERVING, NOT_SERVING = 1, 2
SECOND, MINUTE = 1, 2

BASIC = """
domain: basic
descriptors:
  - key: key1
    rate_limit: {unit: second, requests_per_unit: 50}
"""
ANOTHER = """
domain: another
descriptors:
  - key: key2
    rate_limit: {unit: minute, requests_per_unit: 20}
  - key: key3
    rate_limit: {unit: hour, requests_per_unit: 10}
"""
SPECIAL = """
domain: special
descriptors:
  - {key: unlimited, rate_limit: {unlimited: true}}
  - {key: shadow, rate_limit: {unit: minute, requests_per_unit: 2}, shadow_mode: true}
  - {key: none, rate_limit: {unit: minute, requests_per_unit: 0}}
  - {key: counted, rate_limit: {unit: minute, requests_per_unit: 10}}
"""


def request_of(domain, *descriptors):
    """Each descriptor is a list of (key, value)."""
    request = Request(domain=domain)
    for entries in descriptors:
        descriptor = request.descriptors.add()
        for key, value in entries:
            descriptor.entries.add(key=key, value=value)
    return request


class Service(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, text in (("basic", BASIC), ("another", ANOTHER), ("special", SPECIAL)):
            (pathlib.Path(folder.name) / f"{name}.yaml").write_text(text)
        self.weir = Weir("--rules", folder.name)
        self.addCleanup(self.weir.stop)
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.weir.ports['grpc']}")
        self.addCleanup(self.channel.close)
        self.call = self.channel.unary_unary(RLS, request_serializer=Request.SerializeToString,
                                             response_deserializer=Response.FromString)
        self.ask = lambda *asked: self.call(request_of(*asked), timeout=10)

    def in_one_window(self, calls):
        """What calls(value) gives, of a value that is new, where no minute began meanwhile."""
        for attempt in itertools.count():
            minute = time.time() // 60
            answers = calls(f"value-{attempt}")
            if time.time() // 60 == minute:
                return answers

    def test_tells_the_limit_and_what_is_left(self):
        answer = self.ask("basic", [("key1", "foo")])
        self.assertEqual((answer.overall_code, len(answer.statuses)), (OK, 1))
        status = answer.statuses[0]
        self.assertEqual((status.code, status.limit_remaining), (OK, 49))
        self.assertEqual((status.current_limit.requests_per_unit, status.current_limit.unit),
                         (50, SECOND))

    def test_counts_down_and_then_says_over(self):
        answers = self.in_one_window(
            lambda value: [self.ask("another", [("key2", value)]) for _ in range(25)])
        self.assertEqual([(each.overall_code, each.statuses[0].limit_remaining)
                          for each in answers],
                         [(OK, left) for left in range(19, -1, -1)] + [(OVER, 0)] * 5)

    def test_one_descriptor_over_is_over_and_the_other_counts_on(self):
        answers = self.in_one_window(
            lambda value: [self.ask("another", [("key2", value)], [("key3", value)])
                           for _ in range(15)])
        self.assertEqual([each.overall_code for each in answers], [OK] * 10 + [OVER] * 5)
        self.assertEqual([(each.statuses[0].code, each.statuses[0].limit_remaining)
                          for each in answers], [(OK, left) for left in range(19, 4, -1)])
        self.assertEqual([each.statuses[1].code for each in answers], [OK] * 10 + [OVER] * 5)

    def test_a_domain_that_nobody_knows_is_ok_without_a_limit(self):
        answer = self.ask("foo", [("key1", "foo")])
        self.assertEqual((answer.overall_code, len(answer.statuses)), (OK, 1))
        self.assertFalse(answer.statuses[0].HasField("current_limit"))
        self.assertEqual(answer.statuses[0].limit_remaining, 0)

    def test_a_domain_and_descriptors_must_be_there(self):
        for asked, words in ((("", [("key1", "foo")]), "rate limit domain must not be empty"),
                             (("basic",), "rate limit descriptor list must not be empty")):
            with self.assertRaises(grpc.RpcError) as raised:
                self.ask(*asked)
            self.assertEqual((raised.exception.code(), raised.exception.details()),
                             (grpc.StatusCode.UNKNOWN, words))

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_curl_is_answered(self):
        message = request_of("basic", [("key1", "curl")]).SerializeToString()
        with tempfile.TemporaryDirectory() as folder:
            asked, answered = (pathlib.Path(folder) / name for name in ("asked", "answered"))
            asked.write_bytes(b"\0" + len(message).to_bytes(4, "big") + message)
            head = subprocess.run(
                ["curl", "--silent", "--http2-prior-knowledge", "--max-time", "10",
                 "--dump-header", "-", "--output", answered,
                 "--header", "content-type: application/grpc", "--header", "te: trailers",
                 "--data-binary", f"@{asked}",
                 f"http://127.0.0.1:{self.weir.ports['grpc']}{RLS}"],
                capture_output=True, text=True, check=True).stdout
            framed = answered.read_bytes()
        self.assertIn("grpc-status: 0", head)
        self.assertEqual(framed[:5], b"\0" + (len(framed) - 5).to_bytes(4, "big"))
        answer = Response.FromString(framed[5:])
        self.assertEqual((answer.overall_code, answer.statuses[0].limit_remaining), (OK, 49))

    def test_calls_are_counted_and_some_are_timed(self):
        for _ in range(100):
            self.ask("basic", [("key1", "foo")])
        url = f"http://127.0.0.1:{self.weir.ports['metrics']}/metrics"
        with urllib.request.urlopen(url, timeout=10) as told:
            metrics = told.read().decode()
        self.assertIn("\nweir_grpc_calls_total 100\n", metrics)
        timed = re.search(r'\nweir_decision_duration_seconds_count{protocol="grpc"} (\d+)', metrics)
        self.assertGreater(int(timed[1]), 0)

    def test_what_is_unlimited_has_all_left(self):
        answer = self.ask("special", [("unlimited", "x")])
        self.assertEqual((answer.overall_code, answer.statuses[0].code), (OK, OK))
        self.assertEqual(answer.statuses[0].limit_remaining, 2**32 - 1)
        self.assertFalse(answer.statuses[0].HasField("current_limit"))

    def test_a_rule_in_shadow_mode_says_ok_with_nothing_left(self):
        def calls(value):
            return [self.ask("special", [("shadow", value)]) for _ in range(4)]

        for left, answer in zip((1, 0, 0, 0), self.in_one_window(calls)):
            self.assertEqual((answer.overall_code, answer.statuses[0].code), (OK, OK))
            self.assertEqual(answer.statuses[0].limit_remaining, left)

    def test_a_limit_of_none_is_over_from_the_first(self):
        answer = self.ask("special", [("none", "x")])
        self.assertEqual((answer.overall_code, answer.statuses[0].code), (OVER, OVER))
        self.assertEqual(answer.statuses[0].limit_remaining, 0)

    def test_a_descriptors_own_limit_goes_before_the_rules(self):
        def overridden(domain, key, value):
            request = request_of(domain, [(key, value)])
            request.descriptors[0].limit.requests_per_unit = 2
            request.descriptors[0].limit.unit = MINUTE
            return [self.call(request, timeout=10) for _ in range(4)]

        # More than the rule lets through, less than it does, of a rule in shadow mode, of no rule.
        for key in ("none", "key2", "shadow", "nobodys"):
            domain = "another" if key == "key2" else "special"
            answers = self.in_one_window(lambda value, key=key: overridden(domain, key, value))
            self.assertEqual([each.overall_code for each in answers], [OK, OK, OVER, OVER], key)
            limit = answers[0].statuses[0].current_limit
            self.assertEqual((limit.requests_per_unit, limit.unit), (2, MINUTE), key)
        answer = overridden("nowhere", "a", "b")[3]
        self.assertEqual((answer.overall_code, answer.statuses[0].code), (OK, OK))

    def test_what_was_near_and_over_the_limit_is_counted(self):
        def counted(what):
            labels = '{domain="special",rule="counted"}'
            return self.weir.metric(f"weir_rule_{what}_limit_hits_total{labels}")

        def calls(value):
            before = counted("near"), counted("over")
            codes = [self.ask("special", [("counted", value)]).overall_code for _ in range(12)]
            return codes, counted("near") - before[0], counted("over") - before[1]

        # Near is the last fifth of ten.
        self.assertEqual(self.in_one_window(calls), ([OK] * 10 + [OVER] * 2, 2, 2))

    def test_a_domain_without_rules_lets_through_and_is_told_of(self):
        self.assertEqual(self.ask("nowhere", [("key1", "foo")]).overall_code, OK)
        self.assertEqual(self.weir.metric("weir_domain_not_found_total"), 1)
        self.weir.stop()
        self.assertRegex(self.weir.errors, "no rules of the domain domain=nowhere")

    def test_who_watches_its_health_hears_of_its_end(self):
        watched = self.channel.unary_stream(
            WATCH, request_serializer=HealthRequest.SerializeToString,
            response_deserializer=HealthResponse.FromString)(HealthRequest(), timeout=20)
        told = queue.Queue()

        def watch():
            with contextlib.suppress(grpc.RpcError):
                for each in watched:
                    told.put(each.status)

        watcher = threading.Thread(target=watch)
        watcher.start()
        self.assertEqual(told.get(timeout=10), SERVING)
        self.assertEqual(self.weir.stop(), 0)
        watcher.join()
        self.assertEqual(list(told.queue), [NOT_SERVING])
        self.assertEqual(watched.code(), grpc.StatusCode.UNAVAILABLE)

    @unittest.skipUnless(shutil.which("h2load"), "h2load is not installed")
    def test_h2load_is_answered(self):
        message = request_of("basic", [("key1", "foo")]).SerializeToString()
        with tempfile.NamedTemporaryFile() as body:
            body.write(b"\0" + len(message).to_bytes(4, "big") + message)
            body.flush()
            told = subprocess.run(
                ["h2load", "-n", "20000", "-c", "10", "-m", "50", "-d", body.name,
                 "-H", "content-type: application/grpc",
                 f"http://127.0.0.1:{self.weir.ports['grpc']}{RLS}"],
                capture_output=True, text=True, check=True).stdout
        self.assertIn("20000 succeeded, 0 failed", told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
