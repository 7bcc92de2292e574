"""Clients that come from package registries, asking a real server: package_clients_test.py LANGUAGE

Installs the clients of a language at their pinned versions into CLIENTS_FOLDER, then runs two
programs: one that asks with each of its clients, and the one that docs/clients.md shows. The first
is given two ports: the server's, and one where what is sent is recorded. It writes lines:

restart     the server is stopped and started again; then the program is sent a line
sent NAME   what NAME has sent to the recorded port is compared with the table of docs/protocol.md
passed ...  for people

Neither program may write a warning.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import toolchains
from recorder import PROTOCOL_PAGE, Recorder, row_of_the_page, sent_before_the_first_take
from weir_process import Weir

SKIPPED = 77  # what ctest is told to take for "not run"
PROGRAM_SECONDS = 120


def environment():
    """Without what makes a JVM say that it picked something up."""
    return {name: value for name, value in os.environ.items()
            if name not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")}


class PackageClients(unittest.TestCase):
    programs = None

    def test_every_client_asks_this_server(self):
        weir = Weir()
        self.addCleanup(lambda: self.assertEqual(weir.stop(), 0))
        recorder = Recorder(weir.port)
        self.addCleanup(recorder.close)
        command = [*self.programs.clients, str(weir.port), str(recorder.port)]
        unlike_the_page = []
        with tempfile.TemporaryFile("w+") as warnings, subprocess.Popen(
                command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=warnings, env=environment()) as program:
            watch = threading.Timer(PROGRAM_SECONDS, program.kill)
            watch.start()
            for line in program.stdout:
                print(line, end="", flush=True)
                what, _, client = line.rstrip("\n").partition(" ")
                if what == "restart":
                    self.assertEqual(weir.stop(), 0)
                    weir = Weir(port=weir.port)
                    program.stdin.write("started\n")
                    program.stdin.flush()
                elif what == "sent":
                    sent = sent_before_the_first_take(recorder.commands)
                    recorder.commands.clear()
                    if sent != row_of_the_page(client):
                        unlike_the_page.append((client, sent))
            program.wait()
            watch.cancel()
            warnings.seek(0)
            self.assertEqual((program.returncode, warnings.read()), (0, ""))
        self.assertEqual(unlike_the_page, [], f"the table of {PROTOCOL_PAGE} has other rows")

    def test_the_example_acts_on_each_verdict(self):
        if not self.programs.example:
            self.skipTest("another test runs it with the newest client")
        with Weir() as weir:
            def ask(*words):
                return subprocess.run([*self.programs.example, str(weir.port), *words], text=True,
                                      capture_output=True, timeout=60, env=environment())

            def take(key, limit):
                with weir.connect() as connection:
                    connection.sendall(f'WEIR.TAKE {key} "{limit}"\r\n'.encode())
                    self.assertIn(b"granted", connection.recv(4096))

            granted = ask("alice", "1/1h")
            self.assertEqual((granted.returncode, granted.stdout, granted.stderr), (0, "act\n", ""))
            denied = ask("alice", "1/1h")
            self.assertEqual((denied.returncode, denied.stdout), (1, ""))
            self.assertRegex(denied.stderr, r"denied; again in (35\d\d\.\d+ s|59m\d\d\.\d+s)\n$")
            wrong = ask("alice", "1/1x")
            self.assertNotEqual(wrong.returncode, 0)
            self.assertIn("column 3: expected a period", wrong.stderr)
            take("bob", "leaky-bucket 1/2s queue 1")
            begin = time.monotonic()
            deferred = ask("bob", "leaky-bucket 1/2s queue 1")
            waited = time.monotonic() - begin
            self.assertEqual((deferred.returncode, deferred.stdout, deferred.stderr),
                             (0, "act\n", ""))
            self.assertGreater(waited, 1.9)


def main():
    language = sys.argv.pop()
    folder = pathlib.Path(os.environ["CLIENTS_FOLDER"]).resolve() / language
    try:
        PackageClients.programs = toolchains.LANGUAGES[language](folder)
    except toolchains.NotInstalled as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    unittest.main(verbosity=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
