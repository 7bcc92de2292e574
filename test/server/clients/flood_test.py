"""A flood of keys, and clients that are slow on purpose: memory stays where it was told to, and
those who behave see what they saw before. FLOOD_KEYS says how many keys."""

import os
import resource
import socket
import statistics
import threading
import time
import unittest

from weir_process import Weir

KEYS = int(os.environ.get("FLOOD_KEYS", "200000"))
MIB = 1 << 20
# The program, its threads and the buffers of a few connections, beside the memory for states.
BESIDE = 16 * MIB
RESIDENTS = 2000


def ask(connection, commands):
    """Writes them all and reads all replies, at once."""
    asked = b"".join(commands) + b"ECHO the-end\r\n"
    sender = threading.Thread(target=connection.sendall, args=(asked,))
    sender.start()
    answer = b""
    while not answer.endswith(b"$7\r\nthe-end\r\n"):
        chunk = connection.recv(1 << 20)
        if not chunk:
            raise ConnectionError("closed")
        # The tail alone is looked at, so that long answers are not copied again and again.
        answer = chunk if len(chunk) > 20 else answer[-20:] + chunk
    sender.join()


def verdicts(connection, commands):
    connection.sendall(b"".join(commands) + b"ECHO the-end\r\n")
    answer = b""
    while not answer.endswith(b"$7\r\nthe-end\r\n"):
        answer += connection.recv(1 << 20)
    return [b"granted" in reply for reply in answer.split(b"verdict\r\n")[1:]]


def percentiles(times):
    cuts = statistics.quantiles(times, n=1000)
    return f"p50 {cuts[499] * 1e6:.0f} us, p99 {cuts[989] * 1e6:.0f} us, max " \
           f"{max(times) * 1e6:.0f} us"


class Flood(unittest.TestCase):
    def flood(self, key, limit, keys, cost=1):
        with Weir("--max-memory", "32M", "--threads", "1") as server, server.connect() as client:
            before = server.rss()
            residents = [b"WEIR.TAKE resident-%d 2/1h\r\n" % at for at in range(RESIDENTS)]
            self.assertEqual(verdicts(client, residents), [True] * RESIDENTS)
            self.assertEqual(verdicts(client, residents), [True] * RESIDENTS)
            most = 0
            for begin in range(0, keys, 2000):
                ask(client, [b"WEIR.TAKE %s '%s' COST %d\r\n" % (key % at, limit, cost)
                             for at in range(begin, min(begin + 2000, keys))])
                most = max(most, server.rss())
            reset = sum(verdicts(client, residents))
            shared = server.metric("weir_shared_decisions_total")
            kept = server.metric("weir_keys")
            counted = server.metric("weir_memory_bytes")
        print(f"\n{keys} keys of {len(key % 0)} bytes, {limit.decode()}: RSS {before / MIB:.1f} "
              f"-> {most / MIB:.1f} MiB, {kept:.0f} kept, {shared:.0f} decided on shared states, "
              f"{reset} of {RESIDENTS} residents reset")
        self.assertEqual(reset, 0)
        self.assertGreater(shared, keys / 4)
        self.assertLessEqual(counted, 32 * MIB)
        self.assertLessEqual(most, 32 * MIB + BESIDE)

    def test_of_long_keys_stays_below_max_memory(self):
        self.flood(b"a-long-key-" + b"x" * 500 + b"-%09d", b"5/1h", KEYS)

    def test_of_sliding_logs_stays_below_max_memory(self):
        self.flood(b"a-key-%09d", b"sliding-log 1000/1h", KEYS, cost=1000)


class Slow(unittest.TestCase):
    """Slow clients cost a good one nothing to speak of, and the server little memory."""

    def measure(self, server, rounds=3000):
        request = b"CL.THROTTLE good 1000000 1000000 1\r\n"
        times = []
        with server.connect() as good:
            for _ in range(rounds):
                begin = time.perf_counter()
                good.sendall(request)
                self.assertTrue(good.recv(256).startswith(b"*5\r\n:0\r\n"))
                times.append(time.perf_counter() - begin)
        return times

    def test_who_never_ends_a_command(self):
        with Weir("--threads", "1") as server:
            alone = self.measure(server)
            before = server.rss()
            slow = [server.connect() for _ in range(500)]
            for connection in slow:
                connection.sendall(b"*3\r\n$4\r\nECHO\r\n$60000\r\n" + b"x" * 100)
            stop = threading.Event()

            def trickle():
                while not stop.is_set():
                    for connection in slow:
                        connection.send(b"x")
                        stop.wait(0.0005)
            thread = threading.Thread(target=trickle)
            thread.start()
            beside = self.measure(server)
            grown = server.rss() - before
            stop.set()
            thread.join()
            for connection in slow:
                connection.close()
        print(f"\na good client alone: {percentiles(alone)}; beside 500 that never end a command: "
              f"{percentiles(beside)}; RSS +{grown / MIB:.1f} MiB")
        self.assertLess(statistics.quantiles(beside, n=100)[98], 0.1)
        self.assertLess(grown, 500 * (72 << 10))

    def test_who_never_reads(self):
        with Weir("--threads", "1") as server:
            alone = self.measure(server)
            before = server.rss()
            stuck = [server.connect() for _ in range(20)]
            for connection in stuck:
                connection.settimeout(0.05)
                try:
                    while True:
                        connection.send(b"COMMAND\r\n" * 1000)
                except (TimeoutError, socket.timeout):
                    pass
            beside = self.measure(server)
            grown = server.rss() - before
            for connection in stuck:
                connection.close()
        print(f"\na good client alone: {percentiles(alone)}; beside 20 that never read: "
              f"{percentiles(beside)}; RSS +{grown / MIB:.1f} MiB")
        self.assertLess(statistics.quantiles(beside, n=100)[98], 0.1)
        self.assertLess(grown, 20 * 3 * MIB)

    def test_descriptors_run_out(self):
        with Weir("--threads", "1", "--max-connections", "1000") as server:
            alone = self.measure(server)
            good = server.connect()
            used = len(os.listdir(f"/proc/{server.process.pid}/fd"))
            _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
            good.sendall(b"PING\r\n")
            good.recv(64)
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 1, hard))
            waiting = [server.connect() for _ in range(50)]
            times = []
            for _ in range(3000):
                begin = time.perf_counter()
                good.sendall(b"CL.THROTTLE good 1000000 1000000 1\r\n")
                good.recv(256)
                times.append(time.perf_counter() - begin)
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (hard, hard))
            for connection in waiting:
                connection.sendall(b"PING\r\n")
                self.assertEqual(connection.recv(64), b"+PONG\r\n")
                connection.close()
            good.close()
            failures = server.metric("weir_accept_failures_total")
        print(f"\na good client: {percentiles(alone)}; while 50 wait for descriptors: "
              f"{percentiles(times)}; {failures:.0f} accepts failed, all 50 served later")
        self.assertGreater(failures, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
