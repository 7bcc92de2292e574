"""docs/library-examples.md shows the programs of examples/ as they are."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class LibraryExamplesPage(unittest.TestCase):
    def test_shows_every_program_and_nothing_else(self):
        page = (ROOT / "docs" / "library-examples.md").read_text()
        shown = re.findall(r"^\[(\S+)\]\(\.\./examples/\1\).*?\n\n```c\+\+\n(.*?)^```$", page,
                           re.M | re.S)
        programs = {path.name: path.read_text() for path in (ROOT / "examples").glob("*.cpp")}
        self.assertEqual(len(programs), 12)
        self.assertEqual(len(shown), 12)
        self.maxDiff = None
        self.assertEqual(dict(shown), programs)


if __name__ == "__main__":
    unittest.main(verbosity=2)
