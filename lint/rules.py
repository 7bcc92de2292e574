"""The rules that a text can be held to by looking at it: who may include whom, sizes, banned calls.

Every rule is a function (path, text) -> findings, where path is relative to the repository. lint.py
runs them over the tree; test_lint.py shows for each one text that passes and one that does not.
"""

import pathlib
import re
from typing import Iterator, NamedTuple


class Finding(NamedTuple):
    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


# ---- Who may include whom ----

# A part, and the parts whose headers its files may name. Anything else is an arrow the design has
# not drawn; ARCHITECTURE.md shows the drawing.
MAY_INCLUDE = {
    "vocabulary": (),
    "algorithm": ("vocabulary",),
    "overload": ("vocabulary",),
    "limit": ("vocabulary", "algorithm"),
    "local": ("vocabulary", "algorithm", "overload", "limit"),
    "weir": ("vocabulary", "algorithm", "overload", "limit", "local"),
    "wire": ("vocabulary",),
    "http": ("vocabulary", "algorithm", "limit", "local"),
    "gateway": ("vocabulary", "algorithm", "limit", "local", "http"),
    "redis": ("vocabulary", "algorithm", "overload", "limit", "local", "wire"),
    "module": ("vocabulary", "algorithm", "limit", "wire", "redis"),
    "server": ("vocabulary", "algorithm", "limit", "local", "http", "gateway", "wire", "redis"),
    "cli": ("vocabulary", "algorithm", "overload", "limit", "gateway", "wire", "redis", "server"),
}

# Only these name other people's libraries and the operating system ...
MAY_LEAVE_THE_STANDARD_LIBRARY = ("redis", "module", "server", "cli")

# ... but for what a part cannot do without.
EXCEPTIONS = {
    "local": ("cpuid.h", "x86intrin.h"),  # the time stamp counter
}

# One header each speaks to a library of other people, for those alone who include it.
EXCEPTIONS_OF_FILES = {
    "include/weir/local/asio_operation.hpp": ("asio/", "boost/asio/"),
    "src/gateway/yaml.cpp": ("yaml-cpp/",),
    "include/weir/http/beast.hpp": ("boost/beast/http/",),
    "include/weir/http/httplib.hpp": ("httplib.h",),
    "include/weir/http/grpcpp.hpp": ("grpcpp/",),
}

STANDARD_HEADERS = frozenset("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono
cinttypes climits clocale cmath compare complex concepts condition_variable coroutine csetjmp
csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception
execution filesystem forward_list fstream functional future initializer_list iomanip ios iosfwd
iostream istream iterator latch limits list locale map memory memory_resource mutex new numbers
numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set
shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view
strstream syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map
unordered_set utility valarray variant vector version
""".split())

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


# Public headers that lie beside the part they belong to.
PART_OF_HEADER = {"duration": "limit", "steady_instant": "vocabulary",
                  "overload_protection": "weir"}


def part_of(path: str) -> str | None:
    """The part that a file of include/ or src/ belongs to; None where there is none."""
    steps = pathlib.PurePosixPath(path).parts
    if steps[:2] == ("include", "weir") and len(steps) > 2:
        name = steps[2].removesuffix(".hpp")
        return PART_OF_HEADER.get(name, name)
    if steps[:1] == ("src",) and len(steps) > 2:
        return steps[1]
    return None


def part_named(include: str) -> str | None:
    """The part that an include between quotation marks points at."""
    first, _, rest = include.partition("/")
    if not rest:
        return None
    return part_of(f"include/{include}" if first == "weir" else f"src/{include}")


def include_arrows(path: str, text: str) -> Iterator[Finding]:
    if not is_cpp(path):
        return
    top = path.partition("/")[0]
    part = part_of(path) if top in ("include", "src") else None
    if top in ("include", "src") and part not in MAY_INCLUDE:
        yield Finding(path, 1, f"'{part}' has no row in MAY_INCLUDE (lint/rules.py)")
        return
    for match in _INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        bracket, name = match.groups()
        if bracket == "<":
            if (part and part not in MAY_LEAVE_THE_STANDARD_LIBRARY and name not in STANDARD_HEADERS
                    and name not in EXCEPTIONS.get(part, ())
                    and not name.startswith(EXCEPTIONS_OF_FILES.get(path, ("\0",)))):
                yield Finding(path, line, f"{part} may include the standard library alone, "
                                          f"not <{name}>")
            continue
        target = part_named(name)
        if target not in MAY_INCLUDE:
            if part or name.partition("/")[0] not in ("test", "bench"):
                yield Finding(path, line, f'"{name}": write the path from include/ or src/ '
                                          "(in tests: or from the top: test/..., bench/...)")
        elif part and target != part and target not in MAY_INCLUDE[part]:
            allowed = ", ".join(MAY_INCLUDE[part]) or "nothing"
            yield Finding(path, line, f'{part} may not include {target} ("{name}"); '
                                      f"it may include {allowed}")


# ---- Banned calls ----

class Ban(NamedTuple):
    call: str                        # a regular expression
    instead: str
    where: tuple[str, ...] = ("",)   # folders; "" is everywhere
    but_not: tuple[str, ...] = ()


_NOT_A_MEMBER = r"(?<![\w.>])"
BANS = (
    Ban(r"std::regex|<regex>", "a parser by hand: its cost is seen, and no input can explode it"),
    Ban(_NOT_A_MEMBER + r"(strcpy|strcat|strncpy|strtok|gets)\s*\(",
        "std::string or std::string_view"),
    Ban(_NOT_A_MEMBER + r"v?sprintf\s*\(", "std::to_chars, or fmt::format in the server"),
    Ban(_NOT_A_MEMBER + r"(ato[ifl]|atoll|strto[dfl]|strtold|strtou?ll?|sto[ifld]|stou?ll?)\s*\(",
        "std::from_chars: no locale, no exception, and it says where it stopped"),
    Ban(r"std::endl\b", "'\\n', and std::flush where it is meant"),
    Ban(r"std::cout\b|" + _NOT_A_MEMBER + r"(printf|puts|putchar)\s*\(",
        "a value for the caller to print: only the command line owns standard output",
        where=("include/", "src/"), but_not=("src/cli/",)),
    Ban(_NOT_A_MEMBER + r"s?rand\s*\(", "std::mt19937_64 with a fixed seed that is printed"),
    Ban(r"\brandom_device\b", "a fixed seed that is printed", where=("test/", "bench/")),
    Ban(r"_clock::now\s*\(", "the time that the host tells",
        where=("include/weir/algorithm/", "include/weir/overload/", "include/weir/limit.hpp",
               "include/weir/vocabulary.hpp", "include/weir/steady_instant.hpp",
               "include/weir/http/", "src/limit/", "src/gateway/", "src/wire/")),
    Ban(r"\b(sleep_for|sleep_until|usleep|nanosleep)\s*\(|" + _NOT_A_MEMBER + r"sleep\s*\(",
        "manual time; only a test of a real server may sleep",
        where=("test/",), but_not=("test/server/", "test/model/", "test/fault/store/",
                                   "test/wire/redis_server.cpp", "test/redis/await.hpp")),
)


def banned_calls(path: str, text: str) -> Iterator[Finding]:
    if not is_cpp(path):
        return
    code = without_comments_and_literals(text)
    for ban in BANS:
        if not path.startswith(ban.where) or (ban.but_not and path.startswith(ban.but_not)):
            continue
        for match in re.finditer(ban.call, code):
            line = code.count("\n", 0, match.start()) + 1
            yield Finding(path, line, f"{match.group().strip(' (')}: use {ban.instead}")


def namespaces_stay_closed_in_headers(path: str, text: str) -> Iterator[Finding]:
    if not path.endswith(".hpp"):
        return
    code = without_comments_and_literals(text)
    for match in re.finditer(r"\busing\s+namespace\s+([\w:]+)", code):
        if "literals" in match.group(1) and _inside_a_function(code, match.start()):
            continue
        line = code.count("\n", 0, match.start()) + 1
        yield Finding(path, line, "a header opens no namespace for those who include it")


def _inside_a_function(code: str, position: int) -> bool:
    return any(body.start <= position < body.end for body in function_bodies(code))


def headers_are_read_once(path: str, text: str) -> Iterator[Finding]:
    if path.endswith(".hpp") and not re.search(r"^#pragma once$", text, re.MULTILINE):
        yield Finding(path, 1, "a header has the line #pragma once")


# ---- Sizes and blanks ----

LINE_COLUMNS = 100
FUNCTION_LINES = 70
FILE_LINES = 800


def lines_fit(path: str, text: str) -> Iterator[Finding]:
    if not is_code(path):
        return
    lines = text.splitlines()
    if len(lines) > FILE_LINES:
        yield Finding(path, FILE_LINES + 1, f"{len(lines)} lines; a file has {FILE_LINES} at most")
    for number, line in enumerate(lines, start=1):
        if len(line) > LINE_COLUMNS:
            yield Finding(path, number, f"{len(line)} columns; a line has {LINE_COLUMNS} at most")


def blanks_are_plain(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.endswith((" ", "\t", "\r")):
            yield Finding(path, number, "a blank ends the line")
        if is_code(path) and "\t" in line:
            yield Finding(path, number, "a tab; use spaces")
    if text and not text.endswith("\n"):
        yield Finding(path, text.count("\n") + 1, "the last line has no end")


def nothing_is_left_over(path: str, text: str) -> Iterator[Finding]:
    if not is_code(path) or path.startswith("lint/"):
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if word := re.search(r"\b(TODO|FIXME|XXX)\b", line):
            yield Finding(path, number, f"{word.group()}: do it, or write an issue")


class Body(NamedTuple):
    start: int   # of the function's first line, as a position in the text
    end: int     # behind its closing brace


_NOT_A_FUNCTION = re.compile(
    r"\b(namespace|class|struct|union|enum|concept)\b"
    r"|^\s*(if|for|while|switch|catch|else|do|try)\b")


def function_bodies(code: str) -> Iterator[Body]:
    """The outermost function bodies in code without comments and literals.

    A brace opens one where the text since the last statement holds a parameter list and is neither
    a type, a namespace nor an initialiser. That is a guess, and good enough to measure length.
    """
    kinds = []       # of the braces that are open
    statement = 0    # where the current statement starts
    start = 0        # of the current function
    parentheses = 0
    for position, character in enumerate(code):
        if character in "()":
            parentheses += 1 if character == "(" else -1
        elif character == "{":
            head = code[statement:position]
            if "function" in kinds:
                kinds.append("inner")
            elif parentheses or head[-1:].strip():  # member_{value}
                kinds.append("initialiser")
            elif _opens_function(head):
                kinds.append("function")
                start = position - len(head.lstrip())
            else:
                kinds.append("scope")
                statement = position + 1
        elif character == "}" and kinds:
            kind = kinds.pop()
            if kind == "function":
                yield Body(start, position + 1)
            if kind in ("function", "scope"):
                statement = position + 1
        elif character == ";" and "function" not in kinds and not parentheses:
            statement = position + 1


def _opens_function(head: str) -> bool:
    # A type between angle brackets ("template <class T>") does not make the head a type.
    head = re.sub(r"template\s*<[^{;]*?>\s*(?=[\w\[:~])", "", head)
    if ")" not in head or _NOT_A_FUNCTION.search(head.split("(")[0]):
        return False
    before_initialisers = re.split(r"\)\s*:(?!:)", head)[0]
    return "=" not in re.sub(r"operator\s*\S+|\([^()]*\)|[=!<>]=", "", before_initialisers)


def functions_fit(path: str, text: str) -> Iterator[Finding]:
    if not is_cpp(path):
        return
    code = without_comments_and_literals(text)
    for body in function_bodies(code):
        lines = code.count("\n", body.start, body.end) + 1
        if lines > FUNCTION_LINES:
            first = code.count("\n", 0, body.start) + 1
            yield Finding(path, first,
                          f"a function of {lines} lines; it has {FUNCTION_LINES} at most")


# ---- Names ----

def nothing_names_a_machine(path: str, text: str) -> Iterator[Finding]:
    """Folders of one machine, and hosts that packages come from, are nobody else's."""
    if path.endswith("Cargo.lock"):  # cargo writes the index's name beside every package
        return
    pattern = re.compile(
        r"(?<![\w.$}/])/(home|work|Users|root)\b(?![\w-])"
        r"|\b(registry\.npmjs|registry\.yarnpkg|pypi|pythonhosted|crates|rubygems|proxy\.golang"
        r"|deb\.debian|security\.debian|repo\.maven)\.(org|io|com|dev)\b")
    for number, line in enumerate(text.splitlines(), start=1):
        if match := pattern.search(line):
            yield Finding(path, number, f"{match.group()}: a name that holds on one machine only")


def file_names_say_what_is_inside(path: str, text: str) -> Iterator[Finding]:
    del text
    words = re.split(r"[^a-z]+", pathlib.PurePosixPath(path).stem.lower())
    for word in ("util", "utils", "manager", "helper", "helpers", "common", "misc"):
        if is_cpp(path) and word in words:
            yield Finding(path, 1, f"'{word}' says nothing; name the file for what it holds")


# ---- What kind of file ----

def is_cpp(path: str) -> bool:
    return path.endswith((".hpp", ".cpp"))


def is_code(path: str) -> bool:
    name = pathlib.PurePosixPath(path).name
    return (is_cpp(path) or name.endswith((".py", ".cmake", ".lua", ".sh", ".js", ".css", ".yml"))
            or name in ("CMakeLists.txt", "do", ".clang-tidy", ".clang-format")
            or path.startswith(".ci/"))


_COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"   # not the mark between digits: 10'000
    r"|^[ \t]*#(?!\s*include)(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE)


def without_comments_and_literals(text: str) -> str:
    """The same text with comments, literals and macros blanked; every line stays where it is."""
    def blank(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match.group())
    return _COMMENT_OR_LITERAL.sub(blank, text)


RULES = (
    include_arrows,
    banned_calls,
    namespaces_stay_closed_in_headers,
    headers_are_read_once,
    lines_fit,
    functions_fit,
    blanks_are_plain,
    nothing_is_left_over,
    nothing_names_a_machine,
    file_names_say_what_is_inside,
)


def check(path: str, text: str) -> list[Finding]:
    return [finding for rule in RULES for finding in rule(path, text)]
