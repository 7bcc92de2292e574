"""What one client may make the server hold: each bound is an option, is counted, and harms nobody
else."""

import os
import resource
import socket
import subprocess
import time
import unittest

from weir_process import Weir, read_to_end


def exchange(server, data):
    with server.connect() as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return read_to_end(connection)


def ping(connection):
    connection.sendall(b"PING\r\n")
    return connection.recv(64)


class Limits(unittest.TestCase):
    def server(self, *arguments):
        server = Weir(*arguments)
        self.addCleanup(server.stop)
        return server

    def test_bytes_and_arguments_are_bounded_by_options(self):
        server = self.server("--max-inline-bytes", "20", "--max-arguments", "3",
                             "--max-argument-bytes", "30", "--max-frame-bytes", "60")
        for limit, good, bad in (
                ("max-inline-bytes", b"ECHO " + b"x" * 15 + b"\r\n",
                 b"ECHO " + b"x" * 16 + b"\r\n"),
                ("max-arguments", b"CONFIG GET x\r\n", b"CONFIG GET x y\r\n"),
                ("max-argument-bytes", b"*2\r\n$4\r\nECHO\r\n$30\r\n" + b"x" * 30 + b"\r\n",
                 b"*2\r\n$4\r\nECHO\r\n$31\r\n"),
                ("max-frame-bytes",
                 b"*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$20\r\n" + b"x" * 20 + b"\r\n",
                 b"*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$29\r\n")):
            with self.subTest(limit):
                self.assertNotIn(b"Protocol error", exchange(server, good))
                self.assertEqual(server.hits(limit), 0)
                self.assertIn(b"-ERR Protocol error: ", exchange(server, bad))
                self.assertEqual(server.hits(limit), 1)
        self.assertEqual(
            server.metric('weir_protocol_errors_total{protocol="resp",kind="too_large"}'), 4)

    def test_bounds_of_grpc_are_counted_and_logged(self):
        server = self.server()
        greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
        ping = bytes([0, 0, 8, 6, 0, 0, 0, 0, 0]) + b"12345678"
        for sent in (greeting + 1000 * ping, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
            with server.connect("grpc") as connection:
                connection.sendall(sent)
                read_to_end(connection)
        self.assertEqual(server.hits("grpc-frames-without-call"), 1)
        self.assertEqual(server.hits("grpc-resets"), 0)
        ended = 'weir_protocol_errors_total{protocol="grpc",kind="%s"}'
        self.assertEqual(server.metric(ended % "too_large"), 1)
        self.assertEqual(server.metric(ended % "malformed"), 1)
        server.stop()
        for reason in ("too many frames without a call", "expected HTTP/2"):
            self.assertIn(f'name=grpc reason="{reason}"', server.errors)

    def test_a_key_is_bounded_in_every_command(self):
        server = self.server("--max-key-bytes", "5")
        good, bad = b"12345", b"123456"
        for command in (b"CL.THROTTLE %s 1 1 1", b"WEIR.TAKE %s 5/1m", b"WEIR.PEEK %s 5/1m",
                        b"WEIR.CANCEL %s 5/1m 0:0", b"WEIR.REFUND %s 5/1m 1", b"WEIR.RESET %s 5/1m",
                        b"WEIR.ENTER %s 'concurrency 5/1m'",
                        b"WEIR.LEAVE %s 'concurrency 5/1m' 1",
                        b"WEIR.RENEW %s 'concurrency 5/1m' 1",
                        b"WEIR.TAKEALL 2 a %s 5/1m 6/1m", b"DEL a %s"):
            with self.subTest(command):
                before = server.hits("max-key-bytes")
                self.assertNotIn(b"ERR key:", exchange(server, command % good + b"\r\n"))
                answer = exchange(server, command % bad + b"\r\nPING\r\n")
                self.assertEqual(answer,
                                 b"-ERR key: expected at most 5 bytes\r\n+PONG\r\n")
                self.assertEqual(server.hits("max-key-bytes"), before + 1)

    def test_a_key_has_a_kibibyte_unless_told_otherwise(self):
        server = self.server()
        take = b"WEIR.TAKE %s 5/1m\r\n"
        self.assertIn(b"granted", exchange(server, take % (b"k" * 1024)))
        self.assertIn(b"at most 1024 bytes", exchange(server, take % (b"k" * 1025)))

    def test_a_deep_pipeline_gives_others_their_turn(self):
        server = self.server("--threads", "1", "--max-pipeline", "10")
        with server.connect() as greedy:
            greedy.sendall(b"PING\r\n" * 5000 + b"QUIT\r\n")
            self.assertEqual(len(read_to_end(greedy)), 7 * 5000 + 5)
        self.assertGreaterEqual(server.hits("max-pipeline"), 100)
        before = server.hits("max-pipeline")
        self.assertEqual(exchange(server, b"PING\r\n" * 10), b"+PONG\r\n" * 10)
        self.assertEqual(server.hits("max-pipeline"), before)

    def test_a_command_that_has_not_all_come_keeps_no_answer_of_a_deep_pipeline_back(self):
        server = self.server("--threads", "1", "--max-pipeline", "10")
        with server.connect() as greedy:
            # All in one piece, so that the last is seen while the turn leaves others unanswered.
            greedy.sendall(b"*1\r\n$4\r\nPING\r\n" * 15 +
                           b"*2\r\n$4\r\nECHO\r\n$60000\r\n")
            answers = b""
            while len(answers) < 7 * 15:
                answers += greedy.recv(4096)  # with a time limit of its own
            self.assertEqual(answers, b"+PONG\r\n" * 15)

    def test_connections_are_bounded(self):
        server = self.server("--max-connections", "3")
        held = [server.connect() for _ in range(3)]
        for connection in held:
            self.assertEqual(ping(connection), b"+PONG\r\n")
        self.assertEqual(exchange(server, b""), b"-ERR max number of clients reached\r\n")
        self.assertEqual(server.hits("max-connections"), 1)
        held.pop().close()
        server.eventually(lambda: exchange(server, b"PING\r\n") == b"+PONG\r\n")
        for connection in held:
            connection.close()

    def test_connections_of_one_address_are_bounded(self):
        server = self.server("--max-connections-per-address", "3")

        def connect(address):
            return socket.create_connection(("127.0.0.1", server.port), 10, (address, 0))

        held = [connect("127.0.0.1") for _ in range(3)]
        for connection in held:
            self.assertEqual(ping(connection), b"+PONG\r\n")
        with connect("127.0.0.1") as late:
            self.assertEqual(read_to_end(late),
                             b"-ERR max number of clients from one address reached\r\n")
        with connect("127.0.0.2") as other:
            self.assertEqual(ping(other), b"+PONG\r\n")
        self.assertEqual(server.hits("max-connections-per-address"), 1)
        for connection in held:
            connection.close()
        server.eventually(lambda: exchange(server, b"PING\r\n") == b"+PONG\r\n")

    def test_a_command_that_never_ends_is_cut_off(self):
        server = self.server("--command-timeout", "1s")
        with server.connect() as good:
            slow = [server.connect() for _ in range(100)]
            open_still = set(slow)
            trickle = b"*3\r\n$4\r\nECHO\r\n$60000\r\n" + b"x" * 50_000
            begin = time.monotonic()
            worst = 0
            for at in range(len(trickle)):
                for connection in list(open_still):
                    try:
                        connection.send(trickle[at:at + 1], socket.MSG_DONTWAIT)
                    except ConnectionError:
                        open_still.discard(connection)
                asked = time.monotonic()
                self.assertEqual(ping(good), b"+PONG\r\n")
                worst = max(worst, time.monotonic() - asked)
                if not open_still:
                    break
                self.assertLess(time.monotonic() - begin, 5)
            self.assertEqual(len(open_still), 0)
            self.assertLess(worst, 1)
            self.assertEqual(server.hits("command-timeout"), 100)
            for connection in slow:
                connection.close()

    def test_replies_that_nobody_reads_are_bounded_and_then_cut_off(self):
        server = self.server("--max-output-bytes", "10k", "--write-timeout", "1s")
        with server.connect() as good:
            before = server.rss()
            stuck = [server.connect() for _ in range(5)]
            sent = [0] * len(stuck)
            for at, connection in enumerate(stuck):
                connection.settimeout(0.3)
                try:
                    while sent[at] < 200 << 20:
                        sent[at] += connection.send(b"COMMAND\r\n" * 1000)
                except (TimeoutError, ConnectionError):
                    pass
                self.assertEqual(ping(good), b"+PONG\r\n")
                self.assertLess(server.rss() - before, 16 << 20)
            self.assertLess(max(sent), 64 << 20)
            server.eventually(lambda: server.hits("write-timeout") == len(stuck))
            self.assertGreaterEqual(server.hits("max-output-bytes"), len(stuck))
            server.eventually(
                lambda: server.metric('weir_connections{protocol="resp"}') == 1)
            self.assertEqual(ping(good), b"+PONG\r\n")
            for connection in stuck:
                connection.close()

    def test_a_drain_takes_no_longer_than_told(self):
        server = self.server("--drain-timeout", "1s", "--write-timeout", "1h")
        with server.connect() as stuck:
            stuck.settimeout(0.3)
            try:
                while True:
                    stuck.send(b"COMMAND\r\n" * 1000)
            except TimeoutError:
                pass
            begin = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - begin, 3)


class Descriptors(unittest.TestCase):
    def test_without_descriptors_those_who_are_there_are_served(self):
        with Weir("--max-connections", "1000") as server:
            held = [server.connect() for _ in range(10)]
            for connection in held:
                self.assertEqual(ping(connection), b"+PONG\r\n")
            used = len(os.listdir(f"/proc/{server.process.pid}/fd"))
            subprocess.run(["prlimit", f"--pid={server.process.pid}", f"--nofile={used}:10000"],
                           check=True)
            waiting = [server.connect() for _ in range(5)]  # as far as the kernel's queue
            for connection in waiting:
                connection.sendall(b"PING\r\n")
            until = time.monotonic() + 1.5
            while time.monotonic() < until:
                for connection in held:
                    self.assertEqual(ping(connection), b"+PONG\r\n")
            for connection in waiting:
                connection.setblocking(False)
                with self.assertRaises(BlockingIOError):
                    connection.recv(64)
                connection.settimeout(10)
            for connection in held[:7]:  # room again, one more for /metrics
                connection.close()
            for connection in waiting:
                self.assertEqual(connection.recv(64), b"+PONG\r\n")
            failures = server.metric("weir_accept_failures_total")
            self.assertGreaterEqual(failures, 5)
            self.assertLess(failures, 40)  # it does not spin
            for connection in held + waiting:
                connection.close()
        told = server.errors.count('cannot accept a connection reason="Too many open files"')
        self.assertIn(told, range(1, 7))

    def test_as_many_files_are_allowed_as_clients_need(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        with Weir("--max-connections", "500") as server:
            allowed, _ = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
            self.assertEqual(allowed, 756)
        self.assertNotIn("too few open files", server.errors)

    def test_too_few_of_them_lower_the_number_of_clients(self):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with Weir("--max-connections", str(hard)) as server, server.connect() as connection:
            self.assertEqual(ping(connection), b"+PONG\r\n")
        self.assertIn(f"too few open files for all clients clients={hard - 256} wanted={hard} ",
                      server.errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
