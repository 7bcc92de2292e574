"""Memory runs out in a server that is asked: it may lose a connection, and nothing else."""

import contextlib
import mmap
import os
import re
import signal
import socket
import struct
import tempfile
import unittest

from weir_process import Weir, read_to_end

MODULE = os.environ["FAILING_MEMORY"]
ONE, LASTING = 0, 1
COMMANDS = (
    b"CL.THROTTLE alice 15 30 60\r\n",
    b"WEIR.TAKE a-key-that-is-long-enough-for-the-heap 'sliding-log 70/1h' COST 60\r\n",
    b"WEIR.TAKEALL 2 alice bob 5/1h '6/1h & sliding-window 7/1d' COSTS 1 2\r\n",
    b"MULTI\r\nWEIR.TAKE alice 5/1h\r\nEXEC\r\n",
    b"WEIR.TAKE alice 5/zz\r\n*1\r\n:malformed\r\n",
    b"COMMAND DOCS\r\n",
    b"INFO\r\n",
)


class WithoutMemory(unittest.TestCase):
    def setUp(self):
        told = tempfile.NamedTemporaryFile()  # FailingMemory of test/fault, shared with the server
        self.addCleanup(told.close)
        told.write(struct.pack("qqq", 0, 0, 0))
        told.flush()
        self.told = mmap.mmap(told.fileno(), 24)
        os.environ.update(LD_PRELOAD=MODULE, WEIR_FAILING_MEMORY=told.name)
        try:
            self.server = Weir("--threads", "1", "--limit", "login=5/1h")
        finally:
            del os.environ["LD_PRELOAD"], os.environ["WEIR_FAILING_MEMORY"]
        self.addCleanup(self.server.stop)
        self.server.eventually(self.pings)

    def starve(self, nth, how):
        struct.pack_into("qqq", self.told, 0, nth, how, 0)

    def failed(self):
        """How many allocations did since starve()."""
        return struct.unpack_from("q", self.told, 16)[0]

    def heal(self):
        """How many allocations failed."""
        struct.pack_into("q", self.told, 0, 0)
        return self.failed()

    def pings(self):
        with socket.create_connection(("127.0.0.1", self.server.port), 5) as connection:
            connection.settimeout(5)
            try:
                connection.sendall(b"PING\r\n")
                return connection.recv(64) == b"+PONG\r\n"
            except OSError:
                return False

    def each_failure(self, how, act, most=400):
        """act() with its n-th allocation failing, for n = 1, 2, ...; how many there were."""
        for nth in range(1, most):
            self.starve(nth, how)
            act()
            if self.heal() == 0:
                return nth - 1
            self.assertIsNone(self.server.process.poll(), f"it ended at allocation {nth}")
            self.server.eventually(self.pings)
        return most

    def test_a_command_costs_at_most_its_connection(self):
        bystander = self.server.connect()
        self.addCleanup(bystander.close)
        bystander.sendall(b"PING\r\n")  # answered, so it is accepted before memory runs out
        self.assertEqual(bystander.recv(64), b"+PONG\r\n")
        total = 0
        for command in COMMANDS:
            for how in (ONE, LASTING):
                def ask():
                    with contextlib.suppress(OSError), self.server.connect() as connection:
                        connection.sendall(command)
                        connection.shutdown(socket.SHUT_WR)
                        read_to_end(connection)
                with self.subTest(command=command, how=how):
                    total += self.each_failure(how, ask, most=60 if how == LASTING else 400)
        bystander.sendall(b"PING\r\n")
        self.assertEqual(bystander.recv(64), b"+PONG\r\n")
        lost = self.server.metric("weir_out_of_memory_total")
        print(f"\n{total} failed allocations, {lost:.0f} handlers given up, 0 crashes")
        self.assertGreater(total, 50)
        self.assertGreater(lost, 0)
        with self.server.connect() as connection:  # the bound held, whatever failed
            connection.sendall(b"WEIR.TAKE alice 5/1h\r\n" * 20)
            connection.shutdown(socket.SHUT_WR)
            self.assertLessEqual(read_to_end(connection).count(b"granted"), 5)
        self.server.eventually(
            lambda: self.server.metric('weir_connections{protocol="resp"}') == 1)
        before = len(os.listdir(f"/proc/{self.server.process.pid}/fd"))
        self.assertLess(before, 40)  # no descriptor is left behind

    def test_the_status_page_and_the_end_come_all_the_same(self):
        def watch():
            try:
                self.server.metrics()
            except OSError:
                pass
        met = self.each_failure(ONE, watch)
        self.assertGreater(met, 5)
        self.assertGreater(self.server.metric("weir_commands_total"), 0)
        self.starve(1, LASTING)
        self.server.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.stop(), 0)

    def test_the_end_comes_however_long_the_want_lasts(self):
        self.starve(1, LASTING)
        # What the server does each second finds none.
        self.server.eventually(lambda: self.failed() > 2)
        self.server.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.stop(), 0)

    def test_says_so_once_a_minute(self):
        for _ in range(20):
            self.starve(1, LASTING)
            with self.server.connect() as connection:
                connection.sendall(COMMANDS[1])
                connection.settimeout(0.05)
                try:
                    connection.recv(64)
                except OSError:
                    pass
            self.heal()
        self.server.eventually(self.pings)
        self.assertEqual(self.server.stop(), 0)
        lines = re.findall(r"error out of memory .*", self.server.errors)
        self.assertIn(len(lines), (1, 2))  # the second tells of those that were suppressed


if __name__ == "__main__":
    unittest.main(verbosity=2)
