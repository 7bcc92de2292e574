"""What do GET /v1/check and /v1/forward cost the server's processor, beside nginx?

    what_does_an_http_request_cost.py --weir build/release/weir
                                      [--rounds 7] [--requests 200000] [--smoke]

nginx as the floor answers every request with the same text; nginx as a peer runs limit_req, which
decides by a key as weir does, before it sends its empty GIF. /v1/forward is asked what nginx'
auth_request sends by examples/proxies/nginx, under one rule per ip; its peer is nginx with the same
request, which finds the client in X-Forwarded-For and limits it by limit_req. Each has one process
and one thread that serves; one key, which is always granted. h2load asks over 50 connections with 1
and with 16 requests of HTTP/1.1 in flight on each. Cost is the CPU time of all threads of the
server for each request; the servers take turns, round by round, each started afresh. Both the
median and the least are shown; ratios are taken within a round, and their median counts.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

NGINX = """daemon off; master_process off; pid {folder}/pid; error_log {folder}/log;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 100000000; client_body_temp_path {folder}/a;
  proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d;
  scgi_temp_path {folder}/e;
  limit_req_zone $arg_key zone=keys:10m rate=1000000r/s;
  limit_req_zone $binary_remote_addr zone=addresses:10m rate=1000000r/s;
  server {{
    listen 127.0.0.1:{port};
    location /floor {{ default_type text/plain; return 200 "granted: 999999 of 1000000 left\\n"; }}
    location /limit {{ limit_req zone=keys burst=1000000 nodelay; empty_gif; }}
    location /v1/forward {{
      set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;
      limit_req zone=addresses burst=1000000 nodelay; empty_gif;
    }}
  }}
}}
"""
PATHS = {"nginx return": "/floor?key=alice", "nginx limit_req": "/limit?key=alice",
         "weir /livez": "/livez", "weir /v1/check": "/v1/check?key=alice&limit=1M/1s",
         "nginx forwarded": "/v1/forward?deny=403", "weir /v1/forward": "/v1/forward?deny=403"}
FORWARDED = ("X-Forwarded-For: 203.0.113.77", "X-Forwarded-Method: GET",
             "X-Forwarded-Host: shop.example", "X-Forwarded-Uri: /v1/orders/1234")


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def scheduled_seconds(pid: int) -> float:
    """Of all threads on a processor, to the nanosecond: ticks of 10 ms would blur short runs."""
    return sum(int(each.read_text().split()[0])
               for each in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


class Server:
    def __init__(self, kind: str, weir: pathlib.Path, folder: str):
        self.port = free_port()
        self.path = PATHS[kind]
        fields = FORWARDED if "forward" in kind else ()
        self.fields = [word for field in fields for word in ("-H", field)]
        if kind.startswith("nginx"):
            page = pathlib.Path(folder) / "nginx.conf"
            page.write_text(NGINX.format(folder=folder, port=self.port))
            command = ["nginx", "-c", str(page), "-p", folder]
        else:
            command = [weir, "serve", "--resp", "127.0.0.1:0", "--metrics", "off", "--threads", "1",
                       "--grpc", "off", "--http", f"127.0.0.1:{self.port}",
                       "--max-http-requests", "100M", "--rate", "1M/1s per ip"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise SystemExit(f"{kind} does not listen")

    def stop(self):
        self.process.terminate()
        self.process.wait(10)

    def microseconds(self, in_flight: int, requests: int) -> float:
        before = scheduled_seconds(self.process.pid)
        told = subprocess.run(
            ["h2load", "--h1", "-n", str(requests), "-c", "50", "-m", str(in_flight),
             *self.fields, f"http://127.0.0.1:{self.port}{self.path}"],
            capture_output=True, text=True, check=True).stdout
        if not re.search(rf"\b{requests} 2xx", told):
            raise SystemExit(f"not every request was granted:\n{told}")
        return (scheduled_seconds(self.process.pid) - before) / requests * 1e6


def ratio_of(costs: list[float], to: list[float]) -> float:
    return statistics.median(cost / other for cost, other in zip(costs, to))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--weir", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.smoke:
        options.rounds, options.requests = 1, 1_000
    if not (shutil.which("h2load") and shutil.which("nginx")):
        print("h2load or nginx is not installed (nghttp2-client, nginx-light): nothing measured")
        return
    costs = {(kind, in_flight): [] for in_flight in (1, 16) for kind in PATHS}
    for _ in range(options.rounds):
        for (kind, in_flight), each in costs.items():
            with tempfile.TemporaryDirectory() as folder:
                server = Server(kind, options.weir, folder)
                try:
                    server.microseconds(in_flight, max(options.requests // 20, 1000))
                    each.append(server.microseconds(in_flight, options.requests))
                finally:
                    server.stop()
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.platform()}, "
          f"load average {os.getloadavg()[0]:.1f}; {options.rounds} rounds of {options.requests} "
          "requests over 50 connections")
    print(f"{'in flight':>9}  {'server':16}{'CPU us/request':>15}{'least':>8}{'to return':>11}")
    for (kind, in_flight), each in costs.items():
        ratio = ratio_of(each, costs["nginx return", in_flight])
        print(f"{in_flight:>9}  {kind:16}{statistics.median(each):15.2f}{min(each):8.2f}"
              f"{ratio:11.2f}")
    for in_flight in (1, 16):
        ratio = ratio_of(costs["weir /v1/forward", in_flight], costs["nginx forwarded", in_flight])
        print(f"{in_flight:>9}  weir /v1/forward to nginx forwarded: {ratio:.2f}")


if __name__ == "__main__":
    main()
