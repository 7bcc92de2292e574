"""TLS: who is let in, what is shown, and that nobody holds more than without it."""

import os
import signal
import socket
import ssl
import subprocess
import time
import unittest
import warnings

from certificates import Authority, install
from weir_process import BINARY, Weir, read_to_end

FAULTS = 'weir_protocol_errors_total{protocol="resp",kind="tls"}'
RELOADED = 'weir_config_load_total{what="tls",result="ok"}'
FAILED = 'weir_config_load_total{what="tls",result="failed"}'


class OverTls(unittest.TestCase):
    """An authority, a server with its certificate, and clients that trust it."""

    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)
        cls.stranger = Authority("another")
        cls.addClassCleanup(cls.stranger.close)

    def server(self, *arguments, certificate=None, key=None):
        server = Weir("--resp", "tls:127.0.0.1:0", "--tls-cert",
                      certificate or self.authority.certificate,
                      "--tls-key", key or self.authority.key, *arguments)
        self.addCleanup(server.stop)
        return server

    def context(self, certificate=None, key=None):
        context = ssl.create_default_context(cafile=self.authority.ca)
        if certificate:
            context.load_cert_chain(certificate, key)
        return context

    @staticmethod
    def dial(server):
        connection = socket.create_connection(
            ("127.0.0.1", int(server.others[0].rpartition(":")[2])), timeout=10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def connect(self, server, context=None):
        return (context or self.context()).wrap_socket(self.dial(server),
                                                       server_hostname="127.0.0.1")

    def ping(self, connection):
        connection.sendall(b"PING\r\n")
        self.assertEqual(connection.recv(64), b"+PONG\r\n")

    @staticmethod
    def shake_hands(tls, send, receive):
        while True:
            try:
                tls.do_handshake()
                return send()
            except ssl.SSLWantReadError:
                send()
                receive()

    def shown(self, server):
        with self.connect(server) as connection:
            return connection.getpeercert()["subject"][0][0][1]


class Tls(OverTls):
    def test_answers_beside_the_plain_address(self):
        server = self.server()
        self.assertTrue(server.others[0].startswith("tls:127.0.0.1:"))
        with self.connect(server) as secret, server.connect() as plain:
            self.assertEqual(secret.version(), "TLSv1.3")
            self.ping(secret)
            self.ping(plain)

    def test_answers_a_deep_pipeline_whole(self):
        server = self.server()
        with self.connect(server) as connection:
            connection.sendall(b"PING\r\n" * 100_000 + b"QUIT\r\n")
            self.assertEqual(len(read_to_end(connection)), 7 * 100_000 + 5)

    def test_takes_bytes_as_they_come(self):
        server = self.server()
        with self.connect(server) as connection:
            for at in b"*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n" * 20:
                connection.sendall(bytes([at]))
            answer = b""
            while len(answer) < 220:
                answer += connection.recv(4096)
            self.assertEqual(answer, b"$5\r\nhello\r\n" * 20)

    def test_takes_what_is_larger_than_a_record(self):
        server = self.server()
        word = b"x" * 60_000
        with self.connect(server) as connection:
            for _ in range(20):
                connection.sendall(b"*2\r\n$4\r\nECHO\r\n$60000\r\n" + word + b"\r\n")
            answer = b""
            while len(answer) < 20 * 60_010:
                answer += connection.recv(1 << 20)
            self.assertEqual(answer, (b"$60000\r\n" + word + b"\r\n") * 20)

    def test_reads_a_handshake_byte_by_byte(self):
        server = self.server()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self.context().wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        with self.dial(server) as connection:
            def send():
                for at in outgoing.read():
                    connection.sendall(bytes([at]))

            def receive():
                incoming.write(connection.recv(65536))

            self.shake_hands(tls, send, receive)
            tls.write(b"PING\r\n")
            send()
            receive()
            self.assertEqual(tls.read(64), b"+PONG\r\n")

    def test_speaks_nothing_older_than_1_2(self):
        server = self.server()
        two = self.context()
        two.maximum_version = ssl.TLSVersion.TLSv1_2
        with self.connect(server, two) as connection:
            self.assertEqual(connection.version(), "TLSv1.2")
            self.ping(connection)
        old = self.context()
        old.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has no liking for them either
            old.minimum_version = ssl.TLSVersion.TLSv1
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.assertRaises(ssl.SSLError) as refused:
            self.connect(server, old)
        self.assertIn("PROTOCOL_VERSION", str(refused.exception))
        self.assertEqual(server.metric(FAULTS), 1)

    def test_never_negotiates_twice(self):
        server = self.server()
        port = server.others[0].removeprefix("tls:")
        with subprocess.Popen(["openssl", "s_client", "-tls1_2", "-connect", port],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as client:
            client.stdin.write(b"PING\n")
            client.stdin.flush()
            seen = b""
            while b"+PONG" not in seen:
                seen += client.stdout.readline()
            client.stdin.write(b"R\n")
            client.stdin.close()
            self.assertIn(b"no renegotiation", client.stdout.read().lower())

    def test_gives_up_what_is_no_handshake(self):
        server = self.server()
        for data in (b"PING\r\n" * 10, b"\x00" * 100, b"GET / HTTP/1.1\r\n\r\n",
                     b"\x16\x03\x01\xff\xff" + b"x" * 70_000):
            with self.dial(server) as connection:
                try:
                    connection.sendall(data)
                except ConnectionError:
                    pass
                read_to_end(connection)
        server.eventually(lambda: server.metric(FAULTS) == 4)
        with self.connect(server) as connection:
            self.ping(connection)

    def test_cuts_off_who_does_not_shake_hands(self):
        server = self.server("--auth-timeout", "1s")
        with self.connect(server) as good, self.dial(server) as idle, self.dial(server) as slow:
            begin = time.monotonic()
            slow.settimeout(0.1)
            ended = False
            for at in b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(60):
                try:
                    slow.sendall(bytes([at]))
                    ended = slow.recv(64) == b""
                except TimeoutError:
                    pass
                except ConnectionError:
                    ended = True
                if ended:
                    break
            self.assertTrue(ended)
            self.assertEqual(read_to_end(idle), b"")
            self.assertLess(time.monotonic() - begin, 5)
            self.assertEqual(server.hits("auth-timeout"), 2)
            self.ping(good)

    def test_cuts_off_a_record_that_never_ends(self):
        server = self.server("--command-timeout", "1s")
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self.context().wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        with self.dial(server) as connection, self.connect(server) as idle:
            self.shake_hands(tls, lambda: connection.sendall(outgoing.read()),
                             lambda: incoming.write(connection.recv(65536)))
            tls.write(b"PING\r\n")
            connection.sendall(outgoing.read()[:-1])
            self.assertEqual(read_to_end(connection), b"")
            self.assertEqual(server.hits("command-timeout"), 1)
            self.ping(idle)

    def test_bounds_what_a_client_that_never_reads_makes_it_hold(self):
        server = self.server("--write-timeout", "1s")
        with self.connect(server) as stuck, self.connect(server) as good:
            before = server.rss()
            stuck.settimeout(0.5)
            sent = 0
            try:
                while sent < 200 << 20:
                    sent += stuck.send(b"COMMAND\r\n" * 1000)
            except (TimeoutError, ConnectionError, ssl.SSLError):
                pass
            self.assertLess(sent, 64 << 20)
            self.assertLess(server.rss() - before, 32 << 20)
            self.ping(good)
            server.eventually(lambda: server.hits("write-timeout") == 1)

    def test_asks_clients_for_a_certificate_where_told_to(self):
        server = self.server("--tls-client-ca", self.authority.ca)
        with self.connect(server, self.context(*self.authority.issue("client"))) as connection:
            self.ping(connection)
        for context in (self.context(), self.context(self.stranger.certificate,
                                                     self.stranger.key)):
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                with self.connect(server, context) as connection:
                    connection.sendall(b"PING\r\n")
                    self.assertNotEqual(connection.recv(64), b"+PONG\r\n")
                    raise ConnectionError("a close will do")
        server.eventually(lambda: server.metric(FAULTS) == 2)

    def test_ends_properly_at_sigterm(self):
        server = self.server()
        context = self.context()
        with self.connect(server, context) as busy, self.connect(server) as idle:
            self.ping(idle)
            busy.sendall(b"PING\r\n" * 5000)
            server.process.send_signal(signal.SIGTERM)
            answer = read_to_end(busy)
            self.assertEqual(len(answer) % 7, 0)
            self.assertEqual(read_to_end(idle), b"")
            self.assertEqual(server.stop(), 0)

    def test_says_goodbye_with_close_notify(self):
        server = self.server()
        strict = self.context()  # to whom an end without close_notify is an error
        strict.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
        with self.connect(server, strict) as connection:
            connection.suppress_ragged_eofs = False
            connection.sendall(b"PING\r\nQUIT\r\n")
            self.assertEqual(read_to_end(connection), b"+PONG\r\n+OK\r\n")

    def test_works_with_a_password(self):
        secret = self.authority.path("password")
        with open(secret, "w", encoding="ascii") as file:
            file.write("secret\n")
        server = self.server("--password-file", secret)
        with self.connect(server) as connection:
            connection.sendall(b"PING\r\nAUTH secret\r\nPING\r\nQUIT\r\n")
            self.assertEqual(read_to_end(connection),
                             b"-NOAUTH Authentication required.\r\n+OK\r\n+PONG\r\n+OK\r\n")

    def test_redis_tools_work(self):
        server = self.server()
        port = server.others[0].rpartition(":")[2]
        tls = ["-p", port, "--tls", "--cacert", self.authority.ca]
        done = subprocess.run(["redis-cli", *tls, "CL.THROTTLE", "a", "15", "30", "60"],
                              capture_output=True, text=True, timeout=30, check=True)
        self.assertEqual(done.stdout.split(), ["0", "16", "15", "-1", "2"])
        subprocess.run(["redis-benchmark", *tls, "-n", "20000", "-c", "20", "-P", "16", "-q",
                        "CL.THROTTLE", "a", "15", "30", "60"], check=True, timeout=60,
                       stdout=subprocess.DEVNULL)

    def test_says_what_is_wrong_with_its_files(self):
        good, key = self.authority.certificate, self.authority.key
        cases = ((["--resp", "tls:127.0.0.1:0"], "needs --tls-cert FILE and --tls-key FILE"),
                 (["--tls-cert", good], "go together"),
                 (["--tls-cert", good, "--tls-key", key], "is for tls: addresses"),
                 (["--tls-client-ca", good], "--tls-client-ca needs"))
        tls = ["--resp", "tls:127.0.0.1:0"]
        locked = self.authority.path("locked.key")
        subprocess.run(["openssl", "ec", "-in", key, "-aes128", "-passout", "pass:x", "-out",
                        locked], capture_output=True, check=True)
        cases += ((tls + ["--tls-cert", "/nonexistent", "--tls-key", key],
                   "cannot read a certificate from /nonexistent"),
                  (tls + ["--tls-cert", good, "--tls-key", self.stranger.key],
                   "cannot use the key in " + self.stranger.key),
                  (tls + ["--tls-cert", good, "--tls-key", locked], "without a passphrase"),
                  (tls + ["--tls-cert", key, "--tls-key", key], "cannot read a certificate"),
                  (tls + ["--tls-cert", good, "--tls-key", key, "--tls-client-ca", key],
                   "cannot read certificates from"))
        for arguments, expected in cases:
            with self.subTest(expected):
                done = subprocess.run([BINARY, "serve", "--metrics", "off", "--http", "off",
                                       "--grpc", "off", *arguments],
                                      capture_output=True, text=True, timeout=30,
                                      stdin=subprocess.DEVNULL)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(expected, done.stderr)


class Reload(OverTls):
    """Certificates that change while the server runs."""

    def setUp(self):
        self.first = self.authority.issue("first")
        self.second = self.authority.issue("second")
        self.live = (self.authority.path("live.pem"), self.authority.path("live.key"))
        self.install(*self.first)
        self.running = self.server(certificate=self.live[0], key=self.live[1])

    def install(self, *pair):
        install(pair, self.live)

    def test_new_files_are_used_and_old_connections_go_on(self):
        with self.connect(self.running) as old:
            self.assertEqual(self.shown(self.running), "first")
            self.install(*self.second)
            self.running.eventually(lambda: self.shown(self.running) == "second")
            self.ping(old)
        self.assertEqual(self.running.metric(RELOADED), 1)

    def test_sighup_reads_them_at_once(self):
        # The same file with other bytes and the old time: only a signal tells.
        times = [os.stat(path).st_mtime_ns for path in self.live]
        for new, live, time_ns in zip(self.second, self.live, times):
            with open(new, "rb") as source, open(live, "wb") as target:
                target.write(source.read())
            os.utime(live, ns=(time_ns, time_ns))
        self.running.process.send_signal(signal.SIGHUP)
        self.running.eventually(lambda: self.shown(self.running) == "second", within=5)

    def test_a_bad_pair_keeps_the_old_one_and_says_so_once(self):
        self.install(self.second[0], self.first[1])
        self.running.eventually(lambda: self.running.metric(FAILED) == 1)
        begin = time.monotonic()
        self.running.eventually(lambda: time.monotonic() > begin + 2.5)
        self.assertEqual(self.running.metric(FAILED), 1)
        self.assertEqual(self.shown(self.running), "first")
        self.install(*self.second)
        self.running.eventually(lambda: self.shown(self.running) == "second")
        self.running.stop()
        self.assertEqual(self.running.errors.count("cannot reload kept=certificate reason="), 1)
        self.assertIn("cannot use the key in " + self.live[1], self.running.errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
