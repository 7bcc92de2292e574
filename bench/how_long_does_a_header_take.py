#!/usr/bin/env python3
"""How long does a header take? Compiles each public header alone and prints the CPU time of that.

    how_long_does_a_header_take.py [--max-seconds S] [--best-of N] [--compiler CXX]... [HEADER...]

A header must compile by itself, without a warning, and with nothing in reach but the standard
library; else the exit status is 1. Names are as one includes them (weir/limit.hpp); all are taken
where none is given. Left out are those that need a library of others: asio.hpp, beast.hpp,
grpcpp.hpp and httplib.hpp.

  --max-seconds S  fail too where a header takes longer; for a quiet machine, so no test asks it
  --best-of N      compile each so often and tell the shortest time (1)
  --compiler CXX   instead of those of g++ and clang++-14 that are installed
"""

import argparse
import pathlib
import resource
import shutil
import subprocess
import sys

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
         "-Wpedantic", "-Werror", f"-I{INCLUDE}"]
COMPILERS = ("g++", "clang++-14")
NEEDS_MORE = ("asio.hpp", "beast.hpp", "grpcpp.hpp", "httplib.hpp")


def public_headers() -> list[str]:
    return sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.hpp")
                  if path.name not in NEEDS_MORE)


def cpu_of_children() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def compile_alone(compiler: str, header: str) -> tuple[float, str]:
    """The seconds of user CPU, and what the compiler complained of."""
    before = cpu_of_children()
    done = subprocess.run([compiler, *FLAGS, "-x", "c++", "-"], input=f'#include "{header}"\n',
                          capture_output=True, text=True)
    complaint = "" if done.returncode == 0 else f"{compiler}: {header}\n{done.stderr.strip()}"
    return cpu_of_children() - before, complaint


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--max-seconds", type=float, default=float("inf"))
    parser.add_argument("--best-of", type=int, default=1)
    parser.add_argument("--compiler", action="append")
    parser.add_argument("headers", nargs="*")
    return parser.parse_args()


def main() -> int:
    wanted = arguments()
    compilers = wanted.compiler or [name for name in COMPILERS if shutil.which(name)]
    if not compilers:
        print(f"no compiler: expected {' or '.join(COMPILERS)}; or name one with --compiler",
              file=sys.stderr)
        return 1
    failures = []
    print(f"{'seconds of user CPU':40}", *(f"{name:>12}" for name in compilers))
    for header in wanted.headers or public_headers():
        row = []
        for compiler in compilers:
            runs = [compile_alone(compiler, header) for _ in range(max(wanted.best_of, 1))]
            seconds, complaint = min(runs)
            row.append(seconds)
            if complaint:
                failures.append(complaint)
            elif seconds > wanted.max_seconds:
                failures.append(f"{compiler}: {header} takes {seconds:.2f} s; at most "
                                f"{wanted.max_seconds:g} s were wanted")
        print(f"{header:40}", *(f"{seconds:12.2f}" for seconds in row), flush=True)
    print("\n".join(failures), file=sys.stderr, end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
