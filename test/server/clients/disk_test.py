"""The disk is full, or the snapshot cannot be written: the server decides as before."""

import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from weir_process import Weir, read_to_end

KEYS = 30_000  # their snapshot is about 1 MB


def take(server, keys, limit="5/1h"):
    """One unit of each key; how many replies there were, and how many of them were errors."""
    with server.connect() as connection:
        asked = b"".join(b"WEIR.TAKE key-of-a-client-%06d %s\r\n" % (key, limit.encode())
                         for key in keys) + b"QUIT\r\n"
        sender = threading.Thread(target=connection.sendall, args=(asked,))
        sender.start()
        answer = read_to_end(connection)
        sender.join()
    return answer.count(b"$7\r\nverdict"), answer.count(b"-ERR")


class Disk(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "states")

    def server(self, *arguments):
        server = Weir("--snapshot", self.path, "--snapshot-every", "1s", *arguments)
        self.addCleanup(server.stop)
        return server

    def writes(self, server, result):
        return server.metric(f'weir_snapshot_writes_total{{result="{result}"}}')

    def snapshot(self):
        with open(self.path, "rb") as file:
            return file.read()

    def expect_to_go_on_deciding(self, server, fill, mend):
        """Fails some times from fill() to mend(), and is whole again."""
        self.assertEqual(take(server, range(100)), (100, 0))
        done = self.writes(server, "ok")
        server.eventually(lambda: self.writes(server, "ok") > done)
        fill()
        # What a snapshot begun before may still have written is no part of it.
        failed = self.writes(server, "failed")
        server.eventually(lambda: self.writes(server, "failed") > failed)
        before = self.snapshot()
        decided = answered = 0
        until = time.monotonic() + 20
        while self.writes(server, "failed") < failed + 2:
            replies, errors = take(server, range(500))
            self.assertEqual((replies, errors), (500, 0))
            decided += 500
            answered += replies
            self.assertLess(time.monotonic(), until)
        self.assertEqual(self.snapshot(), before, "the old snapshot is whole")
        mend()
        done = self.writes(server, "ok")
        server.eventually(lambda: self.writes(server, "ok") > done)
        self.assertNotEqual(self.snapshot(), before, "a new one")
        self.assertEqual(server.stop(), 0)
        lines = re.findall(r"error snapshot not written reason=.*", server.errors)
        self.assertEqual(len(lines), 1, server.errors)
        self.assertIn("mend=", lines[0])
        print(f"\n{decided} decisions while no snapshot could be written, "
              f"{decided - answered} lost, 1 line logged: {lines[0]}")

    def test_what_lies_in_the_way(self):
        self.expect_to_go_on_deciding(self.server(), lambda: os.mkdir(self.path + ".new"),
                                      lambda: os.rmdir(self.path + ".new"))

    def test_the_largest_size_of_a_file(self):
        server = self.server()
        self.assertEqual(take(server, range(KEYS)), (KEYS, 0))

        def limit(size):
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE,
                             (size, resource.RLIM_INFINITY))
        self.expect_to_go_on_deciding(server, lambda: limit(4096),
                                      lambda: limit(resource.RLIM_INFINITY))
        self.assertIn("File too large", server.errors)

    def test_a_full_disk(self):
        if not on_a_small_disk("true"):
            self.skipTest("no mount namespace may be made here (unshare -m needs root)")
        # In a namespace of its own nobody else sees the small disk, and it goes with the test.
        self.assertTrue(on_a_small_disk(f"{sys.executable} {__file__} FullDisk"))

    def test_a_snapshot_that_is_not_whole_is_put_aside(self):
        with Weir("--snapshot", self.path) as server:
            take(server, range(50))
        whole = self.snapshot()
        for name, data in (("torn", whole[:-7]), ("flipped", whole[:60] + b"!" + whole[61:]),
                           ("foreign", b"REDIS0011\xfa"), ("empty", b""),
                           ("of the next release", b"weir snapshot 2\n" + whole[16:])):
            with self.subTest(name):
                with open(self.path, "wb") as file:
                    file.write(data)
                with Weir("--snapshot", self.path) as server:
                    self.assertEqual(server.metric("weir_keys"), 0)
                    with open(self.path + ".refused", "rb") as file:
                        self.assertEqual(file.read(), data)
                    self.assertEqual(take(server, range(1)), (1, 0))
                self.assertEqual(server.errors.count("error snapshot refused reason="), 1)
                self.assertIn(self.path + ".refused", server.errors)
                os.remove(self.path + ".refused")


class FullDisk(Disk):
    """Run inside of a namespace, where WEIR_SMALL_DISK is a disk of 1 MB."""

    def test_a_full_disk(self):
        self.path = os.path.join(os.environ["WEIR_SMALL_DISK"], "states")
        server = self.server()
        ballast = os.path.join(os.environ["WEIR_SMALL_DISK"], "ballast")

        def fill():
            self.assertEqual(take(server, range(2000, 12_000)), (10_000, 0))
            with open(ballast, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
        self.expect_to_go_on_deciding(server, fill, lambda: os.remove(ballast))
        self.assertIn("No space left on device", server.errors)


def on_a_small_disk(command):
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            ["unshare", "--mount", "sh", "-ec",
             f"mount -t tmpfs -o size=1m none '{folder}'; WEIR_SMALL_DISK='{folder}' {command}"],
            check=False).returncode == 0


if __name__ == "__main__":
    if sys.argv[1:] == ["FullDisk"]:
        unittest.main(argv=[sys.argv[0], "FullDisk.test_a_full_disk"])
    unittest.main(argv=[sys.argv[0], "Disk"], verbosity=2)
