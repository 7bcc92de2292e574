"""redis-py, waiting and asyncio: clients.py PORT RECORDED_PORT (see package_clients_test.py)."""

import asyncio
import sys
import time

import redis
import redis.asyncio

port, recorded_port = map(int, sys.argv[1:])
loop = asyncio.new_event_loop()
NAMED = {"client_name": "worker", "db": 0, "decode_responses": True}


class Waiting:
    def __init__(self, at, **options):
        self.client = redis.Redis(port=at, **NAMED, **options)

    def call(self, *words):
        return self.client.execute_command(*words)

    def pipeline(self, commands, transaction=False):
        pipe = self.client.pipeline(transaction)
        for words in commands:
            pipe.execute_command(*words)
        return pipe.execute()

    def close(self):
        self.client.close()


class Asyncio:
    def __init__(self, at, **options):
        pool = redis.asyncio.BlockingConnectionPool(host="127.0.0.1", port=at, max_connections=4,
                                                    **NAMED, **options)
        self.client = redis.asyncio.Redis(connection_pool=pool)

    def call(self, *words):
        return loop.run_until_complete(self.client.execute_command(*words))

    def pipeline(self, commands, transaction=False):
        pipe = self.client.pipeline(transaction)
        for words in commands:
            pipe.execute_command(*words)
        return loop.run_until_complete(pipe.execute())

    def close(self):
        loop.run_until_complete(self.client.connection_pool.disconnect())


def clients():
    """By name, each opened as an application does: a name, database 0, nothing else."""
    if redis.VERSION[0] == 4:  # Debian's, which speaks RESP2 alone
        return {"redis-py 4, RESP2": Waiting, "redis-py 4 with asyncio, RESP2": Asyncio}
    return {f"redis-py 8{how}, RESP{protocol}":
                lambda at, kind=kind, protocol=protocol: kind(at, protocol=protocol)
            for protocol in (2, 3) for how, kind in (("", Waiting), (" with asyncio", Asyncio))}


def fields(protocol, reply):
    """An answer by name: a map in RESP3, names and values in turn in RESP2."""
    assert isinstance(reply, dict if protocol == "RESP3" else list), reply
    return reply if protocol == "RESP3" else dict(zip(reply[::2], reply[1::2]))


def limits(client, key, protocol):
    def ask(*words):
        return fields(protocol, client.call(*words))
    assert client.call("CL.THROTTLE", key, 15, 30, 60) == [0, 16, 15, -1, 2]
    granted = ask("WEIR.TAKE", key, "2/1m", "COST", 2)
    assert (granted["verdict"], granted["remaining"]) == ("granted", 0), granted
    denied = ask("WEIR.PEEK", key, "2/1m")
    assert denied["verdict"] == "denied" and denied["grant"] is None, denied
    assert denied["retry_after_us"] > 20_000_000, denied
    assert ask("WEIR.TAKE", key, "2/1m", "COST", 3)["verdict"] == "impossible"
    deferred = ask("WEIR.TAKE", key, "2/1m", "PATIENCE", 60_000)
    assert deferred["verdict"] == "deferred", deferred
    assert client.call("WEIR.CANCEL", key, "2/1m", deferred["grant"]) == 1
    assert client.call("WEIR.REFUND", key, "2/1m", 1, "ID", "order-17") == 1
    assert client.call("WEIR.RESET", key, "2/1m") == 1
    both = ask("WEIR.TAKEALL", 2, key, "acme", "1/1m", "100/1s")
    assert both["key"] == key and len(both["grant"]) == 2, both


def thousand_at_once(client, key, protocol):
    replies = client.pipeline([("WEIR.TAKE", key, "500/1h")] * 1000)
    verdicts = [fields(protocol, reply)["verdict"] for reply in replies]
    assert verdicts == ["granted"] * 500 + ["denied"] * 500


def in_a_transaction(client, key, protocol):
    """What redis-py makes of pipeline() unless told otherwise."""
    replies = client.pipeline([("WEIR.TAKE", key, "2/1h")] * 3, transaction=True)
    verdicts = [fields(protocol, reply)["verdict"] for reply in replies]
    assert verdicts == ["granted", "granted", "denied"], verdicts


def errors(client):
    for words, part in ((("GET", "key"), "unknown command 'GET'; this server limits rates with"),
                        (("WEIR.TAKE", "key", "5/1x"), "column 3: expected a period"),
                        (("SELECT", 1), "one database")):
        try:
            client.call(*words)
        except redis.ResponseError as error:
            assert part in str(error), error
        else:
            raise AssertionError(f"{words} was no error")
    assert client.call("PING")


def restart(client):
    """The driver starts the server anew; calls may fail meanwhile, but soon they are answered."""
    print("restart", flush=True)
    sys.stdin.readline()
    deadline = time.monotonic() + 10
    while True:
        try:
            return client.call("WEIR.TAKE", "after", "1/1us")
        except redis.ConnectionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


for name, connect in clients().items():
    recorded = connect(recorded_port)
    recorded.call("WEIR.TAKE", "connect", "1/1m")
    recorded.close()
    print("sent", name, flush=True)
    used = connect(port)
    dialect = name[-5:]
    limits(used, name, dialect)
    thousand_at_once(used, name, dialect)
    in_a_transaction(used, name, dialect)
    errors(used)
    restart(used)
    used.close()
    print("passed", name, flush=True)
loop.close()
