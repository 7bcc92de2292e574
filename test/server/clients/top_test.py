"""weir top: what it tells of a server under load, and what it does to a terminal."""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time
import unittest

from weir_process import BINARY, Weir

HOT = {"user:alice": "@login", "user:bob": "@api", "10.0.0.7\x1b[31m": "100/1s"}
SHOWN = ["user:alice", "user:bob", "10.0.0.7\\x1b[31m"]
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm"}


def command(*words):
    encoded = [word.encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded)


@contextlib.contextmanager
def load(weir):
    """Three hot keys among many that come once."""
    done = threading.Event()

    def ask():
        cold = 0
        with weir.connect() as connection, connection.makefile("rb") as replies:
            while not done.wait(0.002):
                batch = b""
                for key, limit in HOT.items():
                    batch += command("WEIR.TAKE", key, limit) * 5
                for _ in range(5):
                    cold += 1
                    batch += command("WEIR.TAKE", f"cold:{cold}", "@api")
                connection.sendall(batch + command("PING"))
                while replies.readline() != b"+PONG\r\n":
                    pass

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def top(weir, *arguments):
    return subprocess.run([BINARY, "top", "--server", f"127.0.0.1:{weir.port}", *arguments],
                          capture_output=True, text=True, timeout=30, env=ENVIRONMENT)


class Screen:
    """weir top on a terminal of its own."""

    def __init__(self, *arguments, rows=24, columns=80):
        self.end, other_end = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.end)
        self.process = subprocess.Popen([BINARY, "top", *arguments], stdin=other_end,
                                        stdout=other_end, stderr=other_end, env=ENVIRONMENT,
                                        start_new_session=True)
        os.close(other_end)
        self.written = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, text, within=20):
        """Reads until the text was written; what was written until then."""
        deadline = time.monotonic() + within
        while text not in self.written:
            assert time.monotonic() < deadline, f"no {text} in {self.written}"
            if select.select([self.end], [], [], 0.1)[0]:
                self.written += os.read(self.end, 65536)
        seen, self.written = self.written.split(text, 1)
        return seen

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.end)


class TopTest(unittest.TestCase):
    def setUp(self):
        self.weir = Weir("--limit", "login=5/1m", "--limit", "api=100/1s burst 200")
        self.addCleanup(self.weir.stop)

    def test_finds_the_hot_keys_and_the_rates_under_load(self):
        with load(self.weir):
            result = top(self.weir, "--json", "--every", "500ms", "--once")
            # The keys are told of once a second.
            deadline = time.monotonic() + 20
            while True:
                result = top(self.weir, "--json", "--every", "500ms", "--once")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                told = json.loads(result.stdout)
                keys = [each["key"] for each in told["hottest"][:3]]
                if sorted(keys) == sorted(SHOWN) and len(told["most_refused"]) >= 3:
                    break
                self.assertLess(time.monotonic(), deadline, told)
        self.assertEqual([each["limit"] for each in told["limits"]].count("login"), 1)
        login = next(each for each in told["limits"] if each["limit"] == "login")
        self.assertGreater(login["denied_per_s"], 100)
        self.assertLess(login["granted_per_s"], 5)
        self.assertIn("@login", [each["limit"] for each in told["hottest"][:3]])
        for each in told["hottest"][:3]:
            self.assertGreater(each["calls_per_s"], 2 * each["error_per_s"])
        self.assertGreater(told["commands_per_s"], 500)
        self.assertGreaterEqual(told["connections"], 2)
        self.assertGreater(told["resident_bytes"], 1_000_000)

    def test_prints_one_table_where_there_is_no_terminal(self):
        result = top(self.weir)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = result.stdout.splitlines()
        self.assertRegex(lines[0], r"^weir \S+, up \d+s, 0 decisions/s, none refused, 1 conn")
        self.assertEqual([line.split("  ")[0] for line in lines if "  " in line],
                         ["limit", "cl.throttle", "login", "api", "other", "hottest keys",
                          "most refused keys"])
        self.assertNotIn("\x1b", result.stdout)

    def test_goes_on_where_every_is_given(self):
        with subprocess.Popen([BINARY, "top", "--json", "--every", "100ms", "--server",
                               f"127.0.0.1:{self.weir.port}"], stdout=subprocess.PIPE,
                              text=True) as process:
            told = [json.loads(process.stdout.readline()) for _ in range(3)]
            process.terminate()
        self.assertLess(told[0]["at_us"], told[1]["at_us"])
        self.assertLess(told[1]["at_us"], told[2]["at_us"])

    def test_draws_on_the_other_screen_and_gives_back_the_first(self):
        for end in (b"q", signal.SIGINT, signal.SIGTERM):
            screen = Screen("--server", f"127.0.0.1:{self.weir.port}", "--every", "100ms")
            self.addCleanup(screen.close)
            self.assertEqual(screen.until(b"\x1b[?1049h"), b"")
            screen.until(b"most refused keys")
            screen.resize(24, 50)
            screen.process.send_signal(signal.SIGWINCH)
            screen.until(b"denied/s  refused\x1b[0m")  # without the column between them
            self.assertNotEqual(termios.tcgetattr(screen.end), screen.before)
            if isinstance(end, bytes):
                os.write(screen.end, end)
            else:
                screen.process.send_signal(end)
            screen.until(b"\x1b[?25h\x1b[?1049l")
            self.assertEqual(screen.process.wait(10), 0)
            self.assertEqual(termios.tcgetattr(screen.end), screen.before)

    def test_waits_for_a_server_that_goes(self):
        screen = Screen("--server", f"127.0.0.1:{self.weir.port}", "--every", "100ms", columns=100)
        self.addCleanup(screen.close)
        screen.until(b"most refused keys")
        self.weir.stop()
        screen.until(b"no server answers at")
        with Weir("--limit", "new=1/1s", port=self.weir.port):
            screen.until(b"\x1b[2Knew")
            os.write(screen.end, b"q")
            self.assertEqual(screen.process.wait(10), 0)

    def test_asks_with_the_password(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("correct-horse\n")
            file.flush()
            with Weir("--password-file", file.name) as weir:
                shut_out = top(weir)
                self.assertEqual((shut_out.returncode, shut_out.stdout), (2, ""))
                self.assertIn("--password-file", shut_out.stderr)
                let_in = top(weir, "--password-file", file.name, "--every", "100ms", "--once")
                self.assertEqual((let_in.returncode, let_in.stderr), (0, ""))

    def test_says_what_is_wrong(self):
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            result = subprocess.run(
                [BINARY, "top", "--server", f"127.0.0.1:{nobody.getsockname()[1]}"],
                capture_output=True, text=True, timeout=30)
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn("start one with: weir serve", result.stderr)
        for every in ("1ms", "2d", "soon"):
            result = top(self.weir, "--every", every)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn("--every", result.stderr)


if __name__ == "__main__":
    unittest.main()
