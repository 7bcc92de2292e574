"""The reference: built by Doxygen without a warning, with a page for all that is public."""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIXED_LINE = re.compile(
    r"^/// (Bound|Memory|Refusal|Source|Threads|Cost|Errors?) {2,}(\S+ \S+ \S+)", re.MULTILINE)
# What stands in a namespace inside weir is nobody's to use.
INNER_NAMESPACE = re.compile(r"^namespace (?!weir )(\w+) \{$.*?^\}  // namespace \1$",
                             re.MULTILINE | re.DOTALL)
PUBLIC_TYPE = re.compile(r"^(?:struct|class) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?= [:{])",
                         re.MULTILINE)


PART = re.compile(r"^namespace weir((?:::\w+)?) \{$", re.MULTILINE)


def page_name(kind: str, name: str) -> str:
    """Of a type by its name inside weir: TokenBucket, redis::Limiter."""
    return f"{kind}weir_1_1{name.replace('::', '_1_1')}.html"


def public_types(text: str) -> list[str]:
    part = PART.search(text)
    inside = part[1].removeprefix("::") + "::" if part and part[1] else ""
    return [inside + name for name in PUBLIC_TYPE.findall(INNER_NAMESPACE.sub("", text))]


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        configuration = (ROOT / "docs/reference/Doxyfile").read_text()
        cls.built = subprocess.run(
            ["doxygen", "-"], input=f"{configuration}\nOUTPUT_DIRECTORY = {folder.name}\n",
            cwd=ROOT, env={**os.environ, "WEIR_VERSION": "0"}, capture_output=True, text=True)
        pages = pathlib.Path(folder.name, "html").glob("*.html")
        cls.pages = {page.name: page.read_text() for page in pages}
        headers = sorted((ROOT / "include").rglob("*.hpp"))
        cls.headers = {path.relative_to(ROOT).as_posix(): path.read_text() for path in headers}

    def test_it_is_built_without_a_warning(self):
        self.assertEqual((self.built.returncode, self.built.stderr), (0, ""))

    def test_every_public_type_has_a_page(self):
        types = [(path, name) for path, text in self.headers.items()
                 for name in public_types(text)]
        self.assertGreater(len(types), 30)
        missing = [f"{path}: {name}" for path, name in types
                   if not {page_name(kind, name) for kind in ("struct", "class")} & set(self.pages)]
        self.assertEqual(missing, [])

    def test_fixed_lines_become_titles(self):
        told = "".join(self.pages.values())
        found = 0
        for path, text in self.headers.items():
            for title, words in FIXED_LINE.findall(text):
                first = html.escape(words.split()[0], quote=False)
                first = re.sub(r"`([^`]*)`", r"<code>\1</code>", first)
                self.assertRegex(told, rf"<dt>{title}</dt><dd>[^\n]{{0,200}}{re.escape(first)}",
                                 f"{path}: {title} {words}")
                found += 1
        self.assertGreater(found, 30)

    def test_what_is_private_is_left_out(self):
        members = [name for name in self.pages if name.startswith(("class", "struct"))]
        self.assertTrue(members)
        for name in members:
            self.assertNotRegex(self.pages[name], r"\bPrivate (Member|Attributes|Types|Functions)",
                                name)
        self.assertNotIn("wait_in_line", self.pages[page_name("class", "BasicLimiter")])


if __name__ == "__main__":
    if not shutil.which("doxygen"):
        print("skipped: doxygen is not installed; ./do docs installs it")
        sys.exit(77)
    unittest.main()
