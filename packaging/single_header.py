"""weir in one header, made of include/weir and the sources of src/limit, src/local and
src/http.

    single_header.py FILE

Each file of ours stands in it once, behind those that it includes; standard headers stand at the
top. The sources are in the second part, which is compiled where WEIR_IMPLEMENTATION is defined.
What needs more than the standard library is left out, and so are limits in a Redis, which are for
those who link weir::redis. The same tree gives the same bytes.

The sources come to stand in one translation unit, so no two of them may give one name to what they
keep to themselves; test/single_header fails where they do.
"""

import hashlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEFT_OUT = ("asio.hpp", "asio_concurrency.hpp", "asio_operation.hpp", "beast.hpp", "grpcpp.hpp",
            "httplib.hpp")
LEFT_OUT_FOLDER = "include/weir/redis/"
INCLUDE = re.compile(r'\s*#\s*include\s*(?:<(?P<system>[^>]+)>|"(?P<ours>[^"]+)")')

OPENING = """\
// weir {version}: rate limiting with a stated bound. The library in one header, C++20.
// SPDX-License-Identifier: Apache-2.0 (https://www.apache.org/licenses/LICENSE-2.0)
//
// Include it wherever it is used. In one source file of the program, define WEIR_IMPLEMENTATION
// before the include: the functions are compiled there.
//
//   #define WEIR_IMPLEMENTATION
//   #include "weir.hpp"
//
// It needs threads (-pthread on older systems) and the standard library, nothing else.
// Made by packaging/single_header.py; change the files that it is made of. SHA-256 of what follows
// this comment: {digest}
"""


class Refused(Exception):
    pass


class Part:
    """One of the two parts: the text of its files, and the standard headers that they need."""

    def __init__(self, known: set[str]):
        self.known = known  # files of ours that stand already, in this part or an earlier one
        self.standard: set[str] = set()
        self.sections: list[str] = []

    def add(self, path: str) -> None:
        if path in self.known:
            return
        self.known.add(path)
        lines, conditions = [], 0
        for number, line in enumerate((ROOT / path).read_text().splitlines(), start=1):
            include = INCLUDE.match(line)
            if re.match(r"\s*#\s*if", line):
                conditions += 1
            elif re.match(r"\s*#\s*endif", line):
                conditions -= 1
            if re.match(r"\s*#\s*pragma\s+once", line):
                continue
            if include and include["ours"]:
                if conditions:
                    raise Refused(f"{path}:{number}: an #include of ours under a condition; "
                                  "expected it outside, since each file stands once")
                self.add(found(include["ours"], f"{path}:{number}"))
            elif include and not conditions:
                self.standard.add(include["system"])
            else:
                lines.append(line)
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
        shown = path.removeprefix("include/")
        self.sections.append(f"// ---- {shown} {'-' * (92 - len(shown))}\n\n{text}\n")


def found(name: str, where: str) -> str:
    for folder in ("include/", "src/"):
        if (ROOT / folder / name).is_file() and not left_out(folder + name):
            return folder + name
    raise Refused(f'{where}: "{name}" is neither in include/ nor in src/, or is left out; expected '
                  "a file of the library")


def left_out(path: str) -> bool:
    return path.startswith(LEFT_OUT_FOLDER) or pathlib.PurePosixPath(path).name in LEFT_OUT


def files_of(folder: str, ending: str) -> list[str]:
    paths = (path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*" + ending))
    return sorted(path for path in paths if not left_out(path))


def includes(names: set[str]) -> str:
    return "".join(f"#include <{name}>\n" for name in sorted(names))


def version() -> str:
    stated = re.search(r"project\(weir VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    if not stated:
        raise Refused("CMakeLists.txt: expected project(weir VERSION ...)")
    return stated[1]


def single_header() -> str:
    faces = Part(set())
    for path in files_of("include/weir", ".hpp"):
        faces.add(path)
    sources = Part(faces.known)
    for folder in ("src/limit", "src/local", "src/http"):
        for path in files_of(folder, ".cpp"):
            sources.add(path)

    body = "\n".join([
        "#ifndef WEIR_SINGLE_HEADER\n#define WEIR_SINGLE_HEADER\n",
        includes(faces.standard),
        *faces.sections,
        "#endif  // WEIR_SINGLE_HEADER\n",
        "#if defined(WEIR_IMPLEMENTATION) && !defined(WEIR_IMPLEMENTED)\n"
        "#define WEIR_IMPLEMENTED\n",
        includes(sources.standard - faces.standard),
        *sources.sections,
        "#endif  // WEIR_IMPLEMENTATION\n"])
    digest = hashlib.sha256(("\n" + body).encode()).hexdigest()[:16]
    return OPENING.format(version=version(), digest=digest) + "\n" + body


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    target = pathlib.Path(sys.argv[1])
    try:
        text = single_header()
    except Refused as reason:
        print(f"single_header.py: {reason}", file=sys.stderr)
        return 1
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
