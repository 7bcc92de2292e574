"""Does what a README says, and compares what happens with what it shows.

    readme_test.py README.md --weir build/release/weir --include include [--archive libweir_x.a]...

What a README's fenced blocks follow:

```console  Lines that start with "$ " are commands, run by bash in a temporary folder, in the order
            of the page, with `weir` in the PATH and a terminal for output (so redis-cli numbers its
            replies). "> " continues the command above. The lines up to the next "$ " are what it
            prints: … stands for any text in a line, and alone for any number of lines. A command
            that shows no output may print anything. A command must succeed, unless it ends in
            "# exits N".
```sh       A script without shown output; every line must succeed.
```cpp      Compiled. With a main() it is linked with weir and run, and must succeed; without one it
            is the inside of a function, its #includes put before.
other marks Not looked at.

`weir serve ARGS` and `./do run ARGS` start a server that lives until the next such command or the
end of the page; shown output is what it prints first. Where a command names a port below and no
server was started, a plain `weir serve` is. Ports are replaced by free ones in commands, and back
in output; `weir take` and its like ask the server started here. What `./do` does else, and a block
right below a line `<!-- not run: why -->`, is left out, and the test says so.
"""

import argparse
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from typing import NamedTuple

# The options that listen, with the ports that a page shows.
PORTS = {"--resp": "7379", "--http": "7380", "--grpc": "7381", "--metrics": "7390"}
COMMAND_SECONDS = 60
START_SECONDS = 10
SERVE = re.compile(r"^(?:\./do run|weir serve)\b")
ASK = re.compile(r"\bweir (?:take|peek|cancel|refund|reset|top)\b")
WEIR = """#!/bin/sh
case "$1 $*" in
  *--server*) ;;
  take\\ *|peek\\ *|cancel\\ *|refund\\ *|reset\\ *|top\\ *)
    set -- "$@" --server 127.0.0.1:{port} ;;
esac
exec {weir} "$@"
"""


class Mismatch(Exception):
    pass


class Block(NamedTuple):
    language: str
    line: int          # of its first line of content
    lines: list[str]
    not_run: str       # why, or nothing


class Step(NamedTuple):
    line: int
    command: str
    expected: list[str]


def blocks(text: str) -> list[Block]:
    found, current, not_run = [], None, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if current is not None:
            if line.strip() == "```":
                found.append(current)
                current = None
            else:
                current.lines.append(line)
        elif match := re.match(r"```(\S*)", line):
            current = Block(match.group(1), number + 1, [], not_run)
            not_run = ""
        elif match := re.match(r"<!-- not run: (.+?) -->", line):
            not_run = match.group(1)
        elif line.strip():
            not_run = ""
    if current is not None:
        raise Mismatch(f"line {current.line - 1}: the block does not end")
    return found


def steps(block: Block) -> list[Step]:
    found = []
    for number, line in enumerate(block.lines, start=block.line):
        if line.startswith("$ "):
            found.append(Step(number, line[2:], []))
        elif not found:
            raise Mismatch(f'line {number}: a console block starts with a command, "$ ..."')
        elif line.startswith("> ") and not found[-1].expected:
            found[-1] = found[-1]._replace(command=found[-1].command + "\n" + line[2:])
        else:
            found[-1].expected.append(line)
    return found


def pattern(expected: list[str]) -> str:
    """A regular expression for the output that these lines show."""
    parts = []
    for line in expected:
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*?".join(map(re.escape, line.rstrip().split("…"))) + r"[ \t]*\n")
    return "".join(parts) + r"\s*"


class Terminal:
    """A command with a terminal for its output, which is kept."""

    def __init__(self, command: str, folder: str, environment: dict[str, str]):
        self._screen, other_end = pty.openpty()
        fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment,
                                        stdin=subprocess.DEVNULL, stdout=other_end,
                                        stderr=other_end, start_new_session=True)
        os.close(other_end)
        self._bytes = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with contextlib.suppress(OSError):  # how a terminal says that nobody writes any more
            while chunk := os.read(self._screen, 65536):
                self._bytes += chunk
        os.close(self._screen)

    def output(self) -> str:
        return self._bytes.decode(errors="replace").replace("\r\n", "\n")

    def wait(self, seconds: float) -> int:
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise Mismatch(f"still running after {seconds} s; it printed:\n"
                           f"{self.output()}") from None
        self._reader.join(1)
        return status

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait(START_SECONDS)


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Page:
    def __init__(self, arguments: argparse.Namespace, folder: str):
        self.arguments = arguments
        self.folder = folder
        self.ports = {shown: free_port() for shown in PORTS.values()}
        self.server = None
        self.run = []
        programs = pathlib.Path(folder) / ".programs"
        programs.mkdir()
        weir = programs / "weir"
        weir.write_text(WEIR.format(port=self.ports[PORTS["--resp"]],
                                    weir=shlex.quote(str(pathlib.Path(arguments.weir).resolve()))))
        weir.chmod(0o755)
        self.environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}",
                                LC_ALL="C.UTF-8", NO_COLOR="1", TERM="dumb", HOME=folder)

    def here(self, text: str) -> str:
        for shown, free in self.ports.items():
            text = re.sub(rf"\b{shown}\b", free, text)
        return text

    def as_shown(self, text: str) -> str:
        for shown, free in self.ports.items():
            text = re.sub(rf"\b{free}\b", shown, text)
        return text

    def do(self, block: Block) -> None:
        if block.language == "console":
            for step in steps(block):
                self.do_step(step)
        elif block.language == "sh":
            script = ["set -e"]
            for number, line in enumerate(block.lines, start=block.line):
                if line.startswith(("./do ", "weir serve")):
                    self.do_step(Step(number, line, []))
                else:
                    script.append(line)
            self.do_step(Step(block.line, "\n".join(script), []))
        elif block.language == "cpp":
            self.compile(block)

    def do_step(self, step: Step) -> None:
        if SERVE.match(step.command):
            self.serve(step)
            return
        if step.command.startswith("./do "):
            print(f"line {step.line}: not run: {step.command}")
            return
        if self.server is None and (ASK.search(step.command) or
                                    any(port in step.command for port in self.ports)):
            self.serve(Step(step.line, "weir serve", []))
        wanted = re.search(r"#\s*exits (\d+)\s*$", step.command)
        terminal = Terminal(self.here(step.command), self.folder, self.environment)
        self.run.append(terminal)
        try:
            status = terminal.wait(COMMAND_SECONDS)
        except Mismatch as mismatch:
            raise Mismatch(f"line {step.line}: $ {step.command}\n{mismatch}") from None
        output = self.as_shown(terminal.output())
        if status != (int(wanted.group(1)) if wanted else 0):
            raise Mismatch(f"line {step.line}: $ {step.command}\nexits {status}; it printed:\n"
                           f"{output}")
        if step.expected and not re.fullmatch(pattern(step.expected), output.rstrip() + "\n"):
            raise Mismatch(self.difference(step, output))

    def serve(self, step: Step) -> None:
        self.stop_server()
        command = SERVE.sub("weir serve", step.command)
        for option, port in PORTS.items():
            if option not in command:
                command += f" {option} 127.0.0.1:{port}"
        listening = [free for shown, free in self.ports.items() if shown in command]
        self.server = Terminal("exec " + self.here(command), self.folder, self.environment)
        deadline = time.monotonic() + START_SECONDS
        for port in listening:
            self.wait_for_port(int(port), deadline, step)
        while step.expected:
            output = self.as_shown(self.server.output())
            if re.match(pattern(step.expected), output):
                return
            if time.monotonic() > deadline:
                raise Mismatch(self.difference(step, output))
            time.sleep(0.02)

    def wait_for_port(self, port: int, deadline: float, step: Step) -> None:
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            if self.server.process.poll() is not None or time.monotonic() > deadline:
                raise Mismatch(f"line {step.line}: $ {step.command}\nno server listens; it "
                               f"printed:\n{self.server.output()}")
            time.sleep(0.02)

    def end_what_was_left(self) -> None:
        """What commands started and did not wait for."""
        sessions = {terminal.process.pid for terminal in self.run}
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                session = stat.read_text().rpartition(")")[2].split()[3]
                if int(session) in sessions:
                    os.kill(int(stat.parent.name), signal.SIGTERM)

    def stop_server(self) -> None:
        server, self.server = self.server, None
        if server is not None and (status := server.stop()) != 0:
            raise Mismatch(f"weir serve exits {status} at SIGTERM; it printed:\n{server.output()}")

    def compile(self, block: Block) -> None:
        text = "\n".join(block.lines)
        whole = re.search(r"\bint main\(", text)
        if not whole:
            heads = [line for line in block.lines if line.startswith("#include")]
            rest = [line for line in block.lines if not line.startswith("#include")]
            text = "\n".join([*heads, "[[maybe_unused]] static void readme() {", *rest, "}"])
        source = pathlib.Path(self.folder) / f"line_{block.line}.cpp"
        source.write_text(text + "\n")
        program = source.with_suffix("")
        command = [self.arguments.compiler, "-std=c++20", f"-I{self.arguments.include}",
                   str(source)]
        command += ["-o", str(program), *self.arguments.archive] if whole else ["-fsyntax-only"]
        script = shlex.join(command) + (f" && {shlex.quote(str(program))}" if whole else "")
        result = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment,
                                capture_output=True, text=True, timeout=COMMAND_SECONDS)
        if result.returncode != 0:
            raise Mismatch(f"line {block.line}: this C++ exits {result.returncode}\n"
                           f"{result.stdout}{result.stderr}")

    @staticmethod
    def difference(step: Step, output: str) -> str:
        shown = "\n".join(step.expected)
        return (f"line {step.line}: $ {step.command}\n--- the page shows\n{shown}\n"
                f"--- it printed\n{output.rstrip()}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--weir", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--archive", action="append", default=[])
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.page).exists():
        print(f"there is no {arguments.page} yet; nothing to run")
        return 0

    done = 0
    with tempfile.TemporaryDirectory() as folder:
        page = Page(arguments, folder)
        try:
            for block in blocks(pathlib.Path(arguments.page).read_text()):
                if block.not_run:
                    print(f"line {block.line}: not run: {block.not_run}")
                elif block.language in ("console", "sh", "cpp"):
                    page.do(block)
                    done += 1
            page.stop_server()
        except Mismatch as mismatch:
            print(f"{arguments.page}: {mismatch}")
            return 1
        finally:
            page.end_what_was_left()
            with contextlib.suppress(Mismatch):
                page.stop_server()
    print(f"{done} blocks did what the page says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
