"""What does a decision cost the processor through weir serve --store, beside the Redis directly?

CPU time of the servers alone, of weir and of its redis-server, for each of REQUESTS grants of a
token bucket on 100 000 keys, asked by redis-benchmark from 50 connections, with the functions and
with the module. One round of each.

  bench/what_does_a_shared_decision_cost.py build/release/weir
"""

import os
import socket
import subprocess
import sys
import time

REQUESTS = 200_000
LIMIT = "1M/1s"
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_s(process):
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def await_port(port):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"nobody listens on {port}")


def ask(port, pipeline, *words):
    subprocess.run(["redis-benchmark", "-p", str(port), "-c", "50", "-P", str(pipeline), "-n",
                    str(REQUESTS), "-r", "100000", *words], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(weir, name, *loading):
    redis_port, port = free_port(), free_port()
    redis = subprocess.Popen(["redis-server", "--port", str(redis_port), "--save", "", *loading],
                             stdout=subprocess.DEVNULL)
    await_port(redis_port)
    serve = subprocess.Popen([weir, "serve", "--resp", f"127.0.0.1:{port}", "--metrics", "off",
                              "--http", "off", "--grpc", "off",
                              "--store", f"redis://127.0.0.1:{redis_port}", "--store-deadline",
                              "5s"], stdout=subprocess.DEVNULL)
    try:
        await_port(port)
        config = say(weir, "lua", "config", LIMIT)
        through = ("WEIR.TAKE", "key:__rand_int__", LIMIT)
        key = "weir:{key:__rand_int__}:" + LIMIT
        asked = ("WEIR_1.TAKE",) if loading else ("FCALL", "weir_1_take")
        direct = (*asked, "1", key, config, "1", "-1")
        ask(port, 16, *through)  # the functions are loaded, and the keys are warm
        for pipeline in (1, 16):
            for what, where, words in ((asked[0], redis_port, direct),
                                       ("weir serve --store", port, through)):
                before, began = (cpu_s(serve), cpu_s(redis)), time.monotonic()
                ask(where, pipeline, *words)
                took = time.monotonic() - began
                ours, theirs = (1e6 * (now - then) / REQUESTS for now, then in
                                zip((cpu_s(serve), cpu_s(redis)), before))
                print(f"{name:12}{what:20} pipeline {pipeline:2} {ours:6.2f} {theirs:14.2f} "
                      f"{ours + theirs:6.2f} {REQUESTS / took:12.0f}")
    finally:
        serve.terminate()
        redis.terminate()
        serve.wait()
        redis.wait()


def say(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main():
    weir = sys.argv[1]
    print("CPU us a request                             weir   redis-server   both   requests/s")
    measure(weir, "functions")
    measure(weir, "module", "--loadmodule", say(weir, "module", "path"))


if __name__ == "__main__":
    main()
