"""weir doctor on this machine: what it says of addresses, and its exit status."""

import json
import socket
import subprocess
import unittest

from weir_process import BINARY, Weir


def doctor(*arguments, metrics="off"):
    return subprocess.run([BINARY, "doctor", "--metrics", metrics, "--max-connections", "10",
                           "--max-keys", "1000", *arguments], capture_output=True, text=True,
                          timeout=30)


def finding(result, subject):
    return next(each for each in json.loads(result.stdout)["findings"]
                if each["subject"] == subject)


class DoctorTest(unittest.TestCase):
    def test_finds_a_free_port_and_tells_a_line_a_finding(self):
        result = doctor("--resp", "127.0.0.1:0")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 9)
        self.assertRegex(lines[0], r"^ok    resp +127\.0\.0\.1:0 is free$")
        for line in lines:
            self.assertRegex(line, r"^(ok    \S.*|warn  \S.*; mend: .+)$")

    def test_knows_a_weir_by_its_version(self):
        version = subprocess.run([BINARY, "version"], capture_output=True, text=True,
                                 check=True).stdout.strip()
        with Weir() as weir:
            result = doctor("--resp", f"127.0.0.1:{weir.port}", "--json",
                            metrics=f"127.0.0.1:{weir.ports['metrics']}")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(finding(result, "resp")["seen"],
                         f"{version} answers at 127.0.0.1:{weir.port}")
        self.assertEqual(finding(result, "metrics")["seen"],
                         f"weir answers at 127.0.0.1:{weir.ports['metrics']}")

    def test_fails_where_another_program_listens(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            result = doctor("--resp", f"127.0.0.1:{port}", "--json")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(json.loads(result.stdout)["health"], "fail")
        self.assertEqual(finding(result, "resp")["health"], "fail")
        self.assertIn("--resp", finding(result, "resp")["mend"])

    def test_fails_on_an_address_that_is_none(self):
        for address in ("nonsense", "203.0.113.1:7379"):
            result = doctor("--resp", address, "--json")
            self.assertEqual(result.returncode, 1, address)
            self.assertIn(address, finding(result, "resp")["seen"])

    def test_refuses_what_is_no_number(self):
        result = doctor("--threads", "none")
        self.assertEqual((result.returncode, result.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main()
