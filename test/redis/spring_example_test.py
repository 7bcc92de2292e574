"""Do a Spring Cloud Gateway and examples/spring share a bucket: spring_example_test.py ORDERS

The gateway is played by what is published of its script: which keys, and what it does to them.
"""

import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest

import redis
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "test" / "server" / "clients"))
from redis_server import Redis  # noqa: E402

ORDERS = sys.argv.pop(1)

# KEYS tokens, timestamp; ARGV rate, capacity, requested tokens.
GATEWAY = """
local rate, capacity, requested = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local second = tonumber(redis.call('TIME')[1])
local kept = tonumber(redis.call('GET', KEYS[1]) or capacity)
local since = tonumber(redis.call('GET', KEYS[2]) or 0)
local tokens = math.min(capacity, kept + math.max(0, second - since) * rate)
local allowed = tokens >= requested
if allowed then tokens = tokens - requested end
local expiry = math.floor(capacity / rate * 2)
redis.call('SETEX', KEYS[1], expiry, tokens)
redis.call('SETEX', KEYS[2], expiry, second)
return {allowed and 1 or 0, tokens}
"""


def settings(properties, path=""):
    """application.yml as Spring names it: each value by its whole path."""
    if isinstance(properties, dict):
        for name, value in properties.items():
            yield from settings(value, f"{path}.{name}".lstrip("."))
    else:
        yield path, properties


class Gateway:
    def __init__(self, port):
        text = (ROOT / "examples" / "spring" / "application.yml").read_text()
        ((self.route,),) = [value for name, value in settings(yaml.safe_load(text))
                            if name == "spring.cloud.gateway.server.webflux.routes"]
        (limiter,) = self.route["filters"]
        words = {name.rpartition(".")[2]: word for name, word in limiter["args"].items()}
        self.rate, self.capacity, self.requested = (
            words[name] for name in ("replenishRate", "burstCapacity", "requestedTokens"))
        self.redis = redis.Redis(port=port)
        self.script = self.redis.register_script(GATEWAY)

    def ask(self, user):
        """Whether it lets in, and how many tokens are left."""
        bucket = f"request_rate_limiter.{{{self.route['id']}.{user}}}"
        allowed, left = self.script([f"{bucket}.tokens", f"{bucket}.timestamp"],
                                    [self.rate, self.capacity, self.requested])
        return bool(allowed), left

    def second(self):
        return self.redis.time()[0]


class Service:
    def __init__(self, port):
        self.process = subprocess.Popen([ORDERS, f"redis://127.0.0.1:{port}"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, user):
        self.process.stdin.write(user + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        told = re.fullmatch(r"(let in|refused), (\d+) left, decided by store\n", line)
        assert told, line
        return told[1] == "let in", int(told[2])

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


class OneBucket(unittest.TestCase):
    def setUp(self):
        store = Redis()
        self.addCleanup(store.end)
        self.gateway = Gateway(store.port)
        self.addCleanup(self.gateway.redis.close)
        self.service = Service(store.port)
        self.addCleanup(self.service.end)

    def test_each_sees_what_the_other_took(self):
        def taken_in_turn(user):
            asked = [side.ask(user) for _ in range(10) for side in (self.service, self.gateway)]
            return asked + [self.gateway.ask(user), self.service.ask(user)]

        for attempt in range(20):  # tokens come with each second: none may begin meanwhile
            began = self.gateway.second()
            told = taken_in_turn(f"user-{attempt}")
            if self.gateway.second() == began:
                break
        self.assertEqual(told, [(True, left) for left in range(19, -1, -1)] + [(False, 0)] * 2)
        keys = {f"request_rate_limiter.{{orders.user-{each}}}.{what}".encode()
                for each in range(attempt + 1) for what in ("tokens", "timestamp")}
        self.assertEqual(set(self.gateway.redis.keys()), keys)

    def test_together_they_let_in_no_more_than_the_bucket_holds(self):
        let_in = {"gateway": 0, "service": 0}

        def ask(name, side):
            until = time.monotonic() + 4
            while time.monotonic() < until:
                let_in[name] += side.ask("alice")[0]

        began = self.gateway.second()
        threads = [threading.Thread(target=ask, args=each)
                   for each in (("gateway", self.gateway), ("service", self.service))]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        seconds = self.gateway.second() - began
        together = sum(let_in.values())
        self.assertLessEqual(together, 20 + 10 * seconds, let_in)
        self.assertGreaterEqual(together, 20 + 10 * (seconds - 2), let_in)
        self.assertGreater(min(let_in.values()), 0, let_in)


if __name__ == "__main__":
    unittest.main(verbosity=2)
