"""Waits for leave to act: python3 take.py PORT KEY LIMIT"""

import sys
import time

import redis


class Denied(Exception):
    pass


def take(client, key, limit):
    answer = client.execute_command("WEIR.TAKE", key, limit)
    if answer["verdict"] in ("denied", "impossible"):
        raise Denied(answer["retry_after_us"] / 1e6)  # seconds
    time.sleep(answer["ready_after_us"] / 1e6)  # 0 where granted; deferred: taken, act then


if __name__ == "__main__":
    port, *request = sys.argv[1:]
    try:
        take(redis.Redis(port=int(port), protocol=3, decode_responses=True), *request)
        print("act")
    except Denied as denied:
        sys.exit(f"denied; again in {denied} s")
