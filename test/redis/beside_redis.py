"""Runs a program beside a redis-server of its own.

    beside_redis.py PROGRAM [ARGUMENT...]

In the arguments {port} is the server's, on 127.0.0.1, and {socket} its Unix socket. Exits as the
program does.
"""

import socket
import subprocess
import sys
import tempfile
import time

START_SECONDS = 10


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def main() -> int:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        socket_path = folder + "/redis.sock"
        server = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "",
             "--dir", folder, "--unixsocket", socket_path], stdout=subprocess.DEVNULL)
        try:
            give_up_at = time.monotonic() + START_SECONDS
            while not answers(port):
                if server.poll() is not None or time.monotonic() > give_up_at:
                    print("redis-server did not come up", file=sys.stderr)
                    return 1
                time.sleep(0.01)
            program = [argument.replace("{port}", str(port)).replace("{socket}", socket_path)
                       for argument in sys.argv[1:]]
            return subprocess.run(program, timeout=60).returncode
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
