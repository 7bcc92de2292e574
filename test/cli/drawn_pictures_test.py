"""Drawn pictures of the docs: what their commands draw, and sound SVG.

    drawn_pictures_test.py build/release/weir docs/algorithms/pictures/simulated [FOLDER...]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

FOLDERS = [pathlib.Path(folder).resolve() for folder in sys.argv[2:]]
WEIR = os.path.abspath(sys.argv[1])
del sys.argv[1:]


def simulate(*arguments: str, folder: str = "/") -> subprocess.CompletedProcess:
    return subprocess.run([WEIR, "simulate", *arguments], cwd=folder, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60)


class ThePictures(unittest.TestCase):
    def test_are_what_their_commands_draw(self):
        for folder in FOLDERS:
            with tempfile.TemporaryDirectory() as fresh:
                subprocess.run([folder / "draw", fresh], env={**os.environ, "WEIR": WEIR},
                               check=True, timeout=60)
                drawn = {path.name: path.read_text() for path in pathlib.Path(fresh).iterdir()}
            kept = {path.name: path.read_text() for path in folder.glob("*.svg")}
            self.assertEqual(sorted(drawn), sorted(kept))
            for name, text in kept.items():
                self.assertEqual(text, drawn[name], f"{name} is out of date; run {folder}/draw")

    def test_stand_alone(self):
        for path in (path for folder in FOLDERS for path in folder.glob("*.svg")):
            text = path.read_text()
            xml.dom.minidom.parseString(text)
            self.assertTrue(text.isascii())
            self.assertIn("prefers-color-scheme: dark", text)
            for banned in ("<script", "href", "@import", "url("):
                self.assertNotIn(banned, text)

    def test_are_shown_on_a_page(self):
        for folder in FOLDERS:
            pages = "".join(page.read_text() for page in folder.parent.parent.glob("*.md"))
            pages += (folder.parents[3] / "README.md").read_text()
            for path in folder.glob("*.svg"):
                self.assertIn(f"pictures/simulated/{path.name})", pages)


class AnyPicture(unittest.TestCase):
    SCHEDULES = (
        ("1000/1s", "--every", "1us", "--count", "1M"),
        ("leaky-bucket 1000/1s queue 1M", "--every", "1us", "--count", "1M"),
        ("leaky-bucket 1000/1s queue 1M", "--calls", "900@0s"),
        ("fixed-window 7/1s", "--every", "37ms", "--count", "880", "--patience", "400ms"),
        ("1/1s", "--calls", "1@0s 1@1us 1@12000d"),
        ("1/12000d", "--calls", "1@0s 1@12000d"),
        ("1/1us", "--every", "1us", "--count", "3"),
        ("5/7s", "--calls", "3@13us 1@14us 1@35us", "--cost", "0"),
        ("1000000000/1s", "--calls", "500@0s", "--cost", "1000000000", "--patience", "1h"),
        (" & ".join(f"1/{day}d" for day in range(1, 9)), "--every", "13h", "--count", "300"),
    )

    def test_is_sound_and_small_however_many_calls_there_are(self):
        for schedule in self.SCHEDULES:
            result = simulate(*schedule, "--svg", "-")
            self.assertEqual((result.returncode, result.stderr), (0, b""), schedule)
            text = result.stdout.decode()
            xml.dom.minidom.parseString(text)
            self.assertLess(len(text), 100_000, schedule)
            for data in re.findall(r' (?:d|[xyr]|c[xy])="([^"]*)"', text):
                for number in re.findall(r"-?[0-9.]+", data):
                    self.assertRegex(number, r"^-?[0-9]{1,4}(\.[0-9])?$")
                    self.assertLess(abs(float(number)), 2000)

    SERVICES = (
        (),
        ("--protect", "fixed 1", "--phases", "1s@0"),
        ("--protect", "none", "--phases", "600s@0.05x1000", "--retries", "10"),
        ("--servers", "1", "--service-time", "10m", "--phases", "3s@100", "--protect", "vegas"),
        ("--servers", "10k", "--service-time", "1s", "--phases", "9s@2x1.5", "--protect", "fixed"),
        ("--service-time", "1us", "--servers", "1", "--phases", "1s@1", "--protect", "breaker"),
    )

    def test_of_a_service_is_sound_and_small(self):
        for service in self.SERVICES:
            result = subprocess.run([WEIR, "simulate-service", *service, "--svg", "-"],
                                    capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
            self.assertEqual((result.returncode, result.stderr), (0, b""), service)
            text = result.stdout.decode()
            xml.dom.minidom.parseString(text)
            self.assertLess(len(text), 100_000, service)
            for data in re.findall(r' (?:d|[xyr])="([^"]*)"', text):
                for number in re.findall(r"-?[0-9.]+", data):
                    self.assertRegex(number, r"^-?[0-9]{1,4}(\.[0-9])?$")

    def test_goes_to_a_file_in_place_of_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            result = simulate("2/1s", "--every", "1s", "--count", "3", "--svg", "it.svg",
                              folder=folder)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
            xml.dom.minidom.parse(str(pathlib.Path(folder) / "it.svg"))

    def test_that_cannot_be_written_is_told(self):
        result = simulate("2/1s", "--every", "1s", "--count", "3", "--svg", "/no/such/folder/x.svg")
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertEqual(result.stderr, b"weir: cannot write '/no/such/folder/x.svg': "
                                        b"No such file or directory\n")
        full = simulate("2/1s", "--every", "1s", "--count", "3", "--svg", "/dev/full")
        self.assertEqual((full.returncode, full.stdout), (2, b""))


if __name__ == "__main__":
    unittest.main()
