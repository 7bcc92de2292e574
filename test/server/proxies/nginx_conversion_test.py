"""Does `weir convert --from nginx` find the limits that nginx would: nginx_conversion_test.py WEIR

nginx itself says which location it takes, in servers by chance; a location has its own limits, or
those of the nearest block around it that has any. The converted rules must count by the same.
"""

import http.client
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

WEIR = pathlib.Path(sys.argv.pop(1)).resolve()
SEED = int(os.environ.get("SEED", "1"))
SERVERS = int(os.environ.get("SERVERS", "40"))
PATHS = ("/", "/a", "/ab", "/a/", "/a/b", "/a/b/c.php", "/b.php", "/b", "/a.PHP", "/c/d", "/ab.py")
PLACES = ("= /a", "= /a/b", "/", "/a", "/a/", "/a/b", "/b", "^~ /a", "^~ /a/b", "^~ /c",
          "~ \\.php$", "~ ^/a", "~* \\.(php|py)$", "~ /b")
INSIDE = {"/a": ("/ab", "/a/b", "= /a/b", "~ c"), "^~ /a": ("/ab", "/a/b", "= /ab"),
          "/": ("/c", "/b", "^~ /a/")}


class Places:
    """Locations by chance, each with a zone that tells it by its rate."""

    def __init__(self, chance):
        self.chance, self.zones, self.text, self.limit_of = chance, 0, "", {}
        self.known = set()  # a path stands once in a server
        self.hosts = {}  # of requests that come to a server

    def limits(self):
        if self.chance.random() < 0.4:
            return 0
        self.zones += 1
        self.text += f"limit_req zone=z{self.zones};\n"
        return self.zones

    def location(self, name, words, around, deep):
        if words.split()[-1] in self.known:
            return
        self.known.add(words.split()[-1])
        self.text += f"location {words} {{ add_header X-Place {name} always; return 204;\n"
        limit = self.limits() or around
        self.limit_of[name] = limit
        inside = () if deep else INSIDE.get(words, ())
        for number, within in enumerate(self.chance.sample(inside, min(len(inside), 2))):
            self.location(f"{name}.{number}", within, limit, True)
        self.text += "}\n"

    def names(self, number):
        """What a server is called, and a host that it is for; one has by name what another has."""
        if number == 0:
            return "_", "any"
        tens, ones = divmod(number, 10)
        if ones == 8:
            return f"*.p{tens} .q{tens}", self.chance.choice((f"b.p{tens}", f"q{tens}"))
        name = f"a.p{tens}" if ones == 9 else f"s{number}"
        return name, name

    def server(self, number, port):
        name, self.hosts[f"s{number}"] = self.names(number)
        mark = " default_server" if name == "_" else ""
        self.text += f"server {{ listen 127.0.0.1:{port}{mark}; server_name {name}; # s{number};\n"
        around = self.limits()
        self.limit_of[f"s{number}"] = around
        places = self.chance.sample(PLACES, self.chance.randint(1, 6))
        self.known.clear()
        for at, words in enumerate(places):
            self.location(f"s{number}.{at}", words, around, False)
        self.text += "}\n"


class NginxConversion(unittest.TestCase):
    def setUp(self):
        if not shutil.which("nginx"):
            self.skipTest("no nginx")
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, True)
        os.chmod(self.folder, 0o755)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def start(self, places):
        zones = "".join(f"limit_req_zone $server_name zone=z{zone}:32k rate={zone}r/s;\n"
                        for zone in range(1, places.zones + 1))
        temporary = "".join(f"{what}_temp_path {self.folder}/{what};\n" for what in
                            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.file = self.folder / "nginx.conf"
        self.file.write_text(
            f"daemon off; pid {self.folder}/pid; error_log stderr warn; events {{}}\n"
            f"http {{ access_log off; merge_slashes off; limit_req_dry_run on;\n{temporary}{zones}"
            f"{places.text}}}\n")
        nginx = subprocess.Popen(["nginx", "-p", self.folder, "-c", self.file],
                                 stderr=subprocess.PIPE, text=True)
        self.addCleanup(nginx.stderr.close)
        self.addCleanup(nginx.wait, 20)
        self.addCleanup(nginx.terminate)
        deadline = time.monotonic() + 20
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                self.assertIsNone(nginx.poll(), "nginx has ended")
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)

    def place(self, server, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path, headers={"Host": self.hosts[server]})
        place = connection.getresponse().getheader("X-Place")
        connection.close()
        return place or server  # in no location

    def limits(self, server, path):
        told = json.loads(subprocess.run(
            [WEIR, "explain", self.rules, "--host", self.hosts[server], "--uri", path, "--json"],
            check=True, stdout=subprocess.PIPE, timeout=30).stdout)
        return [rule["limit"] for rule in told["rules"] if rule["met"] and not rule["replaced_by"]
                and rule["limit"] != "unlimited"]

    def test_the_rules_count_by_the_limits_that_nginx_would(self):
        places = Places(random.Random(SEED))
        for number in range(SERVERS):
            places.server(number, self.port)
        self.start(places)
        self.hosts = places.hosts
        self.rules = self.folder / "rules.yaml"
        made = subprocess.run([WEIR, "convert", "--from", "nginx", self.file], timeout=60,
                              capture_output=True, text=True)
        self.rules.write_text(made.stdout)
        self.assertIn(made.returncode, (0, 1), made.stderr)
        unsaid = {line.split("line ")[1].split(":")[0] for line in made.stdout.splitlines()
                  if line.startswith("# not converted") and
                  ("of a form" in line or "which of lines" in line)}
        compared = 0
        for number in range(SERVERS):
            server = f"s{number}"
            if self.has_unsaid(server, unsaid):
                continue
            for path in PATHS:
                place = self.place(server, path)
                limit = places.limit_of[place]
                expected = [f"{limit}/1s burst 1"] if limit > 1 else ["1/1s"] if limit else []
                self.assertEqual(self.limits(server, path), expected,
                                 f"{server} {path}: nginx takes {place}\n{self.text_of(server)}")
                compared += 1
        self.assertGreater(compared, SERVERS * len(PATHS) // 3)
        print(f"{compared} requests alike")

    def text_of(self, server):
        text = self.file.read_text()
        begin = text.index(f"# {server};")
        return text[begin:text.find("server {", begin)]

    def has_unsaid(self, server, lines):
        """Whether the converter has said that it cannot say all of the server."""
        text = self.file.read_text()
        begin = text.index(f"# {server};")
        first = text.count("\n", 0, begin) + 1
        last = first + self.text_of(server).count("\n")
        return any(first <= int(line) <= last for line in lines)


if __name__ == "__main__":
    unittest.main()
