"""./do lint: the rules of rules.py over the whole tree, then clang-format, headers, clang-tidy.

Compiling and clang-tidy are slow, so what passed is remembered in build/lint/ under the bytes of
the file and of every header of ours that it reaches.
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

import rules

ROOT = pathlib.Path(__file__).resolve().parent.parent
PASSED = ROOT / "build" / "lint"
COMMANDS = ROOT / "build" / "release" / "compile_commands.json"
NOT_OURS = {".git", "build", "__pycache__"}
BYTES_ARE_THE_TEST = "test/fuzz/corpus/"
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", f"-I{ROOT}/src",
         f"-I{ROOT}"]
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


def run_all(what: str, jobs: list[tuple[str, list[str]]]) -> list[str]:
    """Runs each (path, command) that has not passed before; says how far it is."""
    PASSED.mkdir(parents=True, exist_ok=True)
    due = []
    for path, command in jobs:
        mark = passed_mark(command, path)
        if not mark.exists():
            due.append((path, command, mark))
    failures = []

    def run(job):
        path, command, mark = job
        started = time.monotonic()
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return path, mark, result, time.monotonic() - started

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        done = concurrent.futures.as_completed([pool.submit(run, job) for job in due])
        for count, future in enumerate(done, start=1):
            path, mark, result, seconds = future.result()
            print(f"   {what} {count}/{len(due)}  {seconds:.0f} s  {path}", flush=True)
            if result.returncode == 0:
                mark.touch()
            else:
                failures.append((result.stdout + result.stderr).strip())
    return failures


def headers_stand_alone(paths: list[str]) -> list[str]:
    jobs = []
    for path in paths:
        if path.endswith(".hpp") and path.startswith(("include/", "src/")):
            # Included, not compiled: the compiler warns of a #pragma once in a main file.
            jobs.append((path, ["g++", *FLAGS, "-fsyntax-only", "-include", path, "-x", "c++",
                                "/dev/null"]))
    return run_all("header", jobs)


def clang_tidy(paths: list[str]) -> list[str]:
    if not COMMANDS.exists():
        return ["build/release/compile_commands.json is missing: ./do lint makes it"]
    compiled = {pathlib.Path(entry["file"]).resolve().relative_to(ROOT).as_posix()
                for entry in json.loads(COMMANDS.read_text())
                if pathlib.Path(entry["file"]).resolve().is_relative_to(ROOT)}
    # Named, because clang-tidy passes over a broken file that it finds by itself.
    tidy = ["clang-tidy-14", "--config-file=.clang-tidy", "--quiet", "--warnings-as-errors=*"]
    sources = [path for path in paths if path.startswith("src/") and path.endswith(".cpp")]
    jobs = [(path, [*tidy, "-p", str(COMMANDS.parent), path]) for path in sources
            if path in compiled]
    failures = [f"{path}: no CMakeLists.txt compiles it" for path in sources
                if path not in compiled]

    seen = set().union(*map(ours_reached_from, sources))
    for path in paths:
        if path.startswith("include/") and path.endswith(".hpp") and path not in seen:
            jobs.append((path, [*tidy, path, "--", "-x", "c++", *FLAGS,
                                "-Wno-pragma-once-outside-header"]))
    return failures + run_all("clang-tidy", jobs)


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
