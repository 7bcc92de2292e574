"""docs/rules.md and docs/rules.schema.json say what the reader of rule files does.

    rules_page_test.py build/release/weir
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import yaml

WEIR = pathlib.Path(sys.argv.pop(1)).resolve()
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "rules.md").read_text()
SCHEMA = json.loads((DOCS / "rules.schema.json").read_text())
EXAMPLE = re.search(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S).group(1)

GOOD = (
    EXAMPLE,
    "rules: []",
    "{domain: a.b, fields: draft06, dynamic_metadata: true,"
    " clients: {ip_from: peer, trusted_proxies: 10.0.0.0/8,"
    " ipv4_prefix: 24, ipv6_prefix: 56, user_header: X-User}, rules: []}",
    "rules: [{name: a, limit: 10k/s & 1M/1d, cost: 0, hold: 50ms, missing: refuse,"
    " without_store: closed, shadow: true, candidates: [5/s, blocked], replaces: b},"
    " {name: b, limit: unlimited, match: {method: [GET, HEAD], header: {x-a: 1},"
    " descriptor: {plan: , n: [1, 2]}, whole_descriptor: true, ip: ['::1'], host: a.example}}]",
)

# What editors should mark, and the reader refuses.
BAD = (
    "rulez: []",
    "{}",
    "rules: {}",
    "rules: [{name: a}]",
    "rules: [{limit: 1/s}]",
    "rules: [{name: a b, limit: 1/s}]",
    "rules: [{name: a, limit: 5}]",
    "rules: [{name: a, limit: 1/s, shadow: 1}]",
    "rules: [{name: a, limit: 1/s, cost: -1}]",
    "rules: [{name: a, limit: 1/s, lease: 0}]",
    "rules: [{name: a, limit: 1/s, missing: never}]",
    "rules: [{name: a, limit: 1/s, match: {path: /a}}]",
    "rules: [{name: a, limit: 1/s, match: {descriptor: {a: }, whole_descriptor: 1}}]",
    "rules: [{name: a, limit: 1/s, match: {route: []}}]",
    "rules: [{name: a, limit: 1/s, candidates: [1/s, 2/s, 3/s, 4/s, 5/s]}]",
    "{fields: rfc, rules: []}",
    "{clients: {ipv6_prefix: 129}, rules: []}",
    "{domain: '', rules: []}",
)


def weir(folder, *arguments):
    return subprocess.run([WEIR, *arguments], cwd=folder, capture_output=True, text=True,
                          timeout=30)


class RulesPage(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def accepted(self, text):
        (self.folder / "rules.yaml").write_text(text)
        return weir(self.folder, "check", "rules.yaml").returncode == 0

    def test_commands_print_what_the_page_shows(self):
        (self.folder / "rules.yaml").write_text(EXAMPLE)
        shown = re.search(r"^```console\n(.*?)^```$", PAGE, re.M | re.S).group(1)
        commands = re.findall(r"^\$ weir (.*)\n((?:(?!\$ ).*\n)*)", shown, re.M)
        self.assertEqual(len(commands), 2)
        for command, output in commands:
            result = weir(self.folder, *shlex.split(command))
            self.assertEqual(result.stdout, output, result.stderr)

    def test_schema_and_reader_agree_on_what_is_in_order(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        validator = jsonschema.Draft202012Validator(SCHEMA)
        for text in GOOD:
            self.assertEqual(list(validator.iter_errors(yaml.safe_load(text))), [], text)
            self.assertTrue(self.accepted(text), text)
        for text in BAD:
            self.assertFalse(validator.is_valid(yaml.safe_load(text)), text)
            self.assertFalse(self.accepted(text), text)

    def test_page_and_schema_name_the_same_fields(self):
        rows = set(re.findall(r"`([a-z0-9_]+)`(?=[^|\n]*\|)",
                              "\n".join(re.findall(r"^\| `[^|]*\|", PAGE, re.M))))
        fields = set()
        for part in (SCHEMA, SCHEMA["properties"]["clients"], SCHEMA["$defs"]["rule"],
                     SCHEMA["$defs"]["rule"]["properties"]["match"]):
            fields |= set(part["properties"])
        self.assertEqual(rows, fields)


if __name__ == "__main__":
    unittest.main(verbosity=2)
