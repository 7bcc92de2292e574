"""conan create: the recipe makes a package of this tree, and a stranger's project links it.

Conan comes from Python's package index into a folder of its own, if the PATH has none; where the
index cannot be reached the test is skipped (exit 77).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
SCRATCH = pathlib.Path(os.environ["WEIR_SCRATCH"])
SKIPPED = 77


def conan():
    """The program, of version 2."""
    if (found := shutil.which("conan")) is not None:
        return found
    program = SCRATCH / "venv/bin/conan"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", SCRATCH / "venv"], check=True)
        installed = subprocess.run([SCRATCH / "venv/bin/pip", "install", "--quiet", "conan>=2,<3"])
        if installed.returncode != 0:
            print("skipped: Conan cannot be installed; is the network there?")
            sys.exit(SKIPPED)
    return str(program)


class Recipe(unittest.TestCase):
    def create(self, *options):
        # A cache of its own, and no remote: the library needs the standard library alone.
        environment = dict(os.environ, CONAN_HOME=str(SCRATCH / "home"))
        subprocess.run([CONAN, "profile", "detect", "--force"], check=True, env=environment,
                       stderr=subprocess.DEVNULL)
        done = subprocess.run(
            [CONAN, "create", SOURCE / "packaging/conan", "--no-remote", "--build=missing",
             "--settings=compiler.cppstd=20", "--test-folder=test_package", *options],
            env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def tearDown(self):
        shutil.rmtree(SCRATCH / "home", ignore_errors=True)
        shutil.rmtree(SOURCE / "packaging/conan/test_package/build", ignore_errors=True)
        (SOURCE / "packaging/conan/test_package/CMakeUserPresets.json").unlink(missing_ok=True)

    def test_the_library_decides_in_a_strangers_project(self):
        said = self.create()
        self.assertIn("granted\ngranted\ndenied\n", said)

    def test_the_server_comes_with_an_option(self):
        self.create("--options=weir/*:server=True")
        programs = list((SCRATCH / "home/p").glob("b/weir*/p/bin/weir"))
        self.assertEqual(len(programs), 1)
        said = subprocess.run([programs[0], "version"], capture_output=True, text=True).stdout
        self.assertRegex(said, r"^weir \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    SCRATCH.mkdir(parents=True, exist_ok=True)
    CONAN = conan()
    unittest.main(verbosity=2)
