"""What does a decision in Redis cost, beside the least that the same calls can cost?

    what_does_a_script_cost.py --weir build/release/weir [--rounds 5] [--requests 200000] [--smoke]

A redis-server of its own is asked by redis-benchmark at pipeline 32, over 100 000 keys (1 000 for
the log, so that it is full). The floor is a function with the same arguments that makes the same
calls (TIME, GET, and SET where it grants), decides nothing and gives a constant reply of the same
length. Cost is the server's own CPU time for each request; the cases take turns, round by round,
and the least over the rounds counts: whatever else runs on the machine only adds. Ratios are to the
floor and, for other machines, to a granted token bucket.

Beside them the script of go-redis/redis_rate, a GCRA in floating point, for EVALSHA: it is taken
out of its Go module, which `go mod download` brings and verifies. Without go, or a network, a line
says that it is left out.
"""

import argparse
import json
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import zlib

FLOOR = """#!lua name=floor
local call
local function granted(keys)
  call = call or redis.call
  call('TIME')
  call('GET', keys[1])
  call('SET', keys[1], '123456789012345678', 'PX', '1000000')
  return {0, 1795163520648898, 1795163520648898, 100, 99, 1795163520648898, 0, 1795163520648898, 0}
end
local function refused(keys)
  call = call or redis.call
  call('TIME')
  call('GET', keys[1])
  return {0, 1795163520648898, 1795163520648898, 100, 99, 1795163520648898, 0, 1795163520648898, 0}
end
redis.register_function('floor_granted', granted)
redis.register_function('floor_refused', refused)
"""

BUCKET = "t 60000000 10 0 1 100"
EMPTY = "t 60000000 100000000000 0 1 1"
REDIS_RATE = "github.com/go-redis/redis_rate/v10@v10.0.1"


class Case:
    """A command over so many keys; a word that begins with KEY stands for one of them."""

    def __init__(self, name: str, keys: int, *command: str):
        self.name, self.keys, self.command = name, keys, command

    def key(self) -> str:
        # The floor's refusals read what the bucket's left; all else has keys of its own.
        whose = "owing" if EMPTY in self.command else f"{zlib.crc32(self.name.encode()):08x}"[:5]
        return f"weir:{{__rand_int__}}:{whose}"


def fcall(name: str, function: str, keys: int, config: str) -> Case:
    return Case(name, keys, "FCALL", function, "1", "KEY", config, "1", "0")


CASES = [
    fcall("floor, granted", "floor_granted", 100_000, BUCKET),
    fcall("token bucket, granted", "weir_1_take", 100_000, BUCKET),
    fcall("with fractions, granted", "weir_1_take", 100_000, "t 60000000 9 1 3 100"),
    fcall("fixed window, granted", "weir_1_take", 100_000, "f 60000000 1000000 60000000"),
    fcall("sliding log of 100, granted", "weir_1_take", 1_000, "o 60000000 100 100000"),
    fcall("sliding window of 10, granted", "weir_1_take", 100_000,
          "w 60000000 1000000 6000000 11"),
    fcall("leaky bucket, granted", "weir_1_take", 100_000, "l 60000000 10 0 1 100"),
    fcall("100 at once, granted", "weir_1_take", 1_000, "c 60000000 100 100000"),
    fcall("two limits, granted", "weir_1_take", 100_000,
          "m 60000000 2 0 t 10 0 1 100 0 t 9 0 1 1000"),
    Case("INCR window, granted", 100_000, "FCALL", "weir_recipes_1_incr_window", "1", "KEY",
         "1000000", "60000000", "1"),
    Case("ZSET log of 100, granted", 1_000, "FCALL", "weir_recipes_1_zset_log", "1", "KEY",
         "100", "100000", "1", "1000"),
    # Each mention of a key is another number: a bucket's two keys are of two ids.
    Case("Spring's bucket, granted", 100_000, "FCALL", "weir_recipes_1_spring", "2", "KEY",
         "KEY.at", "100", "1000000", "1"),
    fcall("floor, refused", "floor_refused", 100_000, EMPTY),
    fcall("token bucket, refused", "weir_1_take", 100_000, EMPTY),
]


def redis_rate_script() -> str | None:
    """The text of its script; none where it cannot be had here."""
    if not shutil.which("go"):
        print("redis_rate is left out: go is not installed")
        return None
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "go.mod").write_text("module bench\n\ngo 1.21\n")
        got = subprocess.run(["go", "mod", "download", "-json", REDIS_RATE], cwd=folder,
                             capture_output=True, text=True)
    if got.returncode:
        print(f"redis_rate is left out: go mod download {REDIS_RATE} failed")
        return None
    source = pathlib.Path(json.loads(got.stdout)["Dir"], "lua.go").read_text()
    return re.search(r"allowN = redis\.NewScript\(`(.*?)`\)", source, re.DOTALL)[1]


class Redis:
    def __init__(self, *words: str):
        self.folder = tempfile.mkdtemp(prefix="weir-bench-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = str(probe.getsockname()[1])
        self.process = subprocess.Popen(
            ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "",
             "--dir", self.folder, *words], stdout=subprocess.DEVNULL)
        for _ in range(100):
            if self.cli("PING").strip() == "PONG":
                return
            time.sleep(0.1)
        raise SystemExit("redis-server does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)

    def cli(self, *words: str, text: str | None = None) -> str:
        command = ["redis-cli", "-p", self.port, *(["-x"] if text else []), *words]
        return subprocess.run(command, input=text, capture_output=True, text=True).stdout

    def load(self, library: str) -> None:
        said = self.cli("FUNCTION", "LOAD", text=library)
        if "ERR" in said:
            raise SystemExit(said)

    def cpu_seconds(self) -> float:
        lines = dict(line.split(":") for line in self.cli("INFO", "cpu").split() if ":" in line)
        return float(lines["used_cpu_user"]) + float(lines["used_cpu_sys"])

    def microseconds(self, case: Case, requests: int) -> float:
        command = [word.replace("KEY", case.key()) for word in case.command]
        before = self.cpu_seconds()
        subprocess.run(["redis-benchmark", "-p", self.port, "-P", "32", "-c", "8", "-q",
                        "-n", str(requests), "-r", str(case.keys), *command],
                       stdout=subprocess.DEVNULL, check=True)
        return (self.cpu_seconds() - before) / requests * 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--weir", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.smoke:
        options.rounds, options.requests = 1, 1_000
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        print("redis-server or redis-benchmark is not installed: nothing measured")
        return
    redis = Redis()
    try:
        for library in ("library", "recipes"):
            redis.load(subprocess.run([options.weir, "lua", "print", library],
                                      capture_output=True, text=True, check=True).stdout)
        redis.load(FLOOR)
        cases = list(CASES)
        redis_rate = None if options.smoke else redis_rate_script()
        if redis_rate:
            digest = redis.cli("SCRIPT", "LOAD", text=redis_rate).strip()
            for name, rate in (("granted", "100000"), ("refused", "0.00001")):
                cases.append(Case(f"redis_rate, {name}", 100_000, "EVALSHA", digest, "1", "KEY",
                                  "100" if name == "granted" else "1", rate, "1", "1"))
        costs = {case.name: [] for case in cases}
        for case in cases:  # so that the keys are there, and the refused ones owe
            redis.microseconds(case, 1_000 if options.smoke else 2 * case.keys)
        for _ in range(options.rounds):
            for case in cases:
                costs[case.name].append(redis.microseconds(case, options.requests))
    finally:
        redis.stop()
    least = {name: min(each) for name, each in costs.items()}
    print(f"{'':32}{'us a request':>14}{'to the floor':>14}{'to the bucket':>15}")
    for name, cost in least.items():
        floor = least["floor, refused" if "refused" in name else "floor, granted"]
        line = f"{name:32}{cost:14.2f}{cost / floor:14.2f}"
        if "refused" not in name and "floor" not in name:
            line += f"{cost / least['token bucket, granted']:15.2f}"
        print(line)


if __name__ == "__main__":
    main()
