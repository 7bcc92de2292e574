"""What the server writes on standard error, whatever its clients send."""

import json
import unittest

from weir_process import Weir, read_to_end


def provoke(weir, times):
    for _ in range(times):
        with weir.connect() as connection:
            connection.sendall(b"*1\r\n$-7\r\n\n{\"forged\":1}\n\x1b[31m\r\n")
            read_to_end(connection)


class LogTest(unittest.TestCase):
    def test_every_line_is_an_object_and_a_flood_is_counted(self):
        with Weir("--log-format", "json") as weir:
            provoke(weir, 100)
        events = [json.loads(line) for line in weir.errors.splitlines()]
        for event in events:
            self.assertRegex(event["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        malformed = [event for event in events if event["event"] == "malformed request"]
        self.assertLessEqual(len(malformed), 13)
        told = sum(event.get("suppressed", 1) for event in malformed)
        self.assertEqual(told, 100)
        self.assertEqual([event["event"] for event in events if event["level"] == "info"],
                         ["draining", "stopped"])

    def test_a_level_silences_what_is_below_it(self):
        with Weir("--log-level", "error") as weir:
            provoke(weir, 3)
        self.assertEqual(weir.errors, "")

    def test_a_client_turned_away_is_told_of(self):
        with Weir("--max-connections", "1") as weir:
            with weir.connect() as kept:
                kept.sendall(b"PING\r\n")
                self.assertEqual(kept.recv(16), b"+PONG\r\n")
                with weir.connect() as other:
                    self.assertIn(b"max number of clients", read_to_end(other))
        self.assertRegex(weir.errors,
                         r" warning turned a client away client=127\.0\.0\.1:\d+ "
                         r'reason="max number of clients reached"\n')


if __name__ == "__main__":
    unittest.main()
