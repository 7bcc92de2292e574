"""What the Dockerfile, the vcpkg port and the unit say, held against the tree and the build.

None of the three can be run everywhere; that what they name exists can be seen anywhere.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from weir_process import Weir

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
BUILD = pathlib.Path(os.environ["WEIR_BUILD"])
CMAKE = os.environ["WEIR_CMAKE"]
PORT = SOURCE / "packaging/vcpkg/weir"
# What find_package() calls a library, and what vcpkg does.
PORTS = {"CLI11": "cli11", "OpenSSL": "openssl", "Protobuf": "protobuf", "yaml-cpp": "yaml-cpp"}


def instructions():
    """Of the Dockerfile, each with its lines joined."""
    text = (SOURCE / "Dockerfile").read_text()
    lines = re.sub(r"\\\n\s*", " ", re.sub(r"(?m)^#.*\n", "", text)).splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line]


def arguments(name):
    return [rest for word, rest in instructions() if word == name]


class Dockerfile(unittest.TestCase):
    def test_it_has_only_instructions_that_exist(self):
        known = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT"}
        self.assertLessEqual({word for word, _ in instructions()}, known)

    def test_every_path_that_it_copies_exists(self):
        for rest in arguments("COPY"):
            *sources, _ = [word for word in rest.split() if not word.startswith("--")]
            if "--from=build" in rest:
                # Made by ./do package; the folder and the name are those of CPack.
                self.assertEqual(sources, ["/source/build/package/weir_*.deb"])
            else:
                for source in sources:
                    self.assertTrue((SOURCE / source).exists(), source)

    def test_what_is_left_out_is_nothing_that_the_build_reads(self):
        left_out = (SOURCE / ".dockerignore").read_text().split()
        self.assertIn("build", left_out)
        self.assertIn(".git", left_out)
        for folder in ("do", "cmake", "include", "src", "packaging", "docs", "README.md"):
            self.assertNotIn(folder, left_out)

    def test_every_package_that_it_installs_is_one_of_debian(self):
        named = set()
        for rest in arguments("RUN"):
            for words in re.findall(r"apt-get install ([^&;|]*)", rest):
                named |= {word for word in words.split() if word[0] not in "-/"}
        text = (SOURCE / "do").read_text()
        for words in re.findall(r"^(?:build|package)_packages=\(([^)]*)\)", text, re.MULTILINE):
            named |= set(words.split())
        self.assertIn("lintian", named)
        shown = subprocess.run(["apt-cache", "show", "--no-all-versions", *named],
                               capture_output=True, text=True).stdout
        self.assertEqual(named - set(re.findall(r"^Package: (.*)", shown, re.MULTILINE)), set())

    def test_it_does_not_run_as_root(self):
        user, = arguments("USER")
        self.assertRegex(user, r"^[1-9]\d*:[1-9]\d*$")

    def test_its_health_check_tells_a_server_from_none(self):
        health, = arguments("HEALTHCHECK")
        with Weir() as server:
            command = health[health.index("CMD") + 3:].replace("7390", str(server.ports["metrics"]))
            command = json.loads(command)
            self.assertEqual(subprocess.run(command, timeout=10).returncode, 0)
        self.assertNotEqual(
            subprocess.run(command, timeout=10, stderr=subprocess.DEVNULL).returncode, 0)

    def test_its_line_is_one_that_weir_takes(self):
        line, = arguments("ENTRYPOINT")
        words = json.loads(line)
        self.assertEqual(words[:2], ["weir", "serve"])
        said = subprocess.run([os.environ["WEIR_BINARY"], "serve", "--help"], capture_output=True,
                              text=True).stdout
        for option in filter(lambda word: word.startswith("--"), words):
            self.assertIn(f"{option} ", said)


class VcpkgPort(unittest.TestCase):
    def setUp(self):
        self.manifest = json.loads((PORT / "vcpkg.json").read_text())
        self.portfile = (PORT / "portfile.cmake").read_text()
        self.project = (SOURCE / "CMakeLists.txt").read_text()

    def test_its_version_is_the_projects(self):
        version = re.search(r"project\(weir VERSION ([0-9.]+)", self.project)[1]
        self.assertEqual((self.manifest["name"], self.manifest["version"]), ("weir", version))

    def test_the_server_asks_for_what_its_build_looks_for(self):
        part = re.search(r"if\(WEIR_BUILD_SERVER\)\n(.*?)endif", self.project, re.DOTALL)[1]
        asked = set(self.manifest["features"]["server"]["dependencies"])
        for name in set(re.findall(r"find_package\(([\w-]+)", part)) - {"Threads", "PkgConfig"}:
            if name == "Boost":
                headers = subprocess.run(["grep", "-rhoE", "include <boost/[a-z]+", SOURCE / "src"],
                                         capture_output=True, text=True, check=True).stdout
                asks = {"boost-" + line.rpartition("/")[2] for line in headers.splitlines()}
            else:
                asks = {PORTS.get(name, name)}
            self.assertLessEqual(asks, asked)

    def test_it_builds_the_tree_that_it_lies_in_with_switches_that_exist(self):
        self.assertTrue((PORT / "../../../CMakeLists.txt").resolve().samefile(
            SOURCE / "CMakeLists.txt"))
        for switch in set(re.findall(r"WEIR_\w+", self.portfile)):
            self.assertIn(f"option({switch} ", self.project)

    def test_what_it_moves_is_where_cmake_installs_it(self):
        with tempfile.TemporaryDirectory() as prefix:
            subprocess.run([CMAKE, "--install", BUILD, "--prefix", prefix], check=True,
                           stdout=subprocess.DEVNULL)
            folder = re.search(r"CONFIG_PATH ([\w/]+)", self.portfile)[1]
            self.assertTrue((pathlib.Path(prefix) / folder / "weirConfig.cmake").exists())
            self.assertTrue((pathlib.Path(prefix) / "lib/pkgconfig/weir.pc").exists())
            tool = re.search(r"TOOL_NAMES (\w+)", self.portfile)[1]
            self.assertTrue((pathlib.Path(prefix) / "bin" / tool).exists())


@unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd here")
class Unit(unittest.TestCase):
    UNIT = SOURCE / "packaging/debian/weir.service"

    def test_systemd_takes_it(self):
        with tempfile.TemporaryDirectory() as folder:
            # The program is not installed here; another stands where it would.
            unit = pathlib.Path(folder) / "weir.service"
            unit.write_text(self.UNIT.read_text().replace("/usr/bin/weir", "/bin/true"))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit],
                                  capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_it_leaves_the_server_little_to_harm(self):
        # Out of 10; what is left is that it has a network, and is not in a root of its own.
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=12",
                               self.UNIT], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout[-300:] + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
