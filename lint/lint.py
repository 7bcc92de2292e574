"""./do lint: the rules of rules.py over the whole tree, then clang-format, headers, clang-tidy.

Compiling and clang-tidy are slow, so nothing is looked at twice:

- What passed is remembered in build/lint/ under the bytes of the file and of every header of ours
  that it reaches.
- clang-tidy looks at a header from one file that reaches it, not from each.
- A header that some source of src/ includes first is shown to stand alone by the build, and a
  public one by the test headers.stand_alone; here are the others.
"""

import concurrent.futures
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys
import time
from typing import NamedTuple

import rules

ROOT = pathlib.Path(__file__).resolve().parent.parent
PASSED = ROOT / "build" / "lint"
RECENT_COMMITS = 40  # whose files clang-tidy looks at; all of them take ten minutes
COMMANDS = ROOT / "build" / "release" / "compile_commands.json"
NOT_OURS = {".git", "build", "__pycache__"}
BYTES_ARE_THE_TEST = "test/fuzz/corpus/"
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", f"-I{ROOT}/src",
         f"-I{ROOT}"]
# Named, because clang-tidy passes over a broken file that it finds by itself.
TIDY = ["clang-tidy-14", "--config-file=.clang-tidy", "--quiet", "--warnings-as-errors=*"]
# They need Asio.
NOT_IN_THE_TEST_OF_HEADERS = {"include/weir/local/asio.hpp", "include/weir/redis/asio.hpp"}
AT_ONCE = 2


def files() -> list[str]:
    found = []
    for path in ROOT.rglob("*"):
        relative = path.relative_to(ROOT)
        if NOT_OURS.isdisjoint(relative.parts) and path.is_file():
            found.append(relative.as_posix())
    return sorted(found)


def apply_rules(paths: list[str]) -> list[str]:
    failures = []
    for path in paths:
        if path.startswith(BYTES_ARE_THE_TEST):
            continue
        try:
            text = (ROOT / path).read_bytes().decode()
        except UnicodeDecodeError:
            continue  # a picture
        failures += [str(finding) for finding in rules.check(path, text)]
    return failures


def format_is_kept(paths: list[str]) -> list[str]:
    sources = [path for path in paths if rules.is_cpp(path)]
    result = subprocess.run(["clang-format-14", "--dry-run", "-Werror", *sources], cwd=ROOT,
                            capture_output=True, text=True)
    if result.returncode == 0:
        return []
    unkept = sorted({line.split(":")[0] for line in result.stderr.splitlines()
                     if "-Wclang-format-violations" in line})
    if not unkept:
        return [result.stderr]
    return [f"{path}: not formatted" for path in unkept] + [
        "to format them: clang-format-14 -i " + " ".join(unkept)]


# ---- What takes a compiler ----

def ours_reached_from(path: str) -> set[str]:
    """The file and every header of this repository that it includes, however far away."""
    reached, waiting = set(), [path]
    while waiting:
        current = waiting.pop()
        if current in reached:
            continue
        reached.add(current)
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', (ROOT / current).read_text(),
                               re.MULTILINE):
            for folder in ("include/", "src/", ""):
                if (ROOT / (folder + name)).is_file():
                    waiting.append(folder + name)
    return reached


def passed_mark(command: list[str], path: str) -> pathlib.Path:
    digest = hashlib.sha256(shlex.join(command).encode())
    for reached in sorted(ours_reached_from(path)) + [".clang-tidy"]:
        digest.update(b"\0" + reached.encode() + b"\0" + (ROOT / reached).read_bytes())
    return PASSED / digest.hexdigest()


class Job(NamedTuple):
    path: str
    command: list[str]
    mark: pathlib.Path  # touched once it passed


def due(commands: list[tuple[str, list[str]]]) -> list[Job]:
    """Those of (path, command) that have not passed before."""
    PASSED.mkdir(parents=True, exist_ok=True)
    jobs = [Job(path, command, passed_mark(command, path)) for path, command in commands]
    return [job for job in jobs if not job.mark.exists()]


def run_all(what: str, jobs: list[Job]) -> list[str]:
    """Runs each; says how far it is, and gives what the failed ones said."""
    failures = []

    def run(job):
        started = time.monotonic()
        result = subprocess.run(job.command, cwd=ROOT, capture_output=True, text=True)
        return job, result, time.monotonic() - started

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        done = concurrent.futures.as_completed([pool.submit(run, job) for job in jobs])
        for count, future in enumerate(done, start=1):
            job, result, seconds = future.result()
            print(f"   {what} {count}/{len(jobs)}  {seconds:.0f} s  {job.path}", flush=True)
            if result.returncode == 0:
                job.mark.touch()
            else:
                failures.append((result.stdout + result.stderr).strip())
    return failures


def first_include_of_ours(path: str) -> str | None:
    """The header of src/ or include/ that a source includes before anything else."""
    match = re.search(r'^\s*#\s*include\s*(["<])([^">]+)[">]', (ROOT / path).read_text(),
                      re.MULTILINE)
    if match is None or match.group(1) == "<":
        return None
    return next((folder + match.group(2) for folder in ("include/", "src/")
                 if (ROOT / (folder + match.group(2))).is_file()), None)


def headers_stand_alone(paths: list[str]) -> list[str]:
    shown = {first_include_of_ours(path) for path in sources_of(paths)}
    jobs = []
    for path in paths:
        if path.endswith(".hpp") and path not in shown and (
                path.startswith("src/") or path in NOT_IN_THE_TEST_OF_HEADERS):
            # Included, not compiled: the compiler warns of a #pragma once in a main file.
            jobs.append((path, ["g++", *FLAGS, "-fsyntax-only", "-include", path, "-x", "c++",
                                "/dev/null"]))
    return run_all("header", due(jobs))


def sources_of(paths: list[str]) -> list[str]:
    return [path for path in paths if path.startswith("src/") and path.endswith(".cpp")]


def flags_of_sources() -> dict[str, list[str]]:
    """What each source of src/ is compiled with, the compiler and its files left out."""
    flags = {}
    for entry in json.loads(COMMANDS.read_text()):
        path = pathlib.Path(entry["file"]).resolve()
        if not path.is_relative_to(ROOT / "src"):
            continue
        words = shlex.split(entry["command"])
        if words[words.index("-o") + 1].startswith("test/"):
            continue  # a test that compiles it once more, in its own way
        start = next(at for at, word in enumerate(words)  # behind `cmake -E env ... ccache g++`
                     if word.startswith("-") and word != "-E")
        flags[path.relative_to(ROOT).as_posix()] = words[start:words.index("-o")]
    return flags


def clang_tidy(paths: list[str]) -> list[str]:
    if not COMMANDS.exists():
        return ["build/release/compile_commands.json is missing: ./do lint makes it"]
    flags = flags_of_sources()
    sources = sources_of(paths)
    jobs = [(path, [*TIDY, path, "--", *flags[path]]) for path in sources if path in flags]
    failures = [f"{path}: no CMakeLists.txt compiles it" for path in sources if path not in flags]
    wanted = recent()

    seen = set().union(*map(ours_reached_from, sources))
    headers = [path for path in paths if path.startswith("include/") and path.endswith(".hpp")]
    for path in sorted(headers, key=lambda path: -len(ours_reached_from(path))):
        if path not in seen:
            seen |= ours_reached_from(path)
            jobs.append((path, [*TIDY, path, "--", "-x", "c++", *FLAGS,
                                "-Wno-pragma-once-outside-header"]))
    if wanted is not None:
        total = len(jobs)
        jobs = [job for job in jobs if job[0] in wanted]
        print(f"   {len(jobs)} of {total} files, changed in the last {RECENT_COMMITS} commits or "
              "not committed; ./do lint --all: every one", flush=True)
    return failures + run_all("clang-tidy", due(jobs))


def recent() -> set[str] | None:
    """Files that were changed lately; None: all are meant, or nobody knows."""
    if "--all" in sys.argv[1:]:
        return None
    names: set[str] = set()
    for command in (["git", "log", "--format=", "--name-only", f"-n{RECENT_COMMITS}"],
                    ["git", "diff", "--name-only", "HEAD"],
                    ["git", "ls-files", "--others", "--exclude-standard"]):
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if told.returncode != 0:
            return None
        names.update(told.stdout.split("\n"))
    return names


STAGES = (
    ("arrows, sizes, calls, names", apply_rules),
    ("format", format_is_kept),
    ("headers that stand alone", headers_stand_alone),
    ("clang-tidy", clang_tidy),
)


def main() -> int:
    paths = files()
    failed = []
    for name, stage in STAGES:
        print(f"== {name}", flush=True)
        started = time.monotonic()
        failures = stage(paths)
        print("\n".join(failures) if failures else f"   good, {time.monotonic() - started:.1f} s",
              flush=True)
        if failures:
            failed.append(name)
    if failed:
        print(f"\n./do lint: failed in {'; '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
