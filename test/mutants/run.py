"""Plants one bug at a time, and sees whether a test finds it: ./do mutate [NAME...].

A mutant is a file beside this one, test/mutants/NAME.mutant, of lines "field: value":

  file      the source that it changes
  after     a line above the one meant, where that one occurs more than once (optional)
  was       the line as it is, without its indentation
  becomes   the line as the bug has it
  reason    why somebody might write that
  tests     the programs and ctests expected to see it, cheapest first
  missed    why no test sees it (optional; one that is caught after all is told)

The sources are copied to a scratch folder and built there once, at -O1 and without warnings. Each
mutant then compiles what depends on its line, and no more, and runs its tests until one fails.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COPIED = ("CMakeLists.txt", "bench", "cmake", "docs", "include", "lint", "src", "test")
FIELDS = {"file", "after", "was", "becomes", "reason", "tests", "missed"}
OPTIONAL = {"after", "missed"}
SECONDS_FOR_A_TEST = 120


class MutantError(Exception):
    """A mutant that cannot be used, and why."""


class Mutant(NamedTuple):
    name: str
    file: str
    after: str
    was: str
    becomes: str
    reason: str
    tests: list[str]
    missed: str


def read_mutant(path: pathlib.Path) -> Mutant:
    fields = {}
    for line in path.read_text().splitlines():
        field, colon, value = line.partition(": ")
        if not colon or field not in FIELDS or field in fields:
            raise MutantError(f"{path.name}: expected a field once of {sorted(FIELDS)}, "
                              f"got '{line}'")
        fields[field] = value.strip()
    lacking = FIELDS - OPTIONAL - set(fields)
    if lacking:
        raise MutantError(f"{path.name}: lacks {', '.join(sorted(lacking))}")
    fields["tests"] = fields["tests"].split()
    return Mutant(path.stem, after=fields.pop("after", ""), missed=fields.pop("missed", ""),
                  **fields)


def mutants(names: list[str]) -> list[Mutant]:
    known = {path.stem: path for path in sorted(HERE.glob("*.mutant"))}
    for name in names:
        if name not in known:
            raise MutantError(f"there is no mutant '{name}'; those there are: {', '.join(known)}")
    return [read_mutant(known[name]) for name in names or known]


def mutated(mutant: Mutant, text: str) -> str:
    """The source with the bug in it."""
    lines = text.split("\n")
    start = 0
    if mutant.after:
        marks = [at for at, line in enumerate(lines) if line.strip() == mutant.after]
        if len(marks) != 1:
            raise MutantError(f"{mutant.name}: {mutant.file} has {len(marks)} lines "
                              f"'{mutant.after}' to look after; expected one")
        start = marks[0]
    found = [at for at in range(start, len(lines)) if lines[at].strip() == mutant.was]
    if not found or (len(found) > 1 and not mutant.after):
        raise MutantError(f"{mutant.name}: {mutant.file} has {len(found)} lines '{mutant.was}'; "
                          "expected one. Bring the mutant up to date, or take it away.")
    if mutant.was == mutant.becomes:
        raise MutantError(f"{mutant.name}: changes nothing")
    line = lines[found[0]]
    lines[found[0]] = line[:len(line) - len(line.lstrip())] + mutant.becomes
    return "\n".join(lines)


class Scratch:
    """A copy of the sources, built so that a changed line costs only what depends on it."""

    def __init__(self, folder: pathlib.Path, jobs: int):
        self.folder = folder
        self.build = folder / "build"
        self.jobs = jobs

    def copy_sources(self) -> None:
        """Touches only what differs, so that a second run builds little."""
        wanted = {}
        for name in COPIED:
            path = ROOT / name
            for file in [path] if path.is_file() else path.rglob("*"):
                if file.is_file() and "__pycache__" not in file.parts:
                    wanted[file.relative_to(ROOT)] = file
        for name in COPIED:
            for file in (self.folder / name).rglob("*"):
                if file.is_file() and file.relative_to(self.folder) not in wanted:
                    file.unlink()
        for relative, file in wanted.items():
            copy = self.folder / relative
            if not copy.is_file() or copy.read_bytes() != file.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)

    def configure(self) -> None:
        subprocess.run(["cmake", "-S", str(self.folder), "-B", str(self.build), "-G", "Ninja",
                        "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1 -w -D_GLIBCXX_ASSERTIONS",
                        "-DWEIR_BUILD_BENCH=OFF", "-DWEIR_BUILD_EXAMPLES=OFF"],
                       check=True, stdout=subprocess.DEVNULL)

    def compile(self, tests: list[str]) -> subprocess.CompletedProcess:
        targets = sorted({test if self.is_program(test) else "weir" for test in tests})
        return subprocess.run(["ninja", "-C", str(self.build), f"-j{self.jobs}", *targets],
                              capture_output=True, text=True)

    @staticmethod
    def is_program(test: str) -> bool:
        return "." not in test  # a ctest of scripts is named PART.NAME and asks the weir program

    def run(self, test: str) -> str | None:
        """What failed in it, or nothing."""
        if self.is_program(test):
            program = next(path for path in self.build.rglob(test) if path.is_file())
            command = [str(program), "--gtest_fail_fast", "--gtest_brief=0"]
        else:
            command = ["ctest", "--test-dir", str(self.build), "--tests-regex",
                       "^" + re.escape(test) + "$", "--verbose", "--no-tests=error"]
        try:
            result = subprocess.run(command, cwd=self.build, capture_output=True, text=True,
                                    errors="replace", timeout=SECONDS_FOR_A_TEST)
        except subprocess.TimeoutExpired as late:
            return f"{test}: {last_begun(str(late.stdout or ''))} did not end"
        if result.returncode == 0:
            return None
        output = result.stdout + result.stderr
        failed = re.search(r"\[  FAILED  \] ([\w/.]+)", output) or re.search(
            r"\b(?:FAIL|ERROR): (\w+)", output)
        return f"{test}: {failed[1] if failed else last_begun(output) + ' crashed'}"


def last_begun(output: str) -> str:
    begun = re.findall(r"\[ RUN      \] ([\w/.]+)", output)
    return begun[-1] if begun else "it"


def look(scratch: Scratch, mutant: Mutant) -> str | None:
    """The test that caught the mutant, or nothing."""
    target = scratch.folder / mutant.file
    whole = target.read_text()
    target.write_text(mutated(mutant, whole))
    try:
        for test in mutant.tests:
            built = scratch.compile([test])
            if built.returncode != 0:
                raise MutantError(f"{mutant.name} does not compile:\n{built.stdout[-2000:]}")
            caught = scratch.run(test)
            if caught:
                return caught
        return None
    finally:
        target.write_text(whole)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./do mutate", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these mutants")
    parser.add_argument("--check", action="store_true",
                        help="only see that every mutant still applies to the sources")
    parser.add_argument("--scratch", type=pathlib.Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()

    chosen = mutants(options.names)
    if options.check:
        for mutant in chosen:
            mutated(mutant, (ROOT / mutant.file).read_text())
        print(f"{len(chosen)} mutants apply")
        return 0

    scratch = Scratch(options.scratch, options.jobs)
    scratch.copy_sources()
    scratch.configure()
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    print(f"building {', '.join(tests)} without a bug", flush=True)
    built = scratch.compile(tests)
    if built.returncode != 0:
        raise MutantError(f"the sources do not build:\n{built.stdout[-2000:]}")
    for test in tests:
        failed = scratch.run(test)
        if failed:
            raise MutantError(f"{failed} failed without a bug; mend that first")

    caught_count, surprises = 0, []
    for mutant in chosen:
        started = time.monotonic()
        caught = look(scratch, mutant)
        if caught:
            verdict = f"caught  by {caught}"
            caught_count += 1
            if mutant.missed:
                surprises.append(f"{mutant.name} is caught now; take its line 'missed' away")
        elif mutant.missed:
            verdict = f"missed  as known: {mutant.missed}"
        else:
            verdict = "MISSED"
            surprises.append(f"{mutant.name} was missed: {mutant.reason}")
        print(f"{time.monotonic() - started:4.0f} s  {mutant.name}  {verdict}", flush=True)
    print(f"{caught_count} of {len(chosen)} caught")
    for surprise in surprises:
        print(surprise, file=sys.stderr)
    return 1 if surprises else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MutantError as error:
        sys.exit(f"./do mutate: {error}")
