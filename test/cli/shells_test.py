"""Completions in the real shells, and the manual page: what the program prints of itself.

    shells_test.py build/release/weir

A shell that is not installed is left out, with a word about it; ./do test installs all of them.
"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

WEIR = os.path.abspath(sys.argv.pop(1))
DEADLINE = 20

SERVE = "--resp --metrics --limit --threads --max-keys --max-connections --log-format --log-level"
# What is typed, and what is offered then: exactly, or among others.
EXACTLY = {
    "weir ser": "serve",
    "weir simulate --st": "--start",
    "weir serve --log-f": "--log-format",
    "weir serve --log-format ": "json text",
    "weir serve --log-level w": "warning",
    "weir completion ": "bash fish zsh",
    "weir help expl": "explain",
    "weir serve --resp ": "",
    "weir simulate 1/s --e": "--every",
}
AMONG = {
    "weir ": "serve simulate explain take peek reset doctor top completion man version",
    "weir serve --": SERVE + " --help",
}


def script_of(shell: str) -> str:
    return subprocess.run([WEIR, "completion", shell], check=True, capture_output=True,
                          timeout=30).stdout.decode()


def need(program: str) -> str:
    found = shutil.which(program)
    if not found:
        raise unittest.SkipTest(f"{program} is not installed")
    return found


class Shell:
    """Each offers a line's completions; bash and fish tell them to a script that asks."""

    def expect_offers(self):
        for line, words in EXACTLY.items():
            self.assertEqual(self.offers(line), sorted(words.split()), line)
        for line, words in AMONG.items():
            self.assertEqual(set(words.split()) - set(self.offers(line)), set(), line)


class Bash(unittest.TestCase, Shell):
    def offers(self, line):
        ask = script_of("bash") + r"""
            IFS=' ' read -r -a COMP_WORDS <<<"$1"
            if [[ $1 == *' ' ]]; then COMP_WORDS+=(''); fi
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _weir
            printf '%s\n' "${COMPREPLY[@]}"
        """
        result = subprocess.run([need("bash"), "--norc", "-c", ask, "bash", line], check=True,
                                capture_output=True, timeout=30)
        self.assertEqual(result.stderr, b"")
        return sorted(result.stdout.decode().split())

    def test_completes_verbs_options_and_their_words(self):
        self.expect_offers()

    def test_completes_behind_an_equals_sign(self):
        self.assertEqual(self.offers("weir serve --log-format = j"), ["json"])
        self.assertEqual(self.offers("weir serve --log-format ="), ["json", "text"])

    def test_completes_files(self):
        with tempfile.TemporaryDirectory() as folder:
            open(f"{folder}/picture.svg", "w").close()
            typed = screen([need("bash"), "--norc", "-i"], script_of("bash"), folder,
                           "weir simulate 1/s --svg pict\t", "picture.svg")
        self.assertIn("--svg picture.svg", typed)


class Fish(unittest.TestCase, Shell):
    def offers(self, line):
        with tempfile.TemporaryDirectory() as home:
            with open(f"{home}/weir.fish", "w") as script:
                script.write(script_of("fish"))
            result = subprocess.run(
                [need("fish"), "--no-config", "-c",
                 f"source {home}/weir.fish; complete -C '{line}'"],
                capture_output=True, timeout=30, env={**os.environ, "HOME": home})
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return sorted(row.split("\t")[0] for row in result.stdout.decode().splitlines())

    def test_completes_verbs_options_and_their_words(self):
        self.expect_offers()


class Zsh(unittest.TestCase):
    """zsh offers on its screen alone."""

    def offers(self, line, *words):
        with tempfile.TemporaryDirectory() as folder:
            setup = "autoload -Uz compinit; compinit -u -D\n" + script_of("zsh")
            return screen([need("zsh"), "-f", "-i"], setup, folder, line + "\t\t", *words)

    def test_completes_verbs_options_and_their_words(self):
        self.offers("weir ", "a limiter that any Redis client can use", "simulate", "completion")
        self.offers("weir expl", "explain")
        self.offers("weir serve --log-format ", "json", "text")
        self.offers("weir serve --", "--max-keys", "states kept (1M)", "--log-level")
        self.offers("weir completion ", "bash", "zsh", "fish")


def screen(command, setup, folder, typed, *expected):
    """What an interactive shell shows once all that is expected stands there."""
    with open(f"{folder}/setup", "w") as script:
        script.write(setup + "\nPS1='ready> '\n")
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execve(command[0], command, {"PATH": os.environ["PATH"], "TERM": "xterm",
                                        "HOME": folder, "LC_ALL": "C.UTF-8"})
    try:
        os.write(terminal, b". ./setup\n")
        read_until(terminal, "ready> ")
        os.write(terminal, typed.encode())
        return read_until(terminal, *expected)
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def read_until(terminal, *expected):
    seen, deadline = "", time.monotonic() + DEADLINE
    while not all(word in seen for word in expected):
        left = deadline - time.monotonic()
        ready, _, _ = select.select([terminal], [], [], max(left, 0))
        if not ready:
            raise AssertionError(f"{expected} never came, but: {seen}")
        seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]", "",
                       os.read(terminal, 65536).decode(errors="replace"))
    return seen


class TheManual(unittest.TestCase):
    def page(self):
        return subprocess.run([WEIR, "man"], check=True, capture_output=True, timeout=30).stdout

    def test_is_clean_to_mandoc(self):
        result = subprocess.run([need("mandoc"), "-Tlint"], input=self.page(), capture_output=True,
                                timeout=30)
        self.assertEqual((result.returncode, result.stdout), (0, b""))

    def test_is_clean_to_groff(self):
        result = subprocess.run([need("groff"), "-man", "-ww", "-z", "-Tutf8"], input=self.page(),
                                capture_output=True, timeout=30)
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_has_every_verb_and_option(self):
        page = self.page().decode().replace("\\-", "-")
        for verb in AMONG["weir "].split():
            self.assertIn(f"\n.SS weir {verb}\n", page)
        for option in SERVE.split():
            self.assertRegex(page, rf"\n\.TP\n\\fB{option}\\fR")


if __name__ == "__main__":
    unittest.main()
