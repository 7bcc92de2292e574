"""Several addresses at once, and Unix sockets: who owns a path, and who removes it."""

import os
import signal
import socket
import stat
import subprocess
import tempfile
import unittest

from weir_process import BINARY, Weir, read_to_end


def connect(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    connection.connect(path)
    return connection


def ping(connection):
    connection.sendall(b"PING\r\n")
    return connection.recv(64)


def weir(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=30)


class Listeners(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "weir.sock")
        self.option = ["--resp", "unix:" + self.path]

    def test_all_addresses_reach_one_table(self):
        with Weir("--resp", "127.0.0.1:0", *self.option, "--resp", "[::1]:0") as server:
            second, _, third = server.others
            self.assertEqual(server.others[1], "unix:" + self.path)
            four = socket.create_connection(("127.0.0.1", int(second.rpartition(":")[2])), 10)
            six = socket.create_connection(("::1", int(third.rpartition(":")[2])), 10)
            remaining = []
            for connection in (server.connect(), four, connect(self.path), six):
                with connection:
                    connection.sendall(b"CL.THROTTLE alice 15 30 60\r\n")
                    remaining.append(connection.recv(64).split(b"\r\n")[3])
            self.assertEqual(remaining, [b":15", b":14", b":13", b":12"])

    def test_a_unix_socket_is_for_its_user_and_group(self):
        with Weir(*self.option):
            self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o660)

    def test_a_unix_socket_goes_with_its_server(self):
        server = Weir(*self.option)
        with connect(self.path) as connection:
            self.assertEqual(ping(connection), b"+PONG\r\n")
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(read_to_end(connection), b"")
        self.assertEqual(server.stop(), 0)
        self.assertFalse(os.path.exists(self.path))

    def test_what_a_killed_server_left_is_replaced(self):
        killed = Weir(*self.option)
        killed.process.kill()
        killed.stop()
        self.assertTrue(os.path.exists(self.path))
        with Weir(*self.option), connect(self.path) as connection:
            self.assertEqual(ping(connection), b"+PONG\r\n")

    def test_the_path_of_a_live_server_is_refused(self):
        with Weir(*self.option):
            done = weir("serve", "--metrics", "off", "--http", "off", "--grpc", "off", *self.option)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"{self.path} is in use; stop what listens there", done.stderr)
            with connect(self.path) as connection:
                self.assertEqual(ping(connection), b"+PONG\r\n")

    def test_a_file_that_is_no_socket_is_left_alone(self):
        with open(self.path, "w", encoding="ascii") as file:
            file.write("precious")
        done = weir("serve", "--metrics", "off", "--http", "off", "--grpc", "off", *self.option)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{self.path} is there and is no socket", done.stderr)
        with open(self.path, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_a_path_that_another_server_took_over_is_not_removed(self):
        with Weir(*self.option) as first:
            os.unlink(self.path)
            with Weir(*self.option):
                self.assertEqual(first.stop(), 0)
                with connect(self.path) as connection:
                    self.assertEqual(ping(connection), b"+PONG\r\n")

    def test_a_folder_that_is_not_there_is_named(self):
        done = weir("serve", "--metrics", "off", "--http", "off", "--grpc", "off",
                    "--resp", "unix:/nonexistent/weir.sock")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot listen on unix:/nonexistent/weir.sock: No such file", done.stderr)

    def test_a_failed_start_leaves_no_socket(self):
        with Weir() as server:
            done = weir("serve", *self.option, "--resp", f"127.0.0.1:{server.port}")
            self.assertEqual(done.returncode, 2)
            self.assertFalse(os.path.exists(self.path))


if __name__ == "__main__":
    unittest.main(verbosity=2)
