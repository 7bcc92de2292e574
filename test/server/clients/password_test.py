"""A password from a file: who may do what before it, and after."""

import os
import signal
import subprocess
import tempfile
import time
import unittest

import redis

from weir_process import BINARY, Weir, read_to_end

NOAUTH = b"-NOAUTH Authentication required.\r\n"
WRONGPASS = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"


def framed(*arguments):
    return b"*%d\r\n" % len(arguments) + b"".join(
        b"$%d\r\n%s\r\n" % (len(each), each) for each in arguments)


class Password(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "password")
        self.write("secret\n")

    def write(self, text, mode=0o600):
        with open(self.file, "w", encoding="ascii") as file:
            os.chmod(self.file, mode)
            file.write(text)

    def server(self, *arguments):
        server = Weir("--password-file", self.file, *arguments)
        self.addCleanup(server.stop)
        return server

    def ask(self, server, *commands):
        """One command after the other on one connection; their replies."""
        with server.connect() as connection:
            replies = []
            for command in commands:
                connection.sendall(command)
                replies.append(connection.recv(65536))
            return replies

    def test_nothing_is_answered_before_it(self):
        server = self.server()
        take = b"WEIR.TAKE alice 5/1m\r\n"
        for command in (b"PING\r\n", take, b"COMMAND\r\n", b"RESET\r\n", b"NONSENSE\r\n",
                        b"CLIENT SETNAME x\r\n", b"auth\x00\r\n"[:4] + b"x y\r\n"):
            self.assertEqual(self.ask(server, command), [NOAUTH], command)
        self.assertEqual(self.ask(server, b"QUIT\r\n"), [b"+OK\r\n"])
        self.assertEqual(server.metric("weir_keys"), 0)

    def test_auth_opens_the_door(self):
        server = self.server()
        for auth in (b"AUTH secret\r\n", b"auth default secret\r\n",
                     framed(b"AUTH", b"secret"), framed(b"AUTH", b"default", b"secret")):
            self.assertEqual(self.ask(server, auth, b"PING\r\n"), [b"+OK\r\n", b"+PONG\r\n"])

    def test_hello_opens_the_door(self):
        server = self.server()
        two, ping = self.ask(server, b"HELLO 2 AUTH default secret SETNAME x\r\n", b"PING\r\n")
        self.assertTrue(two.startswith(b"*14\r\n"), two)
        self.assertEqual(ping, b"+PONG\r\n")
        three, name = self.ask(server, b"HELLO 3 SETNAME x AUTH default secret\r\n",
                               b"CLIENT GETNAME\r\n")
        self.assertTrue(three.startswith(b"%7\r\n"), three)
        self.assertEqual(name, b"$1\r\nx\r\n")

    def test_hello_without_it_says_how(self):
        server = self.server()
        for hello in (b"HELLO\r\n", b"HELLO 3\r\n", b"HELLO 2 SETNAME x\r\n"):
            answer, ping = self.ask(server, hello, b"PING\r\n")
            self.assertTrue(answer.startswith(
                b"-NOAUTH HELLO must be called with the client already authenticated"), answer)
            self.assertEqual(ping, NOAUTH)

    def test_a_wrong_one_is_refused_and_counted(self):
        server = self.server()
        wrong = (b"AUTH wrong\r\n", b"AUTH admin secret\r\n", b"AUTH default secre\r\n",
                 b"AUTH secret2\r\n", b"AUTH ''\r\n", b"HELLO 3 AUTH default wrong\r\n",
                 framed(b"AUTH", b"x" * 1024), b"AUTH secret secret\r\n")
        for command in wrong:
            self.assertEqual(self.ask(server, command, b"PING\r\n"), [WRONGPASS, NOAUTH], command)
        self.assertEqual(server.metric("weir_auth_failures_total"), len(wrong))

    def test_a_pipeline_behind_auth_is_answered(self):
        server = self.server()
        with server.connect() as connection:
            connection.sendall(b"PING\r\nAUTH secret\r\n" + b"PING\r\n" * 5000 + b"QUIT\r\n")
            answer = read_to_end(connection)
        self.assertEqual(answer, NOAUTH + b"+OK\r\n" + b"+PONG\r\n" * 5000 + b"+OK\r\n")

    def test_it_may_come_byte_by_byte(self):
        server = self.server()
        with server.connect() as connection:
            for at in framed(b"AUTH", b"secret"):
                connection.sendall(bytes([at]))
            self.assertEqual(connection.recv(64), b"+OK\r\n")

    def test_reset_locks_the_door_again_at_once(self):
        server = self.server()
        with server.connect() as connection:
            connection.sendall(b"AUTH secret\r\nPING\r\nRESET\r\nPING\r\nQUIT\r\n")
            self.assertEqual(read_to_end(connection),
                             b"+OK\r\n+PONG\r\n+RESET\r\n" + NOAUTH + b"+OK\r\n")

    def test_a_stranger_cannot_make_the_server_hold_much(self):
        server = self.server()
        for data in (b"*8\r\n", b"*1\r\n$1025\r\n", b"x" * 2000,
                     framed(*[b"x" * 1000] * 5)):
            with server.connect() as connection:
                connection.sendall(data)
                self.assertTrue(read_to_end(connection).startswith(
                    b"-ERR Protocol error: unauthenticated: "), data[:20])

    def test_who_does_not_show_it_in_time_is_cut_off(self):
        server = self.server("--auth-timeout", "1s")
        with server.connect() as trusted, server.connect() as idle, server.connect() as busy:
            trusted.sendall(b"AUTH secret\r\n")
            self.assertEqual(trusted.recv(64), b"+OK\r\n")
            begin = time.monotonic()
            try:
                while time.monotonic() < begin + 5:
                    busy.sendall(b"PING\r\n")
                    if not busy.recv(64):
                        break
            except ConnectionError:
                pass
            self.assertEqual(read_to_end(idle), b"")
            self.assertLess(time.monotonic() - begin, 4)
            server.eventually(lambda: server.hits("auth-timeout") == 2)
            trusted.sendall(b"PING\r\n")
            self.assertEqual(trusted.recv(64), b"+PONG\r\n")

    def test_sighup_reads_it_again(self):
        server = self.server()
        with server.connect() as old:
            old.sendall(b"AUTH secret\r\n")
            self.assertEqual(old.recv(64), b"+OK\r\n")
            self.write("other")
            server.process.send_signal(signal.SIGHUP)
            server.eventually(
                lambda: self.ask(server, b"AUTH other\r\n") == [b"+OK\r\n"])
            self.assertEqual(self.ask(server, b"AUTH secret\r\n"), [WRONGPASS])
            old.sendall(b"PING\r\n")
            self.assertEqual(old.recv(64), b"+PONG\r\n")
        self.write("")
        server.process.send_signal(signal.SIGHUP)
        failed = 'weir_config_load_total{what="password",result="failed"}'
        server.eventually(lambda: server.metric(failed) == 1)
        self.assertEqual(self.ask(server, b"AUTH other\r\n"), [b"+OK\r\n"])
        server.stop()
        self.assertIn("cannot reload kept=password reason=", server.errors)

    def test_a_file_that_is_no_password_is_refused(self):
        for text, expected in (("", "is empty"), ("\n", "is empty"), ("\r\n", "is empty"),
                               ("a\nb\n", "more than one line"), ("x" * 1025, "is too long")):
            self.write(text)
            done = subprocess.run([BINARY, "serve", "--resp", "127.0.0.1:0", "--metrics", "off",
                                   "--http", "off", "--grpc", "off",
                                   "--password-file", self.file], capture_output=True, text=True,
                                  timeout=30)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(expected, done.stderr)
        for path in ("/nonexistent", os.path.dirname(self.file)):
            done = subprocess.run([BINARY, "serve", "--password-file", path], capture_output=True,
                                  text=True, timeout=30)
            self.assertEqual(done.returncode, 2)
            self.assertIn("cannot read the password from " + path, done.stderr)

    def test_a_line_end_is_no_part_of_it(self):
        for text in ("secret", "secret\n", "secret\r\n"):
            self.write(text)
            self.assertEqual(self.ask(self.server(), b"AUTH secret\r\n"), [b"+OK\r\n"])

    def test_a_file_that_everybody_can_read_is_warned_of(self):
        server = self.server()
        server.stop()
        self.assertNotIn("every user", server.errors)
        self.write("secret", mode=0o644)
        server = self.server()
        server.stop()
        self.assertIn("everybody can read a secret file=", server.errors)

    def test_it_is_never_written_anywhere(self):
        server = self.server()
        self.ask(server, b"AUTH secret\r\n", b"PING\r\n")
        self.ask(server, b"AUTH sEcReT\r\n")
        self.assertNotIn("secret", server.metrics().lower())
        server.stop()
        self.assertNotIn("secret", server.errors.lower())

    def test_python_redis_knows_it(self):
        server = self.server()
        for protocol in ({"password": "secret"}, {"username": "default", "password": "secret"}):
            client = redis.Redis(port=server.port, client_name="worker", **protocol)
            self.assertTrue(client.ping())
            client.close()
        with self.assertRaisesRegex(redis.ResponseError, "WRONGPASS"):
            redis.Redis(port=server.port, password="wrong").ping()


if __name__ == "__main__":
    unittest.main(verbosity=2)
