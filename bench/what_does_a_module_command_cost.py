"""What does a command of the module cost a Redis, beside SET, GET and the script of the same limit?

    what_does_a_module_command_cost.py --weir build/release/weir [--rounds 5] [--requests 200000]
                                       [--floor build/release/bench/floor_module.so]
                                       [--redis-cell libredis_cell.so] [--smoke]

A redis-server of its own, with the module, is asked by redis-benchmark at pipeline 32 over 100 000
keys. Cost is the server's own CPU time for each request; the cases take turns, round by round, and
the least over the rounds counts: whatever else runs on the machine only adds. Grants stand beside
SET key value PX, refusals beside GET, each with keys of its own that outlive the run: a burst that
no run empties, or one that is spent before it. redis-cell has a server of its own.
"""

import argparse
import importlib.util
import pathlib
import shutil
import subprocess

SCRIPTS = pathlib.Path(__file__).with_name("what_does_a_script_cost.py")
spec = importlib.util.spec_from_file_location("script_cost", SCRIPTS)
script_cost = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script_cost)

KEYS = 100_000
DIGITS = "1795163520648898123"  # as many as nanoseconds since 1970 have
# A quarter of an hour a unit, or a day, so that nothing expires in between.
GRANTED = ("1000000", "10", "8640")
REFUSED = ("0", "1", "86400")
SET, GET = "SET key value PX", "GET"


def case(name: str, *command: str) -> "script_cost.Case":
    made = script_cost.Case(name, KEYS, *command)
    # Names of one length, for what a key takes; GET reads what SET left.
    prefix = "plain" if name in (SET, GET) else name[5 if "_1" in name else 0].lower() + name[-7:-3]
    made.key = lambda: f"{prefix}:__rand_int__"
    return made


THROTTLES = [case("CL.THROTTLE, granted", "CL.THROTTLE", "KEY", *GRANTED),
             case("CL.THROTTLE, refused", "CL.THROTTLE", "KEY", *REFUSED)]
CASES = [
    case(SET, "SET", "KEY", DIGITS, "PX", "86400000"),
    case(GET, "GET", "KEY"),
    *THROTTLES,
    case("WEIR.TAKE, granted", "WEIR.TAKE", "KEY", "1000/1d burst 100000"),
    case("WEIR.TAKE, refused", "WEIR.TAKE", "KEY", "1/1d"),
    case("WEIR_1.TAKE, granted", "WEIR_1.TAKE", "1", "KEY", "t 86400000000 86400000 0 1 100000",
         "1", "-1"),
    case("WEIR_1.TAKE, refused", "WEIR_1.TAKE", "1", "KEY", "t 86400000000 86400000000 0 1 1", "1",
         "-1"),
    script_cost.fcall("FCALL weir_1_take, granted", "weir_1_take", KEYS,
                      "t 86400000000 86400000 0 1 100000"),
    script_cost.fcall("FCALL weir_1_take, refused", "weir_1_take", KEYS,
                      "t 86400000000 86400000000 0 1 1"),
]
FLOORS = [case("FLOOR.EMPTY, refused", "FLOOR.EMPTY", "KEY", *REFUSED),
          case("FLOOR.READ, refused", "FLOOR.READ", "KEY", *REFUSED),
          case("FLOOR.OPEN, refused", "FLOOR.OPEN", "KEY", *REFUSED)]
for floor in FLOORS:
    floor.key = THROTTLES[1].key  # what CL.THROTTLE refuses


class Redis(script_cost.Redis):
    def __init__(self, *modules: str):
        super().__init__(*(word for module in modules for word in ("--loadmodule", module)))

    def bytes_a_key(self, pattern: str) -> str:
        found = self.cli("SCAN", "0", "MATCH", pattern, "COUNT", str(10 * KEYS)).splitlines()
        if len(found) < 2:
            raise SystemExit(f"no key {pattern} is left: its expiry would be measured")
        return self.cli("MEMORY", "USAGE", found[1]).strip()


def measure(redis: Redis, cases: list, options: argparse.Namespace) -> dict[str, float]:
    costs = {each.name: [] for each in cases}
    for each in cases:  # so that the keys are there, and the refused ones owe
        redis.microseconds(each, 1_000 if options.smoke else 3 * KEYS)
    for _ in range(options.rounds):
        for each in cases:
            costs[each.name].append(redis.microseconds(each, options.requests))
    return {name: min(each) for name, each in costs.items()}


def beside_redis_cell(options: argparse.Namespace) -> dict[str, float]:
    if not options.redis_cell:
        print("redis-cell is left out: no --redis-cell FILE")
        return {}
    redis = Redis(str(options.redis_cell.resolve()))
    try:
        least = measure(redis, THROTTLES, options)
    finally:
        redis.stop()
    return {"redis-cell's " + name: cost for name, cost in least.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--weir", type=pathlib.Path, required=True)
    parser.add_argument("--floor", type=pathlib.Path)
    parser.add_argument("--redis-cell", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.smoke:
        options.rounds, options.requests = 1, 1_000
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        print("redis-server or redis-benchmark is not installed: nothing measured")
        return

    def weir(*words: str) -> str:
        return subprocess.run([options.weir, *words], capture_output=True, text=True,
                              check=True).stdout

    floor = [str(options.floor.resolve())] if options.floor else []
    redis = Redis(weir("module", "path").strip(), *floor)
    try:
        redis.load(weir("lua", "print", "library"))
        least = measure(redis, CASES + (FLOORS if floor else []), options)
        redis.cli("SET", "words:000000000000", "x" * len(DIGITS), "PX", "86400000")
        # Digits that SET is given become a number; a module's do not.
        memory = {"SET of 19 digits, PX": redis.bytes_a_key("plain:*"),
                  "SET of 19 letters, PX": redis.bytes_a_key("words:*"),
                  "CL.THROTTLE": redis.bytes_a_key("cgran:*"),
                  "CL.THROTTLE, refused": redis.bytes_a_key("crefu:*"),
                  "WEIR.TAKE": redis.bytes_a_key("weir:{wgran:*")}
    finally:
        redis.stop()
    if not floor:
        print("the floor is left out: no --floor FILE")
    least |= beside_redis_cell(options)

    print(f"{'':36}{'us a request':>14}{'to SET or GET':>15}")
    for name, cost in least.items():
        beside = least[GET if name == GET or "refused" in name else SET]
        print(f"{name:36}{cost:14.2f}{cost / beside:15.2f}")
    print("\nbytes a key, of MEMORY USAGE")
    for name, size in memory.items():
        print(f"{name:36}{size:>14}")


if __name__ == "__main__":
    main()
