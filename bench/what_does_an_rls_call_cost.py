"""What does a call of Envoy's rate limit service cost, beside the least that HTTP/2 lets one do?

    what_does_an_rls_call_cost.py --server build/release/test/server/grpc/rls_server
                                  --weir build/release/weir
                                  [--rounds 7] [--calls 200000] [--smoke]

The floor is bare nghttp2, which answers whatever ends with the same bytes. "dialogue" is weir's
reading and writing alone, on the floor's sockets and loop: who decides always grants. "rules" and
"envoy" are `weir serve --threads 1` with one rule that the call meets, of weir's own file and of
one of envoyproxy/ratelimit. h2load asks over 10 connections with 1 and with 16
calls at once; the request has one descriptor of two entries. Cost is the server's own CPU time for
each call; the cases take turns, round by round. Both the median and the least are shown; ratios
are taken within a round, and their median counts.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import served


KINDS = ("floor", "dialogue", "rules", "envoy")
RULES = {
    "rules": """domain: edge
rules:
  - {name: r, key: "{descriptor.remote_address} {descriptor.path}", limit: 1M/1s}
""",
    "envoy": """domain: edge
descriptors:
  - key: remote_address
    descriptors:
      - key: path
        rate_limit: {unit: second, requests_per_unit: 100000000}
"""}


class Server:
    def __init__(self, options: argparse.Namespace, kind: str):
        command = [options.server, "weir" if kind == "dialogue" else kind]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as rules:
            if kind in RULES:
                rules.write(RULES[kind])
                rules.flush()
                command = [options.weir, "serve", "--threads", "1", "--rules", rules.name,
                           "--grpc", "127.0.0.1:0", "--resp", "127.0.0.1:0", "--http", "off",
                           "--metrics", "off"]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True)
            while not (line := self.process.stdout.readline()).startswith("grpc "):
                if not line and self.process.poll() is not None:
                    raise SystemExit(f"{command[0]} does not serve")
            self.port = int(line.rsplit(":", 1)[1])

    def stop(self):
        self.process.terminate()
        self.process.wait(10)

    def microseconds(self, body: str, streams: int, calls: int) -> float:
        before = served.processor_seconds(self.process.pid)
        served.h2load(served.rls_url(self.port), calls,
                      ["-c", "10", "-m", str(streams), "-d", body, *served.RLS_FIELDS])
        return (served.processor_seconds(self.process.pid) - before) / calls * 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", type=pathlib.Path, required=True)
    parser.add_argument("--weir", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=200_000)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.smoke:
        options.rounds, options.calls = 1, 1_000
    if not shutil.which("h2load"):
        print("h2load is not installed (nghttp2-client): nothing measured")
        return
    costs = {(kind, streams): [] for streams in (1, 16) for kind in KINDS}
    with tempfile.NamedTemporaryFile() as body:
        body.write(served.rls_body(remote_address="203.0.113.77", path="/v1/orders"))
        body.flush()
        for _ in range(options.rounds):
            for (kind, streams), each in costs.items():
                server = Server(options, kind)
                try:
                    server.microseconds(body.name, streams, max(options.calls // 20, 100))
                    each.append(server.microseconds(body.name, streams, options.calls))
                finally:
                    server.stop()
    print(f"{served.machine()}; {options.rounds} rounds of {options.calls} calls over 10 "
          "connections")
    print(f"{'at once':>8}  {'server':8}{'CPU us/call':>12}{'least':>8}{'to the floor':>14}")
    for (kind, streams), each in costs.items():
        print(f"{streams:>8}  {kind:8}{statistics.median(each):12.2f}{min(each):8.2f}"
              f"{served.median_ratio(each, costs['floor', streams]):14.2f}")


if __name__ == "__main__":
    main()
