"""weir in one header: made anew by packaging/single_header.py, compiled, linked and run."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror",
         "-pthread"]
MAKE = ROOT / "packaging" / "single_header.py"
OF_THE_PROCESSOR = {"<cpuid.h>"}
OF_LIBRARIES = {"asio.hpp", "asio_concurrency.hpp", "asio_operation.hpp", "beast.hpp", "grpcpp.hpp",
                "httplib.hpp"}


class MadeAnew(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.header = cls.folder / "weir.hpp"
        subprocess.run([sys.executable, MAKE, cls.header], check=True)
        cls.text = cls.header.read_text()


class Made(MadeAnew):
    def test_the_same_tree_gives_the_same_bytes(self):
        again = self.folder / "elsewhere" / "weir.hpp"
        subprocess.run([sys.executable, MAKE, again], check=True, cwd="/",
                       env={**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"})
        self.assertEqual(again.read_bytes(), self.header.read_bytes())

    def test_it_includes_the_standard_library_alone_and_each_header_once(self):
        included = re.findall(r"^\s*#\s*include\s*(\S+)", self.text, re.MULTILINE)
        self.assertEqual(sorted(included), sorted(set(included)))
        self.assertEqual({name for name in included if not re.fullmatch(r"<[a-z_0-9]+>", name)},
                         OF_THE_PROCESSOR)

    def test_all_of_the_library_but_adapters_and_redis_stands_in_it_once(self):
        for folder in ("include/weir", "src/limit", "src/local", "src/http"):
            for path in sorted((ROOT / folder).rglob("*.?pp")):
                name = path.relative_to(ROOT).as_posix().removeprefix("include/")
                count = len(re.findall(rf"^// ---- {re.escape(name)} -+$", self.text, re.MULTILINE))
                left_out = path.name in OF_LIBRARIES or path.parent.name == "redis"
                self.assertEqual(count, 0 if left_out else 1, name)


class Compiled(MadeAnew):
    def program_runs(self, compiler):
        if not shutil.which(compiler):
            self.skipTest(f"{compiler} is not installed")
        made = []
        for unit in ("main", "limits"):
            made.append(str(self.folder / f"{compiler}-{unit}.o"))
            self.run_or_fail([compiler, *FLAGS, f"-I{self.folder}", "-c", str(HERE / f"{unit}.cpp"),
                              "-o", made[-1]])
        program = str(self.folder / compiler)
        self.run_or_fail([compiler, "-pthread", *made, "-o", program])
        self.run_or_fail([program])

    def run_or_fail(self, command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0,
                         f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")

    def test_two_units_compile_with_gcc_and_run(self):
        self.program_runs("g++")

    def test_two_units_compile_with_clang_and_run(self):
        self.program_runs("clang++-14")


if __name__ == "__main__":
    unittest.main()
