"""Start, watch, drain, stop; and the verbs that ask a server."""

import json
import signal
import subprocess
import time
import unittest

from certificates import Authority
from weir_process import BINARY, Weir, read_to_end


def weir(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=30)


def get(server, target, method="GET"):
    with server.connect("metrics") as http:
        http.sendall(f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        head, _, body = read_to_end(http).decode().partition("\r\n\r\n")
        return int(head.split()[1]), body


class StatusPage(unittest.TestCase):
    def test_answers_three_paths(self):
        with Weir() as server:
            self.assertEqual(get(server, "/livez"), (200, "ok\n"))
            self.assertEqual(get(server, "/readyz"), (200, "ok\n"))
            status, body = get(server, "/metrics")
            self.assertEqual(status, 200)
            self.assertIn("weir_decisions_total", body)
            self.assertEqual(get(server, "/metrics", "HEAD"), (200, ""))
            self.assertEqual(get(server, "/nothing")[0], 404)
            self.assertEqual(get(server, "/metrics", "DELETE")[0], 405)

    def test_refuses_what_is_no_request(self):
        with Weir() as server:
            for data in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 4000,
                         b"POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n123456789"):
                with server.connect("metrics") as http:
                    http.sendall(data)
                    self.assertIn(b" 400 ", read_to_end(http).split(b"\r\n")[0])
            self.assertEqual(get(server, "/livez")[0], 200)


class Drain(unittest.TestCase):
    def test_answers_what_has_arrived_then_closes(self):
        server = Weir()
        with server.connect() as busy, server.connect() as idle:
            idle.sendall(b"PING\r\n")
            self.assertEqual(idle.recv(64), b"+PONG\r\n")
            busy.sendall(b"PING\r\n" * 50_000)
            server.process.send_signal(signal.SIGTERM)
            answers = read_to_end(busy)
            self.assertEqual(len(answers) % 7, 0)
            self.assertEqual(read_to_end(idle), b"")
            self.assertEqual(server.stop(), 0)

    def test_ends_soon_though_idle_clients_do_not_close(self):
        server = Weir()
        held = [server.connect() for _ in range(20)]
        for connection in held:
            connection.sendall(b"PING\r\n")
            connection.recv(64)
        begin = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - begin, 3)
        for connection in held:
            connection.close()


class Start(unittest.TestCase):
    def test_says_when_the_port_is_taken(self):
        with Weir() as server:
            done = weir("serve", "--resp", f"127.0.0.1:{server.port}")
            self.assertEqual(done.returncode, 2)
            self.assertIn("is in use; stop what listens there", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_says_what_is_wrong_with_an_option(self):
        for arguments, expected in (
                (["--resp", "nonsense"], "expected HOST:PORT"),
                (["--resp", "127.0.0.1:99999"], "expected HOST:PORT"),
                (["--limit", "login"], "--limit expects NAME=LIMIT"),
                (["--limit", "login=5/x"], "expected a period"),
                (["--limit", "lo gin=5/m"], "a limit's name has"),
                (["--limit", "a=5/m", "--limit", "a=6/m"], "is taken by another limit"),
                (["--limit", "a=5/m initial 0"], "a key must start full"),
                (["--threads", "0"], "--threads"),
                (["--threads", "1M"], "--threads"),
                (["--max-keys", "-1"], "--max-keys"),
                (["--nonsense"], "--nonsense")):
            with self.subTest(arguments):
                done = weir("serve", *arguments)
                self.assertEqual(done.returncode, 2)
                self.assertIn(expected, done.stderr)


class Ask(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Weir("--limit", "login=2/1m")
        cls.at = ["--server", f"127.0.0.1:{cls.server.port}"]

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def test_take_ends_with_the_answer(self):
        first = weir("take", "alice", "@login", *self.at)
        self.assertEqual(first.returncode, 0)
        self.assertTrue(first.stdout.startswith("granted; 1 of 2 left"), first.stdout)
        weir("take", "alice", "@login", *self.at)
        denied = weir("take", "alice", "@login", *self.at)
        self.assertEqual(denied.returncode, 1)
        self.assertRegex(denied.stdout, r"^denied: try again in (30|29\.\d)s; 0 of 2 left")
        self.assertEqual(weir("take", "alice", "@login", "--cost", "3", *self.at).returncode, 1)
        deferred = weir("take", "alice", "@login", "--patience", "1m", *self.at)
        self.assertEqual(deferred.returncode, 0)
        self.assertIn("deferred: act in ", deferred.stdout)

    def test_peek_and_reset(self):
        weir("take", "bob", "5/1m", "burst", "2", *self.at)
        peeked = json.loads(weir("peek", "bob", "5/1m burst 2", "--json", *self.at).stdout)
        self.assertEqual((peeked["verdict"], peeked["remaining"]), ("granted", 1))
        self.assertEqual(weir("reset", "bob", "5/1m burst 2", *self.at).stdout, "forgotten\n")
        self.assertEqual(weir("reset", "bob", "5/1m burst 2", *self.at).stdout,
                         "nothing was kept of this key\n")

    def test_errors_name_the_place_and_the_code(self):
        bad = weir("take", "alice", "5/x", *self.at)
        self.assertEqual(bad.returncode, 2)
        self.assertIn("column 3: expected a period", bad.stderr)
        self.assertEqual(weir("take", "alice", "@nobody", *self.at).returncode, 2)
        self.assertEqual(weir("take", "alice", *self.at).returncode, 2)
        away = weir("take", "alice", "5/m", "--server", "127.0.0.1:1")
        self.assertEqual(away.returncode, 3)
        self.assertIn("start one with: weir serve", away.stderr)


class AskElsewhere(unittest.TestCase):
    """The verbs reach what serve listens on."""

    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)
        cls.password = cls.authority.path("password")
        with open(cls.password, "w", encoding="ascii") as file:
            file.write("secret\n")
        cls.path = "unix:" + cls.authority.path("weir.sock")
        cls.server = Weir("--resp", cls.path, "--resp", "tls:127.0.0.1:0",
                          "--password-file", cls.password, "--tls-cert", cls.authority.certificate,
                          "--tls-key", cls.authority.key, "--tls-client-ca", cls.authority.ca)
        cls.addClassCleanup(cls.server.stop)
        cls.tls = cls.server.others[1]
        cls.client = cls.authority.issue("client")

    def ask(self, address, *options, password=True):
        if password:
            options += ("--password-file", self.password)
        return weir("take", "alice", "1000/1m", "--server", address, *options)

    def show(self):
        return ("--tls-cert", self.client[0], "--tls-key", self.client[1])

    def test_every_address_answers(self):
        trust = ("--tls-ca", self.authority.ca)
        for address, options in ((f"127.0.0.1:{self.server.port}", ()), (self.path, ()),
                                 (f"localhost:{self.server.port}", ()),
                                 (self.tls, trust + self.show()),
                                 (self.tls.replace("127.0.0.1", "localhost"), trust + self.show())):
            done = self.ask(address, *options)
            self.assertEqual((done.returncode, done.stderr), (0, ""), address)
            self.assertTrue(done.stdout.startswith("granted; "))

    def test_without_the_password_it_says_what_is_missing(self):
        done = self.ask(self.path, password=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("NOAUTH Authentication required. Name the password's file", done.stderr)

    def test_a_server_that_is_not_trusted_gets_no_password(self):
        before = self.server.metric("weir_commands_total")
        untrusted = self.ask(self.tls, *self.show())
        self.assertEqual((untrusted.returncode, untrusted.stdout), (3, ""))
        self.assertIn("its certificate is not trusted: ", untrusted.stderr)
        self.assertIn("--tls-ca FILE", untrusted.stderr)
        other = Authority("another")
        self.addCleanup(other.close)
        wrong = self.ask(self.tls, "--tls-ca", other.ca, *self.show())
        self.assertIn("its certificate is not trusted: ", wrong.stderr)
        self.assertEqual(self.server.metric("weir_commands_total"), before)

    def test_a_certificate_for_another_name_is_not_trusted(self):
        certificate, key = self.authority.issue("elsewhere", "DNS:elsewhere,IP:127.0.0.9")
        with Weir("--resp", "tls:127.0.0.1:0", "--tls-cert", certificate, "--tls-key",
                  key) as server:
            for host in ("127.0.0.1", "localhost"):
                address = server.others[0].replace("127.0.0.1", host)
                done = self.ask(address, "--tls-ca", self.authority.ca)
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertIn("mismatch", done.stderr)
            self.assertEqual(server.metric("weir_commands_total"), 0)

    def test_errors_name_what_is_wrong(self):
        ca = ("--tls-ca", self.authority.ca)
        for address, options, code, expected in (
                (self.tls, ca, 3, "gave no answer"),  # shows no certificate
                (self.tls, ca + ("--tls-cert", self.client[0]), 2, "go together"),
                (self.tls, ("--tls-ca", "/nonexistent"), 3, "cannot read certificates from"),
                ("unix:/nonexistent", (), 3, "no server answers at unix:/nonexistent (No such"),
                ("nonsense", (), 2, "expected HOST:PORT"),
                ("tls:127.0.0.1:1", ca, 3, "start one with: weir serve"),
                (f"tls:127.0.0.1:{self.server.port}", ca, 3, "no TLS with")):
            with self.subTest(expected):
                done = self.ask(address, *options)
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertIn(expected, done.stderr)
        missing = weir("take", "a", "5/1m", "--server", self.path, "--password-file",
                       "/nonexistent")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("cannot read the password", missing.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
