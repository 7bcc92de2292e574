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
import pathlib
import shutil
import statistics
import tempfile

import served

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


def start(kind: str, weir: pathlib.Path, folder: str) -> served.Server:
    port = served.free_port()
    if kind.startswith("nginx"):
        page = pathlib.Path(folder) / "nginx.conf"
        page.write_text(NGINX.format(folder=folder, port=port))
        return served.Server(["nginx", "-c", str(page), "-p", folder], port)
    return served.Server(
        [weir, "serve", "--resp", "127.0.0.1:0", "--metrics", "off", "--threads", "1", "--grpc",
         "off", "--http", f"127.0.0.1:{port}", "--max-http-requests", "100M", "--rate",
         "1M/1s per ip"], port)


def microseconds(server: served.Server, kind: str, in_flight: int, requests: int) -> float:
    fields = [word for field in FORWARDED for word in ("-H", field)] if "forward" in kind else []
    before = served.processor_seconds(server.process.pid)
    served.h2load(f"http://127.0.0.1:{server.port}{PATHS[kind]}", requests,
                  ["--h1", "-c", "50", "-m", str(in_flight), *fields])
    return (served.processor_seconds(server.process.pid) - before) / requests * 1e6


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
                server = start(kind, options.weir, folder)
                try:
                    microseconds(server, kind, in_flight, max(options.requests // 20, 1000))
                    each.append(microseconds(server, kind, in_flight, options.requests))
                finally:
                    server.stop()
    print(f"{served.machine()}; {options.rounds} rounds of {options.requests} requests over 50 "
          "connections")
    print(f"{'in flight':>9}  {'server':16}{'CPU us/request':>15}{'least':>8}{'to return':>11}")
    for (kind, in_flight), each in costs.items():
        ratio = served.median_ratio(each, costs["nginx return", in_flight])
        print(f"{in_flight:>9}  {kind:16}{statistics.median(each):15.2f}{min(each):8.2f}"
              f"{ratio:11.2f}")
    for in_flight in (1, 16):
        ratio = served.median_ratio(costs["weir /v1/forward", in_flight],
                                    costs["nginx forwarded", in_flight])
        print(f"{in_flight:>9}  weir /v1/forward to nginx forwarded: {ratio:.2f}")


if __name__ == "__main__":
    main()
