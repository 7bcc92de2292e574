"""What the benchmarks that ask a server over a socket share: the server as a process, its processor
time, h2load, and how figures are told."""

import os
import platform
import re
import socket
import statistics
import subprocess
import time


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def processor_seconds(pid: int) -> float:
    """Of all threads that it has or had, to the nanosecond: ticks of 10 ms would blur short runs.
    The clock is what clock_getcpuclockid(3) makes of the pid."""
    return time.clock_gettime(~pid << 3 | 2)


class Server:
    def __init__(self, command: list, port: int, **process):
        self.port = port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, **process)
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.02)
        self.stop()
        raise SystemExit(f"{command[0]} does not listen")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


def h2load(url: str, requests: int, words: list[str]) -> None:
    """Ends the program where a request was not answered with 200."""
    told = subprocess.run(["h2load", "-n", str(requests), *words, url],
                          capture_output=True, text=True, check=True).stdout
    if not re.search(rf"\b{requests} 2xx", told):
        raise SystemExit(f"not every request was granted:\n{told}")


RLS_FIELDS = ["-H", "content-type: application/grpc", "-H", "te: trailers"]


def rls_url(port: int) -> str:
    return f"http://127.0.0.1:{port}/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"


def rls_body(**entries: str) -> bytes:
    """Envoy's question: RateLimitRequest{domain "edge", one descriptor of these entries}."""
    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    descriptor = b"".join(field(1, field(1, key.encode()) + field(2, value.encode()))
                          for key, value in entries.items())
    message = field(1, b"edge") + field(2, descriptor)
    return b"\0" + len(message).to_bytes(4, "big") + message


def median_ratio(costs: list[float], to: list[float]) -> float:
    """Ratios are taken within a round: the machine is not the same in all of them."""
    return statistics.median(cost / other for cost, other in zip(costs, to))


def machine() -> str:
    """Where this ran, and what else ran there: figures from a busy machine are to be read so."""
    return (f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {platform.platform()}, "
            f"load average {os.getloadavg()[0]:.1f}")
