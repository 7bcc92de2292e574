"""Does a newcomer who pastes the README's words get a 429 through nginx: newcomer_test.py README.md

The program is the one that is built, in place of `./do run`, and nginx is there. The ports are
those of the README: skipped where one of them is taken.
"""

import os
import pathlib
import re
import socket
import subprocess
import sys
import time

PORTS = (7379, 7380, 7381, 7390, 8080, 9000)


def taken(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


readme = pathlib.Path(sys.argv[1])
if not os.path.exists("/usr/sbin/nginx"):
    skip("nginx is not installed")
for port in PORTS:
    if taken(port):
        skip(f"port {port} is taken")
block = re.search(r"```sh\n(sudo apt-get install --yes nginx-light\n.*?)```",
                  readme.read_text(), re.S)[1]
script = block.replace("sudo apt-get install --yes nginx-light\n", "")
assert script.count("./do run ") == 1, script
script = script.replace("./do run ", f"'{os.environ['WEIR_BINARY']}' serve ")
began = time.monotonic()
said = subprocess.run(["bash", "-c", script + "wait\n"], cwd=readme.parent, capture_output=True,
                      text=True, timeout=60)
print(said.stdout, said.stderr)
statuses = re.findall(r"^HTTP/1\.1 (\d+)", said.stdout, re.M)
assert statuses == ["200", "200", "200", "429"], statuses
assert re.search(r"^Retry-After: \d+", said.stdout, re.M | re.I)
assert len(re.findall(r'^RateLimit: "rate";r=\d', said.stdout, re.M | re.I)) == 4
print(f"from the first word to the 429: {time.monotonic() - began:.1f} s")
