"""Whatever we read as an address or a network, Python's ipaddress reads as the same; and what we
refuse, it refuses.

    addresses_test.py build/release/test/gateway/read_addresses

Differences that are meant: a zone (fe80::1%eth0) is read by the caller, bits are decimal without
leading zeros and never a mask, and what IPv6 maps of IPv4 is of IPv4.
"""

import ipaddress
import os
import random
import re
import subprocess
import sys
import unittest

READ = os.path.abspath(sys.argv[1])
del sys.argv[1:]

MAPPED = ipaddress.ip_network("::ffff:0:0/96")


def printed(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> str:
    if network.version == 6 and network.subnet_of(MAPPED):
        network = ipaddress.ip_network(
            (network.network_address.ipv4_mapped, network.prefixlen - MAPPED.prefixlen))
    whole = network.prefixlen == network.max_prefixlen
    return str(network.network_address) if whole else str(network)


def as_python_reads(text: str) -> str:
    address, slash, bits = text.partition("/")
    if "%" in text or (slash and not re.fullmatch("0|[1-9][0-9]*", bits, re.ASCII)):
        return "-"
    try:
        return printed(ipaddress.ip_network(text))
    except ValueError:
        return "-"


def group(random_: random.Random) -> str:
    value = random_.choice([0, 0, 1, 0xffff, random_.randrange(0x10000)])
    text = f"{value:x}"
    if random_.random() < 0.2:
        text = text.zfill(random_.randrange(1, 6))
    return text.upper() if random_.random() < 0.2 else text


def ipv4(random_: random.Random) -> str:
    count = 4 if random_.random() < 0.9 else random_.randrange(6)
    numbers = [str(random_.choice([0, 1, 10, 255, 256, random_.randrange(300)]))
               for _ in range(count)]
    return ".".join("0" + each if random_.random() < 0.02 else each for each in numbers)


def ipv6(random_: random.Random) -> str:
    if random_.random() < 0.2:
        return str(ipaddress.IPv6Address(random_.getrandbits(128)))
    groups = [group(random_) for _ in range(8 if random_.random() < 0.4 else random_.randrange(11))]
    if random_.random() < 0.2:
        groups = groups[:6] + [ipv4(random_)]
    if random_.random() < 0.6:
        gap = random_.randrange(len(groups) + 1)
        left, right = groups[:gap], groups[gap + random_.randrange(3):]
        return ":".join(left) + "::" + ":".join(right)
    return ":".join(groups)


def text(random_: random.Random) -> str:
    kind = random_.random()
    made = ipv4(random_) if kind < 0.3 else ipv6(random_)
    if kind > 0.9:
        made = random_.choice(["::ffff:", "0:0:0:0:0:FFFF:"]) + ipv4(random_)
    if random_.random() < 0.3:
        bits = random_.choice([0, 8, 31, 32, 33, 64, 95, 96, 104, 127, 128, 129])
        if random_.random() < 0.5:
            try:  # mostly the network that is meant, or else nearly none would be one
                made = str(ipaddress.ip_network(f"{made}/{bits}", strict=False).network_address)
            except ValueError:
                pass
        made += f"/{bits}"
    if random_.random() < 0.1:
        at = random_.randrange(len(made) + 1)
        made = made[:at] + random_.choice(" :./%g0-+x") + made[at + random_.randrange(2):]
    return made


class Addresses(unittest.TestCase):
    def test_are_what_python_reads(self):
        random_ = random.Random(20)
        texts = [text(random_) for _ in range(20_000)]
        done = subprocess.run([READ], input="".join(f"{each}\n" for each in texts), text=True,
                              capture_output=True, check=True, timeout=60)
        ours = done.stdout.splitlines()
        self.assertEqual(len(ours), len(texts))
        for each, read in zip(texts, ours):
            self.assertEqual(read, as_python_reads(each), each)
        taken = sum(read != "-" for read in ours)
        self.assertTrue(5_000 < taken < 15_000, f"{taken} of {len(texts)} are one: no fair mix")


if __name__ == "__main__":
    unittest.main()
