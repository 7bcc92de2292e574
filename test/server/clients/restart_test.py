"""What clients are granted over the end of one server and the start of the next."""

import os
import re
import signal
import socket
import tempfile
import threading
import time
import unittest

from weir_process import Weir, read_to_end

BURST = 3000
LIMIT = f"1/1d burst {BURST}"  # not refilled before the test is over
REQUEST = b"*3\r\n$9\r\nWEIR.TAKE\r\n$5\r\nalice\r\n$%d\r\n%s\r\n" % (len(LIMIT), LIMIT.encode())


class Client:
    """Asks for one unit after the other, connects again where it must, and counts."""

    def __init__(self, port, pause):
        self.port, self.pause = port, pause
        self.granted, self.lost, self.errors = [], 0, 0  # when; asked and never answered; -ERR
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopping.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
                    self.ask(connection)
            except OSError:
                time.sleep(0.01)

    def ask(self, connection):
        connection.settimeout(5)
        while not self.stopping.is_set():
            try:
                connection.sendall(REQUEST)
            except OSError:
                return
            answer = b""
            while b"$5\r\ngrant\r\n" not in answer or not answer.endswith(b"\r\n"):
                chunk = connection.recv(4096)
                if not chunk:
                    self.lost += 1
                    return
                answer += chunk
                if answer.startswith(b"-"):
                    self.errors += 1
                    self.stopping.set()
                    return
            if b"\r\ngranted\r\n" in answer:
                self.granted.append(time.time())
            time.sleep(self.pause)

    def stop(self):
        self.stopping.set()
        self.thread.join()


class Restart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "states")

    def server(self, port=0, every="1s"):
        server = Weir("--snapshot", self.path, "--snapshot-every", every, port=port)
        self.addCleanup(server.stop)
        return server

    def clients(self, port, pause, count=4):
        clients = [Client(port, pause) for _ in range(count)]
        for client in clients:
            self.addCleanup(client.stop)
        return clients

    def drain_what_is_left(self, server):
        """How much of the burst the server still gives."""
        with server.connect() as connection:
            connection.sendall(REQUEST * (BURST + 100) + b"QUIT\r\n")
            return read_to_end(connection).count(b"\r\ngranted\r\n")

    def test_a_drain_and_a_restart_lose_nothing(self):
        server = self.server()
        clients = self.clients(server.port, pause=0.002)
        time.sleep(0.5)
        for _ in range(3):  # a rolling restart, under load
            self.assertEqual(server.stop(), 0)
            self.assertIn("stopped cut_off=0", server.errors)
            server = self.server(port=server.port)
            time.sleep(0.3)
        for client in clients:
            client.stop()
        lost = sum(client.lost for client in clients)
        granted = sum(len(client.granted) for client in clients)
        total = granted + self.drain_what_is_left(server)
        self.assertGreater(granted, 100)
        self.assertLess(granted, BURST)
        self.assertEqual(total, BURST)
        self.assertEqual(sum(client.errors for client in clients), 0)
        print(f"\n3 drains and restarts: {total} granted of a burst of {BURST}, "
              f"{lost} requests came too late for an answer and were not counted")

    def test_what_is_in_flight_at_the_end_is_answered(self):
        server = self.server()
        connections = [server.connect() for _ in range(20)]
        for connection in connections:
            self.addCleanup(connection.close)
            connection.sendall(b"PING\r\n")
            self.assertEqual(connection.recv(64), b"+PONG\r\n")
            connection.sendall(REQUEST * 100)
        server.process.send_signal(signal.SIGTERM)
        answered = sum(read_to_end(connection).count(b"\r\n$7\r\nverdict\r\n")
                       for connection in connections)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(answered, 2000)
        with self.server() as again:
            self.assertEqual(self.drain_what_is_left(again), BURST - 2000)
        print(f"\nSIGTERM with 2000 requests in flight: {answered} answered")

    def test_a_kill_forgets_at_most_the_last_interval(self):
        server = self.server()
        clients = self.clients(server.port, pause=0.004)
        server.eventually(lambda: sum(len(client.granted) for client in clients) > 50)
        before = server.metric('weir_snapshot_writes_total{result="ok"}')
        server.eventually(
            lambda: server.metric('weir_snapshot_writes_total{result="ok"}') >= before + 2)
        time.sleep(0.5)
        begun = server.metric("weir_snapshot_timestamp_seconds")
        server.process.kill()
        server.process.wait()
        self.assertLess(time.time() - begun, 5, "one was begun in time")
        for client in clients:
            client.stop()
        granted = [at for client in clients for at in client.granted]
        last = sum(1 for at in granted if at >= begun)
        self.assertLess(len(granted), BURST)
        with self.server(port=server.port) as again:
            total = len(granted) + self.drain_what_is_left(again)
        self.assertIn("snapshot read", again.errors)
        self.assertGreater(len(granted), last, "something was granted before it")
        self.assertLessEqual(total, BURST + last)
        self.assertGreaterEqual(total, BURST - sum(client.lost for client in clients))
        self.assertEqual(server.process.returncode, -signal.SIGKILL)
        print(f"\nkill -9: {total} granted of a burst of {BURST}, {total - BURST} too many; "
              f"{last} were granted since the last snapshot was begun")

    def test_the_snapshot_says_how_old_it_is(self):
        with self.server() as server:
            self.drain_what_is_left(server)
        with self.server() as again:
            pass
        self.assertRegex(again.errors, r"snapshot read file=\S+ states=1 fresh=0 .* age_s=\d+")
        self.assertEqual(len(re.findall("error", again.errors)), 0, again.errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
