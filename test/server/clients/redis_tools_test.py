"""redis-cli and redis-benchmark, as people type them."""

import re
import subprocess
import unittest

from recorder import Recorder, row_of_the_page, sent_before_the_first_take
from weir_process import Weir


class RedisTools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.weir = Weir()

    @classmethod
    def tearDownClass(cls):
        assert cls.weir.stop() == 0

    def cli(self, *arguments, text=None):
        done = subprocess.run(["redis-cli", "-p", str(self.weir.port), *arguments], input=text,
                              capture_output=True, text=True, timeout=30, check=True)
        return done.stdout

    def test_cli_answers_the_readmes_line(self):
        self.assertEqual(self.cli("CL.THROTTLE", "alice", "15", "30", "60").split(),
                         ["0", "16", "15", "-1", "2"])

    def test_cli_speaks_resp3(self):
        self.assertIn("1# \"verdict\" => \"granted\"",
                      self.cli("-3", "--no-raw", "WEIR.TAKE", "bob", "5/1m"))

    def test_cli_reads_commands_from_a_pipe(self):
        take = "WEIR.TAKE carol 1/1m\n"
        out = self.cli(text="PING\n" + take + take + "WEIR.RESET carol 1/1m\n")
        self.assertEqual(out.split()[0], "PONG")
        self.assertIn("granted", out)
        self.assertIn("denied", out)

    def test_cli_sends_what_the_page_says(self):
        recorder = Recorder(self.weir.port)
        self.addCleanup(recorder.close)
        for options in ((), ("-3",)):
            subprocess.run(["redis-cli", *options, "-p", str(recorder.port), "WEIR.TAKE", "a",
                            "1/1m"], capture_output=True, timeout=30, check=True)
            self.assertEqual(sent_before_the_first_take(recorder.commands),
                             row_of_the_page(f"redis-cli 7, RESP{3 if options else 2}"))
            recorder.commands.clear()

    def test_cli_asks_for_what_a_redis_has(self):
        for words, answer in ((["monitor"], "unknown command 'monitor'; this server limits rates"),
                              (["-n", "1", "PING"], "PONG"),
                              (["help", "WEIR.TAKE"], "key limit [COST n] [PATIENCE ms]"),
                              (["help", "@limits"], "key limit n [ID id]")):
            with self.subTest(words):
                self.assertIn(answer, self.cli(*words))

    def test_cli_measures_latency(self):
        # the least, the most and the mean in milliseconds, and how many
        self.assertRegex(self.cli("--latency", "-i", "1"), r"^\d+ \d+ [\d.]+ \d+$")

    def test_cli_watches_the_server(self):
        with subprocess.Popen(["stdbuf", "-oL", "redis-cli", "-p", str(self.weir.port), "--stat",
                               "-i", "0.1"], stdout=subprocess.PIPE, text=True) as watching:
            lines = [watching.stdout.readline() for _ in range(4)]
            watching.terminate()
        # keys, memory, clients, blocked, requests, connections
        self.assertRegex(lines[-1], r"^\d+ +\d\S+ +\d+ +0 +\d+ \(\+\d+\) +\d+ +$")

    def test_cli_sends_a_file(self):
        self.assertIn("errors: 0, replies: 2", self.cli("--pipe", text="PING\r\nDBSIZE\r\n"))

    def benchmark(self, *arguments):
        done = subprocess.run(
            ["redis-benchmark", "-p", str(self.weir.port), "-n", "20000", "-c", "50", "--csv",
             *arguments], capture_output=True, text=True, timeout=60, check=True)
        self.assertNotIn("Error", done.stdout + done.stderr)
        self.assertNotIn("WARNING", done.stdout + done.stderr)
        return float(re.search(r'^"[^"]*","([\d.]+)"', done.stdout.splitlines()[-1])[1])

    def test_benchmark_drives_both_families(self):
        self.assertGreater(self.benchmark(
            "-r", "1000", "CL.THROTTLE", "key:__rand_int__", "15", "30", "60"), 0)
        self.assertGreater(self.benchmark(
            "-P", "16", "-r", "1000", "WEIR.TAKE", "key:__rand_int__", "100/1s"), 0)

    def test_benchmark_drives_resp3(self):
        self.assertGreater(self.benchmark("-3", "-P", "16", "WEIR.TAKE", "key", "100/1s"), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
