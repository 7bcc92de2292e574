"""Rules that are read again while calls are decided: no decision mixes two generations, none is
lost, and no reload is an amnesty.

    reload_test.py [SECONDS]
"""

import http.client
import pathlib
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from weir_process import Weir  # noqa: E402

LIMITS = (1000, 2000)  # what one year allows, by turns


def rules(limit: int) -> str:
    # The second rule tells its generation, too: both are of one, or a decision mixes them.
    return (f"rules:\n- {{name: most-{limit}, limit: 1000000/s}}\n"
            f"- {{name: r, limit: fixed-window {limit}/365d}}\n")


class Caller(threading.Thread):
    """Asks until told to stop; notes what each answer said."""

    def __init__(self, port: int, stop: threading.Event):
        super().__init__()
        self.port, self.stop = port, stop
        self.asked = self.answered = self.allowed = 0
        self.seen: set[tuple[int, str]] = set()
        self.failure = ""

    def run(self) -> None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            while not self.stop.is_set():
                self.asked += 1
                connection.request("GET", "/v1/forward")
                answer = connection.getresponse()
                answer.read()
                self.answered += 1
                if answer.status not in (200, 429):
                    raise RuntimeError(f"status {answer.status}")
                self.allowed += answer.status == 200
                self.seen.add((int(answer.headers["Weir-Generation"]),
                               answer.headers["RateLimit-Policy"]))
                if self.asked % 5000 == 0:  # a connection has so many requests
                    connection.close()
        except Exception as error:  # noqa: BLE001: told by the main thread
            self.failure = repr(error)


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "rules.yaml")
        file.write_text(rules(LIMITS[0]))
        with Weir("--rules", str(file), "--threads", "2") as weir:
            stop = threading.Event()
            callers = [Caller(weir.ports["http"], stop) for _ in range(8)]
            for caller in callers:
                caller.start()
            reloads = 0
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                reloads += 1
                written = pathlib.Path(folder, "next")
                broken = reloads % 5 == 0
                written.write_text("rules: [{" if broken else rules(LIMITS[reloads % 2]))
                written.rename(file)
                weir.process.send_signal(signal.SIGHUP)
                time.sleep(0.05)
            stop.set()
            for caller in callers:
                caller.join()
    failures = [caller.failure for caller in callers if caller.failure]
    assert not failures, failures
    assert all(caller.asked == caller.answered for caller in callers), "an answer was lost"
    allowed = sum(caller.allowed for caller in callers)
    policies: dict[int, set[str]] = {}
    for caller in callers:
        for generation, policy in caller.seen:
            policies.setdefault(generation, set()).add(policy)
    mixed = {generation: found for generation, found in policies.items() if len(found) > 1}
    assert not mixed, f"a generation with two limits: {mixed}"
    assert len(policies) > reloads // 4, f"{len(policies)} generations of {reloads} reloads"
    assert LIMITS[0] <= allowed <= LIMITS[1], f"{allowed} of at most {LIMITS[1]}"
    print(f"{sum(c.answered for c in callers)} answers over {len(policies)} generations of "
          f"{reloads} reloads: none lost, none mixed; {allowed} allowed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
