"""WEIR.ENTER, WEIR.LEAVE and WEIR.RENEW, asked by redis-py: who is inside, and who crashed."""

import os
import tempfile
import threading
import time
import unittest

import redis

from weir_process import Weir


class Holder:
    """One client, and the permit it holds."""

    def __init__(self, port, limit, key="job"):
        self.client = redis.Redis(port=port)
        self.key, self.limit, self.permit = key, limit, None

    def enter(self, *arguments):
        reply = self.client.execute_command("WEIR.ENTER", self.key, self.limit, *arguments)
        fields = dict(zip(reply[::2], reply[1::2]))
        if fields[b"verdict"] == b"granted":
            self.permit = fields[b"permit"]
        return fields

    def leave(self):
        return self.client.execute_command("WEIR.LEAVE", self.key, self.limit, self.permit)

    def renew(self):
        return self.client.execute_command("WEIR.RENEW", self.key, self.limit, self.permit)


class Permits(unittest.TestCase):
    def server(self, *arguments):
        server = Weir(*arguments)
        self.addCleanup(server.stop)
        return server

    def holders(self, server, count, limit="concurrency 2/30s"):
        made = [Holder(server.port, limit) for _ in range(count)]
        for holder in made:
            self.addCleanup(holder.client.close)
        return made

    def test_two_are_inside_and_the_third_when_one_has_left(self):
        one, two, three = self.holders(self.server(), 3)
        self.assertEqual(one.enter()[b"remaining"], 1)
        self.assertEqual(two.enter()[b"lease_us"], 30_000_000)
        denied = three.enter()
        self.assertEqual(denied[b"verdict"], b"denied")
        self.assertIsNone(denied[b"permit"])
        self.assertTrue(25_000_000 < denied[b"retry_after_us"] <= 30_000_000)
        self.assertEqual(one.leave(), 1)
        self.assertEqual(one.leave(), 0)
        self.assertEqual(three.enter()[b"verdict"], b"granted")

    def test_a_crashed_holder_frees_itself_and_one_that_renews_stays(self):
        server = self.server("--limit", "jobs=concurrency 2/700ms")
        crashed, renewing, waiting = self.holders(server, 3, "@jobs")
        self.assertEqual(crashed.enter()[b"verdict"], b"granted")
        self.assertEqual(renewing.enter()[b"verdict"], b"granted")
        crashed.client.close()
        began = time.monotonic()
        while waiting.enter()[b"verdict"] != b"granted":
            self.assertEqual(renewing.renew(), 700_000)
            self.assertLess(time.monotonic() - began, 10)
            time.sleep(0.1)
        self.assertGreater(time.monotonic() - began, 0.6)
        self.assertEqual(crashed.leave(), 0)
        self.assertEqual(renewing.leave(), 1)
        self.assertEqual(server.metric('weir_permits_total{result="left_late"}'), 1)

    def test_of_64_connections_never_more_are_inside_than_the_limit(self):
        server = self.server("--threads", "2")
        limit, until = 5, time.monotonic() + 3
        lock, inside, most, entered, wrong = threading.Lock(), 0, 0, 0, []

        def work(holder):
            nonlocal inside, most, entered
            while time.monotonic() < until:
                if holder.enter()[b"verdict"] != b"granted":
                    time.sleep(0.001)
                    continue
                with lock:
                    inside, entered = inside + 1, entered + 1
                    most = max(most, inside)
                with lock:
                    inside -= 1
                if holder.leave() != 1:
                    wrong.append(holder.permit)

        threads = [threading.Thread(target=work, args=(holder,))
                   for holder in self.holders(server, 64, f"concurrency {limit}/30s")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertLessEqual(most, limit)
        self.assertGreater(entered, 100)
        self.assertEqual(self.holders(server, 1, f"concurrency {limit}/30s")[0]
                         .enter()[b"remaining"], limit - 1)

    def test_permits_outlive_the_server_also_under_other_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            snapshot = ("--snapshot", os.path.join(folder, "states"))
            first = self.server("--limit", "jobs=concurrency 3/30s", *snapshot)
            one, two = self.holders(first, 2, "@jobs")
            one.enter()
            two.enter("WEIGHT", 2)
            first.stop()
            second = self.server("--limit", "jobs=concurrency 2/20s", *snapshot)
            three, = self.holders(second, 1, "@jobs")
            self.assertEqual(three.enter()[b"verdict"], b"denied")
            three.permit = two.permit
            self.assertEqual(three.leave(), 2)
            self.assertEqual(three.enter()[b"lease_us"], 20_000_000)
            self.assertEqual(three.enter()[b"verdict"], b"denied")
            three.permit = one.permit
            self.assertGreater(three.renew(), 20_000_000)  # never cut short
            self.assertEqual(three.leave(), 1)

    def test_run_in_a_transaction_of_redis_py(self):
        holder, = self.holders(self.server(), 1)
        pipe = holder.client.pipeline(transaction=True)
        for _ in range(3):
            pipe.execute_command("WEIR.ENTER", "job", holder.limit)
        self.assertEqual([reply[1] for reply in pipe.execute()],
                         [b"granted", b"granted", b"denied"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
