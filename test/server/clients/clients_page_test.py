"""docs/clients.md shows the programs of docs/clients as they are."""

import pathlib
import re
import unittest

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"


class ClientsPage(unittest.TestCase):
    def test_shows_every_program_and_nothing_else(self):
        page = (DOCS / "clients.md").read_text()
        shown = re.findall(r"^\[(\S+)\]\(clients/\1\).*?\n\n```\w+\n(.*?)^```$", page, re.M | re.S)
        programs = {path.name: path.read_text() for path in (DOCS / "clients").iterdir()}
        self.assertEqual(len(programs), 4)
        self.maxDiff = None
        self.assertEqual(dict(shown), programs)


if __name__ == "__main__":
    unittest.main(verbosity=2)
