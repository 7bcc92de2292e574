"""What a service manager hears of a running server."""

import os
import pathlib
import signal
import socket
import tempfile
import unittest

from weir_process import Weir


class ServiceManager(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        address = str(pathlib.Path(folder.name) / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.bind(address)
        self.socket.settimeout(20)
        for name, value in (("NOTIFY_SOCKET", address), ("WATCHDOG_USEC", "5000000")):
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)

    def heard(self):
        return self.socket.recv(4096)

    def test_hears_ready_then_life_then_stopping(self):
        server = Weir()
        self.assertEqual(self.heard(), b"READY=1")
        with server.connect() as client:
            client.sendall(b"PING\r\n")
            self.assertEqual(client.recv(64), b"+PONG\r\n")
        self.assertEqual(self.heard(), b"WATCHDOG=1")
        self.assertEqual(self.heard(), b"WATCHDOG=1")
        server.process.send_signal(signal.SIGTERM)
        while (message := self.heard()) == b"WATCHDOG=1":
            pass
        self.assertEqual(message, b"STOPPING=1")
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
