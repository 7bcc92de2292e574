"""The same tree gives the same packages, byte for byte, whoever builds them and where.

One build is that of ./do package here; the other a copy of the tree in another folder, with the
compiler's cache off and another time zone, umask and number of jobs.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
OTHER = {"CCACHE_DISABLE": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "C"}


def packages(tree, **options):
    subprocess.run([tree / "do", "package"], check=True, **options)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (tree / "build/package").glob("*.deb")}


class Reproducible(unittest.TestCase):
    def test_two_builds_in_two_folders_give_the_same_bytes(self):
        here = packages(SOURCE)
        self.assertEqual(len(here), 2)
        with tempfile.TemporaryDirectory(prefix="weir-of-somebody-else-") as folder:
            there = pathlib.Path(folder) / "deep" / "tree"
            shutil.copytree(SOURCE, there, symlinks=True,
                            ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
            self.assertEqual(packages(there, env=os.environ | OTHER, umask=0o077), here)


if __name__ == "__main__":
    unittest.main(verbosity=2)
