"""redis-py, the client of most Python services."""

import unittest

import redis

from weir_process import Weir


class PythonRedis(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.weir = Weir("--limit", "login=2/1m")
        cls.client = redis.Redis(port=cls.weir.port)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        assert cls.weir.stop() == 0

    def test_uses_cl_throttle(self):
        self.assertEqual(self.client.execute_command("CL.THROTTLE", "alice", 15, 30, 60),
                         [0, 16, 15, -1, 2])

    def test_uses_the_weir_commands(self):
        def take(*arguments):
            reply = self.client.execute_command("WEIR.TAKE", "bob", *arguments)
            return dict(zip(reply[::2], reply[1::2]))
        self.assertEqual(take("@login")[b"verdict"], b"granted")
        self.assertEqual(take("@login")[b"remaining"], 0)
        denied = take("@login")
        self.assertEqual(denied[b"verdict"], b"denied")
        self.assertGreater(denied[b"retry_after_us"], 20_000_000)
        deferred = take("@login", "PATIENCE", 60_000)
        self.assertEqual(deferred[b"verdict"], b"deferred")
        self.assertEqual(self.client.execute_command(
            "WEIR.CANCEL", "bob", "@login", deferred[b"grant"]), 1)

    def test_works_in_a_pipeline(self):
        pipe = self.client.pipeline(transaction=False)
        for _ in range(10):
            pipe.execute_command("WEIR.TAKE", "carol", "sliding-log 5/1m")
        verdicts = [reply[1] for reply in pipe.execute()]
        self.assertEqual(verdicts, [b"granted"] * 5 + [b"denied"] * 5)

    def test_errors_are_response_errors(self):
        with self.assertRaisesRegex(redis.ResponseError, "column 3: expected a period"):
            self.client.execute_command("WEIR.TAKE", "a", "5/x")
        with self.assertRaisesRegex(redis.ResponseError, "unknown command 'GET'"):
            self.client.get("key")

    def test_ping_info_and_name(self):
        self.assertTrue(self.client.ping())
        self.assertEqual(self.client.info()["loading"], 0)
        self.assertTrue(redis.Redis(port=self.weir.port, client_name="worker").ping())


if __name__ == "__main__":
    unittest.main(verbosity=2)
