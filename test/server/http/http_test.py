"""HTTP over real sockets: curl, http.client, raw bytes, slow ones, TLS, a drain."""

import concurrent.futures
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../clients"))
from certificates import Authority, install  # noqa: E402
from weir_process import Weir, read_to_end  # noqa: E402

JSON = ("--header", "Content-Type: application/json")
GET = b"GET /v1/check?key=%s&limit=1M/1s HTTP/1.1\r\nHost: x\r\n\r\n"


def curl(*arguments):
    return subprocess.run(["curl", "--silent", "--max-time", "20", *arguments],
                          capture_output=True, text=True, timeout=30)


class WithServer(unittest.TestCase):
    OPTIONS = ()

    @classmethod
    def setUpClass(cls):
        cls.weir = Weir("--limit", "login=5/1m", *cls.OPTIONS)
        cls.url = f"http://127.0.0.1:{cls.weir.ports['http']}"

    @classmethod
    def tearDownClass(cls):
        assert cls.weir.stop() == 0, cls.weir.errors

    def connect(self):
        return self.weir.connect("http")

    def alive(self):
        self.assertEqual(curl(self.url + "/livez").stdout, "ok\n")


class Curl(WithServer):
    def test_fails_as_the_limit_does(self):
        check = ("--fail", "--get", self.url + "/v1/check", "--data-urlencode", "key=curl&ly",
                 "--data-urlencode", "limit=2/1m")
        self.assertEqual(curl(*check).stdout, "granted: 1 of 2 left\n")
        self.assertEqual(curl(*check).returncode, 0)
        self.assertEqual(curl(*check).returncode, 22)

    def test_posts_json(self):
        done = curl("--json", '{"key":"json","limit":"@login","cost":2}', self.url + "/v1/take")
        self.assertEqual(json.loads(done.stdout)["remaining"], 3)

    def test_shares_states_with_redis_clients(self):
        with self.weir.connect() as resp:
            resp.sendall(b"WEIR.TAKE both @login COST 4\r\n")
            resp.recv(4096)
        self.assertEqual(curl(self.url + "/v1/check?key=both&limit=@login").stdout,
                         "granted: 0 of 5 left\n")

    def test_waits_for_100_continue(self):
        done = curl("-v", *JSON, "--header", "Expect: 100-continue", "--data",
                    '{"key":"e","limit":"@login"}', self.url + "/v1/take")
        self.assertIn("< HTTP/1.1 100 Continue", done.stderr)
        self.assertIn("< HTTP/1.1 200 OK", done.stderr)

    def test_sends_chunks(self):
        done = curl(*JSON, "--header", "Transfer-Encoding: chunked", "--data",
                    '{"key":"c","limit":"@login"}', self.url + "/v1/take")
        self.assertEqual(json.loads(done.stdout)["verdict"], "granted")

    def test_reads_the_health(self):
        self.assertEqual(curl(self.url + "/readyz?verbose").stdout, "[+] serving\nready\n")
        self.assertIn("200 OK", curl("--head", self.url + "/livez").stdout)


class Metrics(WithServer):
    def test_requests_are_counted_and_some_are_timed(self):
        with self.connect() as client:
            for _ in range(100):  # of so many readings three are timed
                client.sendall(GET % b"timed")
                self.assertIn(b"200 OK", client.recv(4096))
        told = curl(self.url + "/metrics").stdout
        self.assertIn("\nweir_http_requests_total 100\n", told)
        self.assertRegex(told, r'\nweir_decision_duration_seconds_count{protocol="http"} 3\n')
        self.assertRegex(told, r'\nweir_decision_duration_seconds_sum{protocol="http"} \d+\.?\d*e?')
        self.assertIn('\nweir_decision_duration_seconds_count{protocol="resp"} 0\n', told)


class Python(WithServer):
    def test_keeps_a_connection(self):
        client = http.client.HTTPConnection("127.0.0.1", self.weir.ports["http"], timeout=10)
        take = ("POST", "/v1/take", json.dumps({"key": "py", "limit": "@login"}),
                {"Content-Type": "application/json"})
        for left in range(4, -1, -1):
            client.request(*take)
            answer = client.getresponse()
            self.assertEqual(json.loads(answer.read())["remaining"], left)
        client.request(*take)
        answer = client.getresponse()
        self.assertEqual(answer.status, 429)
        self.assertGreaterEqual(int(answer.headers["Retry-After"]), 11)
        answer.read()
        client.close()

    def test_admits_no_more_than_the_limit_from_many_at_once(self):
        def ask(_):
            with self.connect() as connection:
                connection.sendall(b"GET /v1/check?key=many&limit=20/1h HTTP/1.0\r\n\r\n")
                return read_to_end(connection).startswith(b"HTTP/1.1 200")
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.assertEqual(sum(pool.map(ask, range(200))), 20)

    def test_answers_a_deep_pipeline_in_order(self):
        with self.connect() as connection:
            requests = 5000
            sender = concurrent.futures.ThreadPoolExecutor(1).submit(
                connection.sendall, b"".join(
                    b"GET /v1/check?key=%d&limit=9/1h%s HTTP/1.1\r\nHost: x\r\n\r\n"
                    % (each, b"&cost=%d" % (each % 9)) for each in range(requests)))
            answers = b""
            while answers.count(b" of 9 left\n") < requests:
                data = connection.recv(1 << 16)
                self.assertTrue(data)
                answers += data
            sender.result()
            lines = [line for line in answers.split(b"\n") if line.startswith(b"granted")]
            self.assertEqual(lines, [b"granted: %d of 9 left" % (9 - each % 9)
                                     for each in range(requests)])

    def test_answers_who_sends_no_more(self):
        with self.connect() as connection:
            connection.sendall(GET % b"half")
            connection.shutdown(socket.SHUT_WR)
            self.assertTrue(read_to_end(connection).endswith(b"left\n"))

    def test_ends_with_an_answer_to_what_is_no_request(self):
        for data in (b"GET / HTTP/1.1\nHost: x\n\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
                     b"*1\r\n$4\r\nPING\r\n", b"GET /" + b"a" * 70_000):
            with self.connect() as connection:
                connection.sendall(data)
                self.assertIn(read_to_end(connection)[:12], (b"HTTP/1.1 400", b"HTTP/1.1 414"))
        self.alive()


class Slow(WithServer):
    OPTIONS = ("--http-head-timeout", "1s", "--http-body-timeout", "1s", "--http-idle-timeout",
               "3s", "--write-timeout", "1s", "--max-connections-per-address", "40")

    def test_senders_are_cut_off(self):
        begin = time.monotonic()
        with self.connect() as head, self.connect() as body, self.connect() as idle:
            head.sendall(b"GET /livez HT")
            body.sendall(b"POST /v1/take HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
            self.assertTrue(read_to_end(head).startswith(b"HTTP/1.1 408"))
            self.assertTrue(read_to_end(body).startswith(b"HTTP/1.1 408"))
            self.assertLess(time.monotonic() - begin, 4)
            self.assertEqual(read_to_end(idle), b"")
        self.assertEqual(self.weir.hits("http-head-timeout"), 1)
        self.assertEqual(self.weir.hits("http-body-timeout"), 1)

    def test_readers_hold_little_and_are_cut_off(self):
        before = self.weir.rss()
        with self.connect() as stuck:
            stuck.settimeout(0.5)
            sent = 0
            try:
                while sent < 100 << 20:
                    sent += stuck.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)
            except (TimeoutError, ConnectionError):
                pass
            self.assertLess(sent, 32 << 20)
            self.assertLess(self.weir.rss() - before, 32 << 20)
            self.alive()
            self.weir.eventually(lambda: self.weir.hits("write-timeout") >= 1)

    def test_too_many_of_one_address_are_told_so(self):
        crowd = [self.connect() for _ in range(40)]
        try:
            self.assertTrue(crowd[0].send(GET % b"x"))
            self.assertTrue(crowd[0].recv(4096).startswith(b"HTTP/1.1 200"))
            with self.connect() as late:
                self.assertTrue(read_to_end(late).startswith(b"HTTP/1.1 503"))
        finally:
            for each in crowd:
                each.close()


class Drain(unittest.TestCase):
    def test_answers_what_arrived_and_ends(self):
        weir = Weir()
        with weir.connect("http") as busy, weir.connect("http") as idle:
            idle.sendall(GET % b"idle")
            idle.recv(4096)
            busy.sendall(GET % b"busy" * 50)
            busy.recv(1)
            weir.process.send_signal(signal.SIGTERM)
            answer = b"H" + read_to_end(busy)
            self.assertEqual(answer.count(b"HTTP/1.1 200"), answer.count(b"left\n"))
            self.assertEqual(read_to_end(idle), b"")
            self.assertEqual(weir.stop(), 0)


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)

    def server(self, *arguments):
        weir = Weir("--http", "tls:127.0.0.1:0", "--tls-cert", self.authority.certificate,
                    "--tls-key", self.authority.key, *arguments)
        self.addCleanup(weir.stop)
        return weir, "https://" + weir.others[0].removeprefix("tls:")

    def test_curl_speaks_it(self):
        _, url = self.server()
        self.assertEqual(curl("--cacert", self.authority.ca, url + "/livez").stdout, "ok\n")
        self.assertNotEqual(curl(url + "/livez").returncode, 0)

    def test_large_bodies_and_pipelines_pass(self):
        weir, url = self.server()
        context = ssl.create_default_context(cafile=self.authority.ca)
        plain = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=10)
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(GET % b"tls" * 200 + b"POST /v1/take HTTP/1.1\r\nHost: x\r\n"
                               b"Content-Type: application/json\r\nContent-Length: 60000\r\n"
                               b"Connection: close\r\n\r\n" +
                               b" " * 59_972 + b'{"key":"a","limit":"5/1m"}  ')
            answers = read_to_end(connection)
        self.assertEqual(answers.count(b"HTTP/1.1 200"), 201)

    def test_asks_for_a_certificate(self):
        _, url = self.server("--tls-client-ca", self.authority.ca)
        stranger = Authority("another")
        self.addCleanup(stranger.close)
        for certificate, key, status in ((*self.authority.issue("client"), 0),
                                         (stranger.certificate, stranger.key, None), (0, 0, None)):
            shown = ("--cert", certificate, "--key", key) if key else ()
            done = curl("--cacert", self.authority.ca, *shown, url + "/livez")
            if status == 0:
                self.assertEqual(done.stdout, "ok\n")
            else:
                self.assertEqual(done.stdout, "")
                self.assertNotEqual(done.returncode, 0)

    def test_sighup_takes_a_new_certificate_and_open_connections_go_on(self):
        live = (self.authority.path("live.pem"), self.authority.path("live.key"))
        install((self.authority.certificate, self.authority.key), live)
        weir = Weir("--http", "tls:127.0.0.1:0", "--tls-cert", live[0], "--tls-key", live[1])
        self.addCleanup(weir.stop)
        port = int(weir.others[0].rpartition(":")[2])
        another = Authority("another")
        self.addCleanup(another.close)

        def connect(authority):
            context = ssl.create_default_context(cafile=authority.ca)
            plain = socket.create_connection(("127.0.0.1", port), timeout=10)
            return context.wrap_socket(plain, server_hostname="127.0.0.1")

        with connect(self.authority) as old:
            old.sendall(GET % b"before")
            self.assertTrue(old.recv(4096).startswith(b"HTTP/1.1 200"))
            install((another.certificate, another.key), live)
            weir.process.send_signal(signal.SIGHUP)
            weir.eventually(
                lambda: weir.metric('weir_config_load_total{what="tls",result="ok"}') == 1)
            with connect(another) as new:
                new.sendall(GET % b"new")
                self.assertTrue(new.recv(4096).startswith(b"HTTP/1.1 200"))
            with self.assertRaises(ssl.SSLCertVerificationError):
                connect(self.authority)
            old.sendall(GET % b"after")
            self.assertTrue(old.recv(4096).startswith(b"HTTP/1.1 200"))

    def test_is_http_1_1_for_who_asks_by_name(self):
        weir, _ = self.server()
        port = int(weir.others[0].rpartition(":")[2])
        for offered, chosen in ((["h2", "http/1.1"], "http/1.1"), ([], None), (["h2"], "refused")):
            context = ssl.create_default_context(cafile=self.authority.ca)
            if offered:
                context.set_alpn_protocols(offered)
            plain = socket.create_connection(("127.0.0.1", port), timeout=10)
            try:
                with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
                    self.assertEqual(connection.selected_alpn_protocol(), chosen)
            except (ssl.SSLError, ConnectionError):
                self.assertEqual(chosen, "refused")


if __name__ == "__main__":
    unittest.main(verbosity=2)
