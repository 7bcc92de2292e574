"""Do the recipes of examples/proxies hold before real proxies: proxies_test.py Nginx|Envoy|...

Each recipe is run as it is written but for its ports, and for its patience with weir: the machine
that runs tests is busy.
"""

import collections
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve()
RECIPES = HERE.parents[3] / "examples" / "proxies"
sys.path.append(str(HERE.parents[1] / "clients"))
import toolchains  # noqa: E402
from redis_server import Redis  # noqa: E402
from weir_process import Weir  # noqa: E402

# Of each word for without_store a rule; and one by which a test sees that weir is asked.
RULES_OF_A_STORE = """
rules:
  - {name: open, match: {route: /open}, key: "{ip}", limit: 4/1h, without_store: open}
  - {name: closed, match: {route: /closed}, key: "{ip}", limit: 4/1h, without_store: closed}
  - {name: share, match: {route: /share}, key: "{ip}", limit: 4/1h, without_store: share}
  - {name: seen, match: {route: /seen}, limit: blocked}
"""

RULES_OF_ENVOYS_STORE = """
domain: edge
rules:
  - {name: closed, match: {descriptor: {login: "yes"}}, limit: 900/1h, without_store: closed}
  - {name: open, limit: 900/1h, without_store: open}
"""

# How long the recipes wait for weir, and how long they do on a machine that is busy with tests.
PATIENCE = {"timeout 100ms": "timeout 3s", "timeout 200ms": "timeout 3s",
            "timeout: 0.1s": "timeout: 3s", "timeout = 200,": "timeout = 1000,",
            "timeout check 200ms": "timeout check 3s", "lb_try_duration 1s": "lb_try_duration 10s"}

Answer = collections.namedtuple("Answer", "status fields body")


def free_ports(count):
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Guarded(http.server.BaseHTTPRequestHandler):
    """What stands behind the proxy: 403 of its own at /own403, else 200."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b"its own" if self.path == "/own403" else sent or b"guarded"
        self.send_response(403 if self.path == "/own403" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Seen", self.path)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = do_PROPFIND = do_GET

    def handle(self):
        with contextlib.suppress(ConnectionResetError):  # how HAProxy ends an idle connection
            super().handle()

    def log_message(self, *_):
        pass


class Recipe:
    """The facts that hold for each proxy."""

    binary = ""
    folder = ""
    rules = "rules.yaml"
    domain = "default"
    protocol = "http"
    nobody_could_count = 429  # what a rule that says "closed" answers without its store
    closing = {}  # what the recipe says to change, so that it fails closed
    closed = (503,)  # what it answers then while weir is gone

    @classmethod
    def find(cls):
        toolchains.need(cls.binary)

    def setUp(self):
        self.scratch = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))
        os.chmod(self.scratch, 0o755)  # nginx gives up root's rights
        self.guarded = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
        threading.Thread(target=self.guarded.serve_forever, daemon=True).start()
        self.addCleanup(self.guarded.server_close)
        self.addCleanup(self.guarded.shutdown)
        self.weir = self.enter(Weir("--rules", str(RECIPES / self.rules)))
        self.start_proxy()

    def enter(self, context):
        entered = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return entered

    def start_proxy(self, changes=None):
        self.port, away = free_ports(2)
        ports = {8080: self.port, 7380: self.weir.ports["http"], 7389: away,
                 7381: self.weir.ports["grpc"], 9000: self.guarded.server_port}
        for path in (RECIPES / self.folder).iterdir():
            text = path.read_text()
            for written, meant in {**PATIENCE, **(changes or {})}.items():
                text = text.replace(written, meant)
            for written, real in ports.items():
                for before in ("127.0.0.1:", "port_value: "):
                    text = text.replace(f"{before}{written}", f"{before}{real}")
            (self.scratch / path.name).write_text(text)
        self.log = self.enter(open(self.scratch / "log", "w+"))
        proxy = subprocess.Popen(self.command(), cwd=self.scratch, stdout=self.log,
                                 stderr=self.log, env=dict(os.environ, HOME=str(self.scratch)))
        self.addCleanup(proxy.wait, 20)
        self.addCleanup(proxy.terminate)
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError), \
                    socket.create_connection(("127.0.0.1", self.port), 1):
                return
            self.assertIsNone(proxy.poll(), self.said())
            self.assertLess(time.monotonic(), deadline, self.said())
            time.sleep(0.02)

    def said(self):
        return (self.scratch / "log").read_text()

    def ask(self, path="/", method="GET", body=None, port=None, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers={
                name.replace("_", "-"): value for name, value in fields.items()})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())

    def assert_told(self, answer, standing):
        """Who passes reads how he stands."""
        self.assertIn(standing, answer.fields["RateLimit"])
        self.assertEqual(len(answer.fields.get_all("RateLimit")), 1)
        self.assertEqual(len(answer.fields.get_all("RateLimit-Policy")), 1)

    def spend_login(self):
        for left in (4, 3, 2, 1, 0):
            answer = self.ask("/login", "POST")
            self.assertEqual(answer.status, 200, self.said())
            self.assert_told(answer, f'"login";r={left}')

    def test_what_is_allowed_passes_and_tells_how_it_stands(self):
        answer = self.ask("/a?b=c")
        self.assertEqual((answer.status, answer.body), (200, b"guarded"), self.said())
        self.assertEqual(answer.fields.get_all("X-Seen"), ["/a?b=c"])
        self.assert_told(answer, '"per-ip";r=99')
        self.assertNotIn("Retry-After", answer.fields)

    def test_what_is_refused_is_a_429_that_says_when_to_come_again(self):
        self.spend_login()
        answer = self.ask("/login", "POST")
        self.assertEqual(answer.status, 429, self.said())
        self.assertGreaterEqual(int(answer.fields["Retry-After"]), 1)
        self.assertIn('"login";r=0', answer.fields["RateLimit"])
        self.assertIn('"login";q=5;w=60', answer.fields["RateLimit-Policy"])
        for name in ("RateLimit", "RateLimit-Policy", "Retry-After"):
            self.assertEqual(len(answer.fields.get_all(name)), 1, name)
        self.assertEqual(self.ask("/login").status, 200)  # the rule is for POST

    def test_a_refusal_has_a_body_for_programs(self):
        self.spend_login()
        answer = self.ask("/login", "POST")
        self.assertEqual(answer.fields.get_all("Cache-Control"), ["no-store"])
        self.assertEqual(answer.fields.get_all("Content-Type"), ["application/problem+json"])
        problem = json.loads(answer.body)
        self.assertEqual((problem["status"], problem["title"]), (429, "Too many requests"))

    def test_every_method_is_asked_for(self):
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"):
            answer = self.ask("/", method)
            self.assertEqual(answer.status, 200, method)
            self.assert_told(answer, '"per-ip"')

    def test_a_403_of_what_is_guarded_passes_untouched(self):
        answer = self.ask("/own403")
        self.assertEqual((answer.status, answer.body), (403, b"its own"), self.said())
        self.assertNotIn("Retry-After", answer.fields)
        self.assert_told(answer, '"per-ip";r=99')

    def test_what_a_client_says_of_itself_changes_nothing(self):
        self.spend_login()
        for forged in ({"X_Forwarded_For": "192.0.2.1"}, {"X_Forwarded_Uri": "/other"},
                       {"X_Forwarded_Method": "GET"}, {"Forwarded": "for=192.0.2.1"},
                       {"X_Forwarded_Host": "other"}, {"X_Real_IP": "192.0.2.1"}):
            self.assertEqual(self.ask("/login", "POST", **forged).status, 429, forged)
        for query in ("?domain=other", "?deny=403", "?x"):  # which /v1/forward would heed
            self.assertEqual(self.ask("/login" + query, "POST").status, 429, query)
        answer = self.ask("/", RateLimit='"forged";r=1', Cookie="c" * 5000, X_Other="o" * 5000)
        self.assertEqual(answer.status, 200)
        self.assertNotIn("forged", answer.fields.get("RateLimit", ""))

    def test_a_path_written_otherwise_is_the_same_path(self):
        self.spend_login()
        for path in ("/login", "/%6cogin", "/login?next=/", "//login", "/a/../login", "/./login"):
            self.assertEqual(self.ask(path, "POST").status, 429, path)

    def test_what_weir_cannot_read_opens_the_gate_for_nobody(self):
        self.spend_login()
        for path, fields in (("/x%0d%0aX-Forwarded-For:%20192.0.2.1", {}), ("/" + "a" * 7000, {}),
                             ("/" + "a" * 9000, {}), ("/login", {"X_Long": "x" * 9000})):
            self.assertIn(self.ask(path, "POST", **fields).status,
                          (200, 400, 414, 429, 431, 502), path[:40])
            self.assertEqual(self.ask("/login", "POST").status, 429, path[:40])

    def test_a_body_goes_to_what_is_guarded_and_not_to_weir(self):
        body = b"body " * 50_000  # more than weir would read
        answer = self.ask("/", "POST", body)
        self.assertEqual((answer.status, answer.body), (200, body), self.said())

    def test_weir_is_asked_over_connections_that_are_kept(self):
        self.ask()
        counted = (f'weir_decisions_total{{domain="{self.domain}",rule="per-ip",'
                   'result="allowed",source="store"}')
        before = self.weir.metric(counted)
        for _ in range(30):
            self.assertEqual(self.ask().status, 200, self.said())
        self.assertEqual(self.weir.metric(counted) - before, 30)
        kept = self.weir.metric(f'weir_connections{{protocol="{self.protocol}"}}')
        self.assertGreaterEqual(kept, 1)
        self.assertLessEqual(kept, 16)

    def test_many_at_once_are_counted_each(self):
        statuses = collections.Counter()

        def ask():
            for _ in range(5):
                statuses[self.ask("/login", "POST").status] += 1

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(statuses, {200: 5, 429: 35}, self.said())

    def keep_in_a_store(self, text):
        """Puts a weir with these rules in place: one of two over a Redis, which is returned."""
        store = Redis()
        self.addCleanup(store.end)
        rules = self.scratch / "rules_of_a_store.yaml"
        rules.write_text(text)
        self.weir.stop()
        self.weir = self.enter(Weir(
            f"--{self.protocol}", f"127.0.0.1:{self.weir.ports[self.protocol]}", "--rules",
            str(rules), "--store", f"redis://127.0.0.1:{store.port}", "--store-deadline", "2s",
            "--members", "2"))
        return store

    def test_a_rule_says_what_becomes_of_it_without_its_store(self):
        store = self.keep_in_a_store(RULES_OF_A_STORE)
        self.weir.eventually(lambda: self.ask("/seen").status == 429)

        def statuses(path):
            return [self.ask(path).status for _ in range(5)]

        def weir_itself(query):
            return self.ask("/v1/forward" + query, port=self.weir.ports["http"],
                            X_Forwarded_Uri="/closed")

        for path in ("/open", "/closed"):
            self.assertEqual(statuses(path), [200] * 4 + [429], path)
        store.kill()
        # A refusal of the store's is remembered for up to a second.
        self.weir.eventually(lambda: weir_itself("").status == 503)
        self.weir.eventually(lambda: self.ask("/open").status == 200)
        self.assertEqual(statuses("/open"), [200] * 5)
        self.assertEqual(statuses("/closed"), [self.nobody_could_count] * 5)
        self.assertGreaterEqual(int(self.ask("/closed").fields["Retry-After"]), 1)
        for query, status in (("", 503), ("?deny=403", 403), ("?deny=429", 429)):
            answer = weir_itself(query)
            self.assertEqual(answer.status, status)
            self.assertEqual(json.loads(answer.body)["status"], 429 if query else 503)
        # Of two members this one has half.
        self.assertEqual(statuses("/share"), [200] * 2 + [429] * 3)
        store.start()
        self.weir.eventually(lambda: self.ask("/closed").status == 200)

    def test_it_fails_open_while_weir_is_gone(self):
        self.spend_login()
        self.assertEqual(self.weir.stop(), 0)
        began = time.monotonic()
        for _ in range(5):
            answer = self.ask("/login", "POST", RateLimit='"forged";r=1')
            self.assertEqual((answer.status, answer.body), (200, b"guarded"), self.said())
            for name in ("RateLimit", "RateLimit-Policy", "Retry-After"):
                self.assertIsNone(answer.fields[name])
        self.assertLess(time.monotonic() - began, 9)

    def test_it_fails_closed_where_the_recipe_is_changed_so(self):
        self.weir.stop()
        self.start_proxy(self.closing)
        self.assertIn(self.ask("/").status, self.closed, self.said())

    def test_it_fails_open_while_weir_hangs_and_limits_again_after(self):
        self.spend_login()
        self.weir.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.weir.process.pid, os.WUNTRACED)  # it may answer until it has stopped
        try:
            began = time.monotonic()
            self.assertEqual(self.ask("/login", "POST").status, 200, self.said())
            self.assertLess(time.monotonic() - began, 9)
        finally:
            self.weir.process.send_signal(signal.SIGCONT)
        self.weir.eventually(lambda: self.ask("/login", "POST").status == 429)


class Nginx(Recipe, unittest.TestCase):
    binary, folder = "/usr/sbin/nginx", "nginx"
    closing = {"error_page 502 504 = @weir_is_away;": ""}
    closed = (500,)

    def command(self):
        return [self.binary, "-e", "stderr", "-p", str(self.scratch), "-c",
                str(self.scratch / "nginx.conf")]


class Caddy(Recipe, unittest.TestCase):
    binary, folder = "/usr/bin/caddy", "caddy"
    nobody_could_count = 503
    closing = {" 127.0.0.1:7389 {": " {", "lb_try_duration 10s": "lb_try_duration 1s"}
    closed = (502, 503)

    def command(self):
        return [self.binary, "run", "--config", "Caddyfile"]


class Haproxy(Recipe, unittest.TestCase):
    binary, folder = "/usr/sbin/haproxy", "haproxy"
    closing = {"# http-request return status 503": "http-request return status 503"}

    def command(self):
        return [self.binary, "-db", "-C", str(self.scratch), "-f", "haproxy.cfg"]


class FromAWheel(Recipe):
    """No package of Debian: WEIR_ENVOY or the like, or the machine's, or from a wheel."""

    @classmethod
    def find(cls):
        name = cls.folder
        cls.binary = os.environ.get(f"WEIR_{name.upper()}") or shutil.which(name)
        if not cls.binary:
            cls.binary = toolchains.proxy(pathlib.Path(os.environ["PROXIES_FOLDER"]) / name, name)


class EnvoyProxy(FromAWheel):
    folder = "envoy"

    def command(self):
        # A worker for each core would hold a connection to weir each.
        return [self.binary, "-c", self.config, "--disable-hot-restart", "-l", "warn",
                "--concurrency", "2"]


class Envoy(EnvoyProxy, unittest.TestCase):
    config, rules, domain, protocol = "envoy.yaml", "envoy/rules.yaml", "edge", "grpc"
    closing = {"failure_mode_deny: false": "failure_mode_deny: true"}
    closed = (500,)

    test_a_refusal_has_a_body_for_programs = None  # its rate limit filter answers without

    # Its rules know no paths: POST of /login is closed, all else open.
    def test_a_rule_says_what_becomes_of_it_without_its_store(self):
        store = self.keep_in_a_store(RULES_OF_ENVOYS_STORE)
        self.weir.eventually(lambda: "RateLimit" in self.ask("/").fields)
        self.assertEqual(self.ask("/login", "POST").status, 200, self.said())
        store.kill()
        self.weir.eventually(lambda: self.ask("/login", "POST").status == 429)
        for _ in range(9):
            self.assertEqual(self.ask("/login", "POST").status, 429, self.said())
            self.assertEqual(self.ask("/").status, 200, self.said())
        store.start()
        self.weir.eventually(lambda: self.ask("/login", "POST").status == 200)

    def test_a_queue_is_kept_within_half_of_the_time_that_it_waits(self):
        rules = self.scratch / "queue.yaml"
        rules.write_text("domain: edge\nrules:\n"
                         "- {name: q, limit: leaky-bucket 1/600ms queue 9, hold: 30s}\n")
        self.weir.stop()
        self.weir = self.enter(Weir("--grpc", f"127.0.0.1:{self.weir.ports['grpc']}",
                                    "--rules", str(rules)))
        self.weir.eventually(lambda: "RateLimit" in self.ask("/").fields)
        time.sleep(0.6)
        seen = []

        def ask():
            seen.append((self.ask("/").status, time.monotonic()))

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        # Slots come every 600 ms, and Envoy waits for 3 s here: of those who ask at once three.
        passed = sorted(at for status, at in seen if status == 200)
        self.assertIn(len(passed), (3, 4), seen)
        self.assertEqual({status for status, _ in seen}, {200, 429})
        self.assertGreater(passed[-1] - passed[0], 0.6 * (len(passed) - 1) - 0.3, seen)

    def test_nobody_passes_by_values_that_are_long(self):
        masked = "- masked_remote_address: &client {v6_prefix_mask_len: 64}\n"
        self.start_proxy({masked: masked + "".join(
            f"{' ' * 34}- request_headers: {{header_name: x-token, descriptor_key: token{copy},"
            " skip_if_absent: true}\n" for copy in range(4))})
        self.spend_login()
        for length in (500, 5_000, 50_000):
            answer = self.ask("/login", "POST", X_Token="x" * length)
            self.assertEqual(answer.status, 429, self.said())


class EnvoyAuthz(EnvoyProxy, unittest.TestCase):
    config = "ext_authz.yaml"
    closing = {"failure_mode_allow: true": "", "# failure_mode_allow": "failure_mode_allow",
               "# status_on_error": "status_on_error"}


class Traefik(FromAWheel, unittest.TestCase):
    """It fails closed alone, and what weir tells of who passes goes to what is guarded alone."""

    folder = "traefik"
    nobody_could_count = 503
    closed = (500,)

    def command(self):
        return [self.binary, "--configFile=traefik.yaml"]

    def start_proxy(self, changes=None):
        super().start_proxy(changes)
        self.weir.eventually(lambda: self.ask().status != 404)  # it listens before it has routes

    test_it_fails_open_while_weir_is_gone = None
    test_it_fails_open_while_weir_hangs_and_limits_again_after = None

    def assert_told(self, answer, standing):
        self.assertNotIn("RateLimit", answer.fields)


if __name__ == "__main__":
    proxy = globals()[sys.argv[1].split(".")[0]]
    try:
        proxy.find()
    except toolchains.NotInstalled as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
