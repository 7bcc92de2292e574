"""The weir program as a process: its terminal, streams and exit status.

    binary_test.py build/release/weir
"""

import fcntl
import json
import os
import pathlib
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

WEIR = sys.argv.pop(1)
SCENARIO = ("simulate", "fixed-window 2/1s", "--every", "250ms", "--count", "8")


def environment(**variables: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm", **variables}


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run([WEIR, *arguments], env=environment(**variables), capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=30)


def run_on_terminal(columns: int, *arguments: str, **variables: str) -> str:
    screen, other_end = pty.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([WEIR, *arguments], env=environment(**variables), stdout=other_end,
                               stdin=subprocess.DEVNULL)
    os.close(other_end)
    written = b""
    try:
        while chunk := os.read(screen, 65536):
            written += chunk
    except OSError:
        pass  # how a terminal says that nobody writes any more
    os.close(screen)
    assert process.wait(30) == 0
    return written.decode().replace("\r\n", "\n")


class TheProgram(unittest.TestCase):
    def test_writes_json_that_others_read(self):
        lines = run(*SCENARIO, "--json").stdout.decode().splitlines()
        calls = [json.loads(line) for line in lines]
        summary = calls.pop()["summary"]
        self.assertEqual([call["at_us"] for call in calls], list(range(0, 2_000_000, 250_000)))
        for call in calls:
            self.assertEqual(set(call), {"at_us", "verdict", "remaining", "retry_after_us",
                                         "ready_after_us"})
        self.assertEqual([call["verdict"] for call in calls],
                         ["granted", "granted", "denied", "denied"] * 2)
        self.assertEqual([call["retry_after_us"] for call in calls],
                         [0, 0, 500_000, 250_000] * 2)
        self.assertEqual(summary, {
            "limit": "fixed-window 2/1s", "cost": 1, "calls": 8, "granted": 4, "deferred": 0,
            "denied": 4, "impossible": 0,
            "windows": [{"window_us": 1_000_000, "most": 2, "bound": 4}]})

    def test_explains_and_tells_its_version_in_json(self):
        explained = json.loads(run("explain", "10/s & sliding-log 100/1d", "--json").stdout)
        self.assertEqual(explained["limit"], "10/1s & sliding-log 100/1d")
        self.assertEqual([term["algorithm"] for term in explained["terms"]],
                         ["token-bucket", "sliding-log"])
        self.assertEqual(explained["sustained"], {"count": 100, "period_us": 86_400_000_000})
        version = json.loads(run("version", "--json").stdout)["version"]
        self.assertEqual(run("version").stdout.decode(), f"weir {version}\n")

    def test_data_goes_to_standard_output_and_messages_to_standard_error(self):
        good = run(*SCENARIO)
        self.assertEqual((good.returncode, good.stderr), (0, b""))
        bad = run("simulate", "100/x", "--every", "1s", "--count", "1")
        self.assertEqual((bad.returncode, bad.stdout), (2, b""))
        self.assertEqual(bad.stderr.decode().splitlines()[1:], ["  100/x", "      ^"])

    def test_has_colour_on_a_terminal_alone(self):
        self.assertIn("\x1b[32m", run_on_terminal(80, *SCENARIO))
        self.assertNotIn(b"\x1b", run(*SCENARIO).stdout)

    def test_has_no_colour_where_no_color_is_set(self):
        self.assertEqual(run_on_terminal(80, *SCENARIO, NO_COLOR="1"),
                         run(*SCENARIO).stdout.decode())

    def test_is_as_wide_as_its_terminal_and_100_columns_at_most(self):
        many = ("simulate", "100/s", "--every", "7ms", "--count", "3000")
        for columns, widest in ((50, 50), (80, 80), (200, 100)):
            lines = run_on_terminal(columns, *many, NO_COLOR="1").splitlines()
            found = max(map(len, lines))
            self.assertLessEqual(found, widest)
            self.assertGreater(found, widest / 2)

    def test_writes_plain_ascii_where_the_locale_is_not_utf8(self):
        self.assertIn("█", run(*SCENARIO).stdout.decode())
        self.assertTrue(run(*SCENARIO, LC_ALL="C").stdout.isascii())

    def test_help_fits_one_screen(self):
        for verb in ("", "serve", "simulate", "explain", "take", "peek", "reset", "doctor", "top",
                     "check", "convert", "lua", "module", "completion", "man", "version"):
            arguments = [verb, "--help"] if verb else ["--help"]
            result = run(*arguments)
            self.assertEqual(result.returncode, 0, verb)
            lines = result.stdout.decode().splitlines()
            self.assertLessEqual(len(lines), 30 if verb == "serve" else 23, f"weir {verb} --help")
            self.assertLessEqual(max(map(len, lines)), 80, f"weir {verb} --help")

    def options_of_page(self, page):
        lines = run("serve", page).stdout.decode().splitlines()
        self.assertLessEqual(len(lines), 30)
        self.assertLessEqual(max(map(len, lines)), 80)
        return [line.split()[0] for line in lines if line.startswith("  --")]

    def test_help_of_the_limits_names_what_serve_takes(self):
        options = self.options_of_page("--help-limits")
        self.assertEqual(len(options), 19)
        for option in options:
            self.assertIn(f"weir: {option}", run("serve", option, "0").stderr.decode())

    def test_help_of_the_states_names_what_serve_takes(self):
        self.assertEqual(self.options_of_page("--help-states"),
                         ["--max-keys", "--max-memory", "--snapshot", "--snapshot-every"])
        for option in ("--max-keys", "--max-memory"):
            self.assertIn(f"weir: {option}", run("serve", option, "0").stderr.decode())

    def test_tells_where_the_module_lies(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name in ("bin", "lib/weir"):
                (root / name).mkdir(parents=True)
            program = shutil.copy(WEIR, root / "bin/weir")
            os.symlink(program, root / "weir")

            def path():
                return subprocess.run([root / "weir", "module", "path"], capture_output=True,
                                      text=True, timeout=30)

            missing = path()
            self.assertEqual((missing.returncode, missing.stdout), (2, ""))
            self.assertIn("neither beside", missing.stderr)
            for place in ("lib/weir", "bin"):  # as installed; as built, which goes first
                (root / place / "weir_module.so").touch()
                found = path()
                self.assertEqual((found.returncode, found.stdout),
                                 (0, f"{root / place}/weir_module.so\n"))
        self.assertEqual(run("module", "load").returncode, 2)

    def test_fails_where_its_output_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([WEIR, *SCENARIO], stdout=full, stderr=subprocess.PIPE,
                                    env=environment(), timeout=30)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, b"weir: cannot write the output\n")

    def test_prints_a_line_a_call_for_a_hundred_thousand_calls(self):
        output = run("simulate", "100/s", "--every", "1ms", "--count", "100k", "--json").stdout
        self.assertEqual(output.count(b"\n"), 100_001)


if __name__ == "__main__":
    unittest.main()
