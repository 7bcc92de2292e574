"""How do our functions fare beside the script that most limiters in a Redis began as?

    how_does_the_founding_script_fare.py --weir build/release/weir [--requests 1000000] [--smoke]

That script keeps a token bucket in two keys: it reads both (GET), and writes both (SETEX) whether
it grants or not. redis-benchmark asks it with 50 clients and no pipeline, and then the same of our
functions (FCALL), of the token bucket as a script (EVALSHA), and of ZADD, which is what a sliding
log costs before it decides. Rates and latencies are those that redis-benchmark tells: with 50
clients that wait, the round trip weighs more than the script, and p99.99 is mostly the machine's.
Its table has some percentiles; shown is the latency at the first that is 99.99 or more.
"""

import argparse
import pathlib
import re
import shutil
import subprocess

from what_does_a_script_cost import Redis

FOUNDING = """
local rate, capacity, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(redis.call('TIME')[1])
local tokens = tonumber(redis.call('GET', KEYS[1]) or capacity)
local since = tonumber(redis.call('GET', KEYS[2]) or 0)
tokens = math.min(capacity, tokens + math.max(0, now - since) * rate)
local granted = tokens >= cost
if granted then tokens = tokens - cost end
local expiry = math.floor(capacity / rate * 2)
redis.call('SETEX', KEYS[1], expiry, tokens)
redis.call('SETEX', KEYS[2], expiry, now)
return {granted and 1 or 0, tokens}
"""

BUCKET = ("t 60000000 10 0 1 100", "1", "0")


def commands(bucket_script: str, founding_script: str) -> dict[str, list[str]]:
    """What is asked, by name. Each mention of __rand_int__ is another of 100 000 numbers."""
    key, pair = "k:__rand_int__", ["2", "f:__rand_int__", "s:__rand_int__"]
    return {
        "founding script, EVALSHA": ["EVALSHA", founding_script, *pair, "100", "1000", "1"],
        "token bucket, FCALL": ["FCALL", "weir_1_take", "1", key, *BUCKET],
        "token bucket, EVALSHA": ["EVALSHA", bucket_script, "1", key, *BUCKET],
        "Spring's bucket, FCALL": ["FCALL", "weir_recipes_1_spring", *pair, "100", "1000", "1"],
        "INCR window, FCALL": ["FCALL", "weir_recipes_1_incr_window", "1", f"i{key}", "1000000",
                               "60000000", "1"],
        "ZSET log of 100, FCALL": ["FCALL", "weir_recipes_1_zset_log", "1", f"z{key}", "100",
                                   "1000000", "1", "1000"],
        "ZADD": ["ZADD", "log", "__rand_int__", "member:__rand_int__"],
    }


def latency_at(text: str, percentile: float) -> float:
    """Milliseconds, by the first row of the table that is at `percentile` or above it."""
    for row in re.finditer(r"^([\d.]+)% <= ([\d.]+) milliseconds \(cumulative", text, re.MULTILINE):
        if float(row.group(1)) >= percentile:
            return float(row.group(2))
    raise SystemExit("redis-benchmark told no latencies:\n" + text[-2000:])


def measure(redis: Redis, command: list[str], requests: int) -> tuple[float, list[float]]:
    """Requests a second, and the latencies at 50, 99.9 and 99.99 per cent."""
    text = subprocess.run(
        ["redis-benchmark", "-p", redis.port, "-c", "50", "-n", str(requests), "-r", "100000",
         "--precision", "3", *command], capture_output=True, text=True, check=True).stdout
    text = text.replace("\r", "\n")
    rate = re.search(r"throughput summary: ([\d.]+) requests per second", text)
    if rate is None:
        raise SystemExit("redis-benchmark told no rate:\n" + text[-2000:])
    return float(rate.group(1)), [latency_at(text, at) for at in (50, 99.9, 99.99)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--weir", type=pathlib.Path, required=True)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.smoke:
        options.requests = 2_000
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        print("redis-server or redis-benchmark is not installed: nothing measured")
        return
    redis = Redis()
    try:
        printed = {words: subprocess.run([options.weir, "lua", "print", *words.split()],
                                         capture_output=True, text=True, check=True).stdout
                   for words in ("library", "recipes", "token-bucket take")}
        redis.load(printed["library"])
        redis.load(printed["recipes"])
        digests = [redis.cli("SCRIPT", "LOAD", text=text).strip()
                   for text in (printed["token-bucket take"], FOUNDING)]
        print(f"{'':26}{'requests/s':>12}{'p50 ms':>10}{'p99.9 ms':>10}{'p99.99 ms':>11}")
        for name, command in commands(*digests).items():
            measure(redis, command, max(1_000, options.requests // 5))  # so that the keys are there
            before = redis.cpu_seconds()
            rate, latencies = measure(redis, command, options.requests)
            cost = (redis.cpu_seconds() - before) / options.requests * 1e6
            print(f"{name:26}{rate:12.0f}{latencies[0]:10.3f}{latencies[1]:10.3f}"
                  f"{latencies[2]:11.3f}   {cost:.1f} us of CPU", flush=True)
    finally:
        redis.stop()


if __name__ == "__main__":
    main()
