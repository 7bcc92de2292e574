"""The packages on a Debian that knows nothing of weir: installed, started, asked, reloaded, purged.

Makes them by ./do package, and a small Debian 12 by debootstrap from the mirror that this machine's
apt uses. Needs root for that; without, or on another Debian, it says so and is skipped (exit 77).
"""

import configparser
import contextlib
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["WEIR_SOURCE"])
SKIPPED = 77
UNIT = "lib/systemd/system/weir.service"
OPTIONS = ("WEIR_OPTIONS=\"--resp 127.0.0.1:{resp} --metrics 127.0.0.1:{metrics}"
           " --limit login='2/1h burst 2'\"\n")

# Runs as a service of the booted system, as root.
CHECKS = r"""
set -eux
test "$(systemctl is-active weir)" = active
test "$(systemctl show weir --property=Type --value)" = notify
pid=$(systemctl show weir --property=MainPID --value)
test "$(stat --format %U /proc/$pid)" = weir
grep -q '^CapBnd:.*0000000000000000$' /proc/$pid/status
grep -q '^NoNewPrivs:.*1$' /proc/$pid/status
grep -q '^Seccomp:.*2$' /proc/$pid/status
# Not 65536, for a machine may allow less; more than the connections it takes.
test "$(sed -n 's/^Max open files *\([0-9]*\) .*/\1/p' /proc/$pid/limits)" -gt 10000
test "$(stat --format '%U %a' /var/lib/weir)" = 'weir 750'

weir take alice @login
weir take alice @login
! weir take alice @login

# It reads its secrets again where it knows how, and forgets nothing.
if weir serve --help | grep -q SIGHUP; then
  systemctl reload weir
  test "$(systemctl show weir --property=MainPID --value)" = "$pid"
  ! weir take alice @login
fi

# One that dies comes back, with a clean slate.
systemctl kill --signal=KILL weir
until test "$(systemctl show weir --property=NRestarts --value)" = 1; do sleep 0.1; done
until weir take alice @login; do sleep 0.1; done

dpkg --purge weir
test ! -e /var/lib/weir
test ! -e /run/weir
test ! -e /etc/default/weir
! getent passwd weir
! getent group weir
! systemctl cat weir
! pidof weir
echo all checks passed
"""
CHECKS_UNIT = """[Unit]
After=weir.service
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/bin/sh /checks
StandardOutput=file:/checked
StandardError=file:/checked
TimeoutStartSec=60s
[Install]
WantedBy=multi-user.target
"""


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def mirror():
    """Where this machine's apt has Debian 12 from."""
    found = output("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
                   "Origin: Debian", "Codename: bookworm", "Component: main").split()
    if not found:
        skip("the apt of this machine knows no mirror of Debian 12")
    return found[0]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Root:
    """A Debian in a folder."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "root"
        log = pathlib.Path(folder) / "log"
        with log.open("w") as file:
            # systemd and its friends are there so that it can boot; no package of ours asks them.
            made = subprocess.run(
                ["debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv,dbus",
                 "bookworm", self.path, mirror()], stdout=file, stderr=file)
        if made.returncode != 0:
            raise RuntimeError("debootstrap failed:\n" + log.read_text()[-2000:])

    def run(self, *command, **options):
        environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive", LC_ALL="C.UTF-8",
                           PATH="/usr/sbin:/usr/bin:/sbin:/bin")
        done = subprocess.run(["/usr/sbin/chroot", self.path, *command], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                              **options)
        if done.returncode != 0:
            raise AssertionError(f"{shlex.join(command)} exits {done.returncode}:\n{done.stdout}")
        return done.stdout

    def write(self, name, text):
        (self.path / name).write_text(text)

    def tree(self):
        """What a package may leave behind; not what dpkg and apt note of it."""
        notes = re.compile(r"/(proc|sys|dev|tmp|var/(log|cache|lib/(dpkg|apt)))(/|$)"
                           r"|/etc/(passwd|group|shadow|gshadow)-$")
        found = {}
        for folder, names, files in os.walk(self.path):
            inside = "/" + os.path.relpath(folder, self.path)
            names[:] = [name for name in names if not notes.match(os.path.join(inside, name))]
            found |= {os.path.join(inside, name): None for name in names + files
                      if not notes.match(os.path.join(inside, name))}
        for name in ("passwd", "group", "shadow", "gshadow"):
            found["/etc/" + name] = (self.path / "etc" / name).read_text()
        return found


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([SOURCE / "do", "package"], check=True)
        # Not in the build folder: the path of a Unix socket is short.
        folder = tempfile.mkdtemp(prefix="weir-deb-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.root = Root(folder)
        for name in ("weir", "libweir-dev"):
            deb, = (SOURCE / "build/package").glob(f"{name}_*.deb")
            shutil.copy(deb, cls.root.path / f"tmp/{name}.deb")
        # What the package says it needs, and no more.
        cls.root.run("apt-get", "update")
        cls.root.run("apt-get", "satisfy", "--yes", "--no-install-recommends",
                     output("dpkg-deb", "--field", cls.root.path / "tmp/weir.deb", "Depends")
                     .strip())

    def install(self):
        self.root.run("dpkg", "--install", "/tmp/weir.deb")

    def test_leaves_nothing_behind_when_purged(self):
        before = self.root.tree()
        self.install()
        self.assertIn("/usr/bin/weir", self.root.tree())
        self.assertEqual(self.root.run("weir", "module", "path").strip(),
                         "/usr/lib/weir/weir_module.so")
        self.assertIn("/usr/lib/weir/weir_module.so", self.root.tree())
        self.assertEqual(self.root.run("systemctl", "is-enabled", "weir").strip(), "enabled")
        # As if it had run.
        self.root.run("install", "--directory", "--owner=weir", "/var/lib/weir")
        self.root.write("var/lib/weir/file", "")
        self.root.run("dpkg", "--remove", "weir")
        self.assertIn("/etc/default/weir", self.root.tree())
        self.root.run("dpkg", "--purge", "weir")
        self.assertEqual(self.root.tree(), before)

    def test_keeps_what_the_administrator_chose(self):
        self.install()
        self.root.run("systemctl", "disable", "weir")
        self.root.write("etc/default/weir", 'WEIR_OPTIONS="--threads 2"\n')
        self.install()
        self.assertEqual((self.root.path / "etc/default/weir").read_text(),
                         'WEIR_OPTIONS="--threads 2"\n')
        self.assertFalse((self.root.path /
                          "etc/systemd/system/multi-user.target.wants/weir.service").exists())
        self.root.run("dpkg", "--purge", "weir")

    def test_its_unit_is_one_that_systemd_takes(self):
        self.install()
        self.root.run("systemd-analyze", "verify", "--man=no", "weir.service")
        self.root.run("dpkg", "--purge", "weir")

    def test_starts_by_the_units_line_as_its_user_and_refuses_in_time(self):
        self.install()
        ports = {"resp": free_port(), "metrics": free_port()}
        self.root.write("etc/default/weir", OPTIONS.format(**ports))
        at = ["--server", f"127.0.0.1:{ports['resp']}"]
        with self.started():
            self.root.run("weir", "take", "alice", "@login", *at)
            self.root.run("weir", "take", "alice", "@login", *at)
            with self.assertRaisesRegex(AssertionError, "exits 1:\ndenied: try again in"):
                self.root.run("weir", "take", "alice", "@login", *at)
        self.root.run("dpkg", "--purge", "weir")

    @contextlib.contextmanager
    def started(self):
        """The unit's ExecStart, once it says that it is ready."""
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str
        unit.read(self.root.path / UNIT)
        service = unit["Service"]
        file = (self.root.path / service["EnvironmentFile"].lstrip("-/")).read_text()
        variables = dict(word.split("=", 1) for word in shlex.split(file, comments=True))
        command = []
        for word in service["ExecStart"].split():
            command += shlex.split(variables[word[1:]]) if word.startswith("$") else [word]

        notify = self.root.path / "run/notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(notify))
            notify.chmod(0o777)
            manager.settimeout(20)
            user = f"{service['User']}:{service['Group']}"
            process = subprocess.Popen(
                ["/usr/sbin/chroot", f"--userspec={user}", self.root.path, *command],
                env={"NOTIFY_SOCKET": "/run/notify"})
            try:
                self.assertEqual(manager.recv(64), b"READY=1")
                self.assertEqual(pathlib.Path(f"/proc/{process.pid}").stat().st_uid,
                                 int(self.root.run("id", "-u", "weir")))
                yield
            finally:
                process.terminate()
                self.assertEqual(process.wait(20), 0)
                notify.unlink()

    def test_serves_a_booted_system_from_within_its_sandbox(self):
        contained = ["systemd-nspawn", f"--directory={self.root.path}", "--quiet", "--register=no",
                     "--keep-unit", "--private-network", "--resolv-conf=off", "--timezone=off"]
        probe = subprocess.run([*contained, "/bin/true"], capture_output=True, text=True)
        if probe.returncode != 0:
            self.skipTest("systemd-nspawn cannot start here: " + probe.stderr.strip())
        self.install()
        self.root.write("etc/default/weir", OPTIONS.format(resp=7379, metrics=7390))
        self.root.write("checks", CHECKS)
        self.root.write("etc/systemd/system/checks.service", CHECKS_UNIT)
        self.root.run("systemctl", "enable", "checks")
        begin = time.monotonic()
        boot = subprocess.run([*contained, "--boot"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=180)
        checked = self.root.path / "checked"
        said = checked.read_text() if checked.exists() else boot.stdout
        self.assertTrue(said.endswith("all checks passed\n"), said)
        print(f"booted, checked and halted in {time.monotonic() - begin:.0f} s")

    def test_the_library_is_found_where_it_was_installed(self):
        self.root.run("dpkg", "--install", "/tmp/libweir-dev.deb")
        folder = self.root.path / "usr/lib/x86_64-linux-gnu"
        self.assertTrue((folder / "cmake/weir/weirConfig.cmake").exists())
        flags = output("env", f"PKG_CONFIG_LIBDIR={folder}/pkgconfig", "pkg-config", "--cflags",
                       "--libs", "--define-prefix", "weir").split()
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(["g++", "-std=c++20", SOURCE / "test/consumer/project/main.cpp", *flags,
                            "-o", f"{scratch}/consumer"], check=True)
            subprocess.run([f"{scratch}/consumer"], check=True, stdout=subprocess.DEVNULL)
        self.root.run("dpkg", "--purge", "libweir-dev")


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("needs root, to make a Debian in a folder")
    unittest.main(verbosity=2)
