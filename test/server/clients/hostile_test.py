"""Bytes that no client should send: each gets an error or a close; none crashes, hangs, grows."""

import re
import time
import unittest

from weir_process import Weir, read_to_end

MALFORMED = {
    "a count of -2 is an empty command": (b"*-2\r\nPING\r\n", b"+PONG"),
    "a huge count": (b"*1000000000\r\n", b"-ERR Protocol error"),
    "a count that is no number": (b"*+1\r\n", b"-ERR Protocol error"),
    "a count with a letter": (b"*1x\r\n", b"-ERR Protocol error"),
    "a negative length": (b"*1\r\n$-2\r\n", b"-ERR Protocol error"),
    "a null argument": (b"*1\r\n$-1\r\n", b"-ERR Protocol error"),
    "a length past all memory": (b"*1\r\n$9223372036854775807\r\n", b"-ERR Protocol error"),
    "a length past the limit": (b"*1\r\n$65537\r\n", b"-ERR Protocol error"),
    "more bytes than announced": (b"*1\r\n$2\r\nPING\r\n", b"-ERR Protocol error"),
    "an integer for an argument": (b"*1\r\n:5\r\n", b"-ERR Protocol error"),
    "a nested array": (b"*1\r\n" * 100_000, b"-ERR Protocol error"),
    "a streamed string": (b"*1\r\n$?\r\n", b"-ERR Protocol error"),
    "65 arguments": (b"*65\r\n", b"-ERR Protocol error"),
    "unbalanced quotes": (b'ECHO "a\r\n', b"-ERR Protocol error"),
    "64 KiB without a line end": (b"x" * 65536, b"-ERR Protocol error"),
    "a NUL in a line": (b"PI\0NG\r\n", b"-ERR Protocol error"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"-ERR unknown command 'GET'"),
    "a TLS handshake": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n", b"-ERR "),
    "a RESP3 map": (b"%1\r\n$1\r\na\r\n$1\r\nb\r\n", b"-ERR unknown command"),
}


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.weir = Weir("--max-connections", "200")

    @classmethod
    def tearDownClass(cls):
        assert cls.weir.stop() == 0, cls.weir.errors

    def alive(self):
        with self.weir.connect() as connection:
            connection.sendall(b"PING\r\n")
            self.assertEqual(connection.recv(64), b"+PONG\r\n")

    def answer(self, data, one_byte_at_a_time=False):
        with self.weir.connect() as connection:
            try:
                if one_byte_at_a_time:
                    for at in range(len(data)):
                        connection.sendall(data[at:at + 1])
                else:
                    connection.sendall(data)
                connection.shutdown(1)
            except (BrokenPipeError, ConnectionResetError, OSError):
                pass
            return read_to_end(connection)

    def test_malformed_requests_get_an_error(self):
        for name, (data, expected) in MALFORMED.items():
            with self.subTest(name):
                self.assertIn(expected, self.answer(data))
                self.alive()

    def test_malformed_requests_get_the_same_error_byte_by_byte(self):
        for name, (data, expected) in MALFORMED.items():
            if len(data) < 200:
                with self.subTest(name):
                    self.assertIn(expected, self.answer(data, one_byte_at_a_time=True))

    def test_commands_before_a_malformed_one_are_answered(self):
        self.assertTrue(self.answer(b"PING\r\nPING\r\n*1\r\n:\r\nPING\r\n").startswith(
            b"+PONG\r\n+PONG\r\n-ERR Protocol error"))

    def test_a_mixed_pipeline_is_answered_alike_wherever_it_is_split(self):
        # Framed and typed commands, long and empty ones, a change of protocol, errors, the end:
        # commands are parsed some ahead of those that run.
        framed = b"*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n0\r\n$1\r\n1\r\n$6\r\n999999\r\n"
        pipeline = (b"PING\r\n" + framed * 2 + b"\r\n*0\r\n" + b"ECHO 'a b'\r\n" +
                    b"*2\r\n$4\r\nECHO\r\n$120\r\n" + b"x" * 120 + b"\r\n" + b"NOPE a\r\n" +
                    b"HELLO 3\r\nWEIR.PEEK p 1/1s\r\n" + framed * 20 + b"DEL k\r\n" +
                    b"*1\r\n$4\r\nQUIT\r\nPING\r\n")
        def without_client_id(reply):
            return re.sub(rb"(\$2\r\nid\r\n):\d+", rb"\1", reply)

        whole = without_client_id(self.answer(pipeline))
        self.assertEqual(whole.count(b"*5\r\n"), 22, whole)
        self.assertTrue(whole.endswith(b":1\r\n+OK\r\n"), whole)
        for at in range(1, len(pipeline)):
            with self.weir.connect() as connection:
                connection.sendall(pipeline[:at])
                connection.sendall(pipeline[at:])
                parts = without_client_id(read_to_end(connection))
            self.assertEqual(parts, whole, at)

    def test_a_truncated_command_is_answered_with_a_close(self):
        for data in (b"*1\r\n$4\r\nPI", b"*2\r\n$4\r\nECHO\r\n", b"PIN", b"*", b"*1\r\n$"):
            self.assertEqual(self.answer(data), b"")
        self.alive()

    def test_bad_arguments_of_cl_throttle_get_errors(self):
        for arguments in (b"k", b"k 1", b"k 1 1", b"k 1 1 1 1 1", b"k -1 1 1", b"k 1 0 1",
                          b"k 1 1 0", b"k 9223372036854775808 1 1", b"k 1.5 1 1",
                          b"k '' 1 1", b"k 0x10 1 1",
                          b"k " + b"9" * 400 + b" 1 1", b"k 1 1 1 -9223372036854775808"):
            with self.subTest(arguments):
                answer = self.answer(b"CL.THROTTLE " + arguments + b"\r\n")
                self.assertTrue(answer.startswith(b"-ERR "), answer)

    def test_a_reader_that_never_reads_is_not_buffered_without_end(self):
        with self.weir.connect() as connection:
            connection.settimeout(0.5)
            before = self.weir.rss()
            sent = 0
            try:
                while sent < 200 << 20:
                    sent += connection.send(b"COMMAND\r\n" * 1000)
            except TimeoutError:
                pass
            self.assertLess(sent, 64 << 20)
            self.assertLess(self.weir.rss() - before, 32 << 20)
        self.alive()

    def test_a_deep_pipeline_is_answered_whole(self):
        with self.weir.connect() as connection:
            connection.sendall(b"PING\r\n" * 100_000 + b"QUIT\r\n")
            self.assertEqual(len(read_to_end(connection)), 7 * 100_000 + 5)

    def test_connections_past_the_cap_are_turned_away(self):
        held = [self.weir.connect() for _ in range(200)]
        try:
            for connection in held:
                connection.sendall(b"PING\r\n")
            answers = [connection.recv(64) for connection in held]
            self.assertIn(b"+PONG\r\n", answers)
            with self.weir.connect() as late:
                self.assertIn(b"max number of clients", read_to_end(late))
        finally:
            for connection in held:
                connection.close()
        deadline = time.monotonic() + 10
        while self.weir.metric('weir_connections{protocol="resp"}') > 0:
            self.assertLess(time.monotonic(), deadline)
        self.alive()

    def test_nothing_grows_over_many_hostile_connections(self):
        for _ in range(50):
            self.answer(b"*1\r\n:5\r\n")
        before = self.weir.rss()
        for _ in range(500):
            self.answer(b"*3\r\n$9\r\nWEIR.TAKE\r\n$1\r\na\r\n$4\r\n5/zz\r\n*1\r\n:5\r\n")
        self.assertLess(self.weir.rss() - before, 4 << 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
