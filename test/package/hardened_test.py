"""What the linker wrote into the release build's program: position independent, tables that are
read-only once it runs, no executable stack, guards, fortified calls, and no folder of its builder.
"""

import os
import re
import subprocess
import unittest

BINARY = os.environ["WEIR_BINARY"]
SOURCE = os.environ["WEIR_SOURCE"]


def readelf(option):
    return subprocess.run(["readelf", "--wide", option, BINARY], check=True, capture_output=True,
                          text=True).stdout


class Hardened(unittest.TestCase):
    def test_it_is_position_independent(self):
        self.assertRegex(readelf("--file-header"), r"Type: +DYN")
        self.assertRegex(readelf("--dynamic"), r"FLAGS_1.*\bPIE\b")

    def test_its_tables_are_read_only_once_it_runs(self):
        self.assertIn("GNU_RELRO", readelf("--program-headers"))
        self.assertRegex(readelf("--dynamic"), r"BIND_NOW|FLAGS.*\bNOW\b")

    def test_nothing_is_both_writable_and_executable(self):
        headers = readelf("--program-headers")
        self.assertRegex(headers, r"GNU_STACK .* RW +0x")
        self.assertNotIn("RWE", headers)

    def test_stacks_are_guarded_and_library_calls_fortified(self):
        symbols = readelf("--dyn-syms")
        self.assertIn("__stack_chk_fail", symbols)
        self.assertRegex(symbols, r"__\w+_chk@GLIBC")

    def test_its_own_functions_mark_where_a_jump_may_land(self):
        # No note says so: it would stand for the whole program, and the C library's start files
        # in Debian 12 lack the marks.
        with open(BINARY, "rb") as file:
            self.assertGreater(file.read().count(b"\xf3\x0f\x1e\xfa"), 500)  # endbr64

    def test_its_compiler_was_told_all_of_it(self):
        # No trace in a program tells a stack probe from any other; the command line does.
        with open(os.path.join(os.path.dirname(BINARY), "build.ninja")) as file:
            rule = re.search(r"build \S*/weir_server\.dir/server\.cpp\.o:.*?\n  FLAGS = ([^\n]*)",
                             file.read(), re.DOTALL)
        flags = rule[1].split()
        for flag in ("-fstack-clash-protection", "-fstack-protector-strong", "-fcf-protection",
                     "-D_FORTIFY_SOURCE=3"):
            self.assertIn(flag, flags)

    def test_it_names_no_folder_of_its_builder(self):
        with open(BINARY, "rb") as file:
            self.assertNotIn(SOURCE.encode(), file.read())


if __name__ == "__main__":
    unittest.main(verbosity=2)
