"""The built weir as a child process, for tests in Python."""

import os
import re
import signal
import socket
import subprocess
import time

BINARY = os.environ["WEIR_BINARY"]


class Weir:
    """Starts `weir serve` on free ports, or RESP on a given one; use it in a with statement."""

    def __init__(self, *arguments, port=0):
        self.process = subprocess.Popen(
            [BINARY, "serve", "--resp", f"127.0.0.1:{port}", "--metrics", "127.0.0.1:0",
             "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.ports = {}
        self.others = []  # addresses of further --resp, --http and --grpc options
        while len(self.ports) < 4:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("weir did not start: " + self.process.stderr.read())
            found = re.fullmatch(r"(resp|metrics|http|grpc) 127\.0\.0\.1:(\d+)\n", line)
            if found and found[1] not in self.ports:
                self.ports[found[1]] = int(found[2])
            elif line.startswith(("resp ", "http ", "grpc ")):
                self.others.append(line[5:].rstrip())
        self.port = self.ports["resp"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def connect(self, listener="resp"):
        connection = socket.create_connection(("127.0.0.1", self.ports[listener]), timeout=10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def rss(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def metrics(self):
        with self.connect("metrics") as http:
            http.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return read_to_end(http).decode()

    def metric(self, name):
        return float(re.search(f"^{re.escape(name)} (.*)$", self.metrics(), re.M)[1])

    def hits(self, limit):
        return self.metric(f'weir_limit_hits_total{{limit="{limit}"}}')

    def eventually(self, holds, within=10):
        """Asks again until it holds, and fails after so many seconds."""
        deadline = time.monotonic() + within
        while not holds():
            assert time.monotonic() < deadline, "it did not come true"
            time.sleep(0.02)

    def stop(self):
        """SIGTERM; the exit status. Later calls return the same."""
        if self.process.stdout.closed:
            return self.process.returncode
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.process.stdout.close()
        self.errors = self.process.stderr.read()
        self.process.stderr.close()
        return status


def read_to_end(connection):
    data = b""
    try:
        while chunk := connection.recv(65536):
            data += chunk
    except ConnectionResetError:
        pass
    return data
