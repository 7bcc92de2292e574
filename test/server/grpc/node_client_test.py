"""Does grpc-js understand the server: node_client_test.py PROTO_FOLDER

Installs the client at its pinned version into CLIENTS_FOLDER.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "clients"))

import toolchains  # noqa: E402
from weir_process import Weir  # noqa: E402

RULES = """
domain: edge
descriptors:
  - key: user
    rate_limit: {name: each, unit: year, requests_per_unit: 2}
"""


class NodeClient(unittest.TestCase):
    folder = proto = None

    def test_it_asks_for_limits_and_health_and_is_refused_in_words(self):
        with tempfile.TemporaryDirectory() as folder:
            rules = pathlib.Path(folder) / "rules.yaml"
            rules.write_text(RULES)
            with Weir("--rules", str(rules)) as weir:
                done = subprocess.run(
                    ["node", self.folder / "limits.mjs", f"127.0.0.1:{weir.ports['grpc']}",
                     self.proto], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "passed grpc-js\n", ""))


def main():
    NodeClient.proto = sys.argv.pop(1)
    NodeClient.folder = pathlib.Path(os.environ["CLIENTS_FOLDER"]).resolve() / "node"
    try:
        toolchains.need("node", "npm")
        toolchains.install(NodeClient.folder,
                           [HERE / "node" / "package.json", HERE / "node" / "package-lock.json"],
                           ["npm", "ci", "--no-audit", "--no-fund"])
    except toolchains.NotInstalled as reason:
        print(f"skipped: {reason}")
        return 77
    shutil.copy(HERE / "node" / "limits.mjs", NodeClient.folder)
    unittest.main(verbosity=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
