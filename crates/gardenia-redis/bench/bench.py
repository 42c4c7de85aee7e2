"""What commands cost the server: its processor time per command and per item, beside GET and SET in the same run.

redis-benchmark sends the commands, 32 at a time on each of 8 connections, batches of 100 items; commands with random
bytes are sent by a connection of our own, 32 at a time too. Rounds go through all commands, and the best of each counts: other work on the
machine only ever adds.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "server"))
from servers import BINARIES, Server  # noqa: E402
from wire import encoded  # noqa: E402

BENCHMARK = shutil.which("redis-benchmark")
# Keys of the database, and items of the filters.
RANGE = 1_000_000
LARGE = 10_000_000
BATCH = 100
ITEM = "item:__rand_int__"


class Row:
    """A command, what is compared with what, and the best time so far, in µs of the server per command."""

    def __init__(self, name, words, calls, items=1, range=RANGE):
        self.name, self.words, self.calls, self.items, self.range = name, words, calls, items, range
        self.best = float("inf")

    def send(self, server):
        command = [BENCHMARK, "-p", str(server.port), "-n", str(self.calls), "-c", "8", "-P", "32", "-r", str(self.range)]
        subprocess.run([*command, "-q", *self.words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def measure(self, server):
        before = cpu(server)
        self.send(server)
        self.best = min(self.best, (cpu(server) - before) / self.calls * 1e6)


class Packed(Row):
    """A command with one string of random digests."""

    def send(self, server):
        command, key = self.words
        blobs = [random.randbytes(8 * self.items) for _ in range(64)]
        pipeline = [encoded(*((command, key, blob) for blob in blobs[:32])), encoded(*((command, key, blob) for blob in blobs[32:]))]
        for number in range(self.calls // 32):
            server.wire().drain(pipeline[number % 2])


def cpu(server):
    """Seconds of the thread that answers."""
    section = dict(line.split(":", 1) for line in server.do("INFO", "CPU").decode().splitlines() if ":" in line)
    return float(section["used_cpu_user_main_thread"]) + float(section["used_cpu_sys_main_thread"])


def rows():
    many = [ITEM] * BATCH
    return [
        Row("GET one key", ("GET", "one"), 400_000),
        Row("GET of 10^6 keys", ("GET", "key:__rand_int__"), 400_000),
        Row("SET of 10^6 keys", ("SET", "key:__rand_int__", "xxx"), 400_000),
        # What the engine takes for any command of a module with three words.
        Row("BF.EXISTS of no key", ("BF.EXISTS", "none", ITEM), 400_000),
        Row("BF.ADD", ("BF.ADD", "new", ITEM), 400_000),
        Row("BF.EXISTS", ("BF.EXISTS", "full", ITEM), 400_000),
        Row("BF.MADD", ("BF.MADD", "newer", *many), 20_000, BATCH),
        Row("BF.MEXISTS", ("BF.MEXISTS", "full", *many), 20_000, BATCH),
        Row("BF.MADD of 10^7", ("BF.MADD", "large", *many), 20_000, BATCH, LARGE),
        Row("BF.MEXISTS of 10^7", ("BF.MEXISTS", "large", *many), 20_000, BATCH, LARGE),
        Row("CF.ADD", ("CF.ADD", "cuckoos", ITEM), 200_000, 1, LARGE),
        Row("CF.ADDNX", ("CF.ADDNX", "cuckoo", ITEM), 200_000),
        Row("CF.EXISTS", ("CF.EXISTS", "cuckoo", ITEM), 200_000),
        Row("CMS.INCRBY", ("CMS.INCRBY", "sketch", ITEM, "1"), 200_000),
        Row("CMS.QUERY", ("CMS.QUERY", "sketch", ITEM), 200_000),
        Row("TOPK.ADD", ("TOPK.ADD", "top", ITEM), 200_000),
        Packed("GD.HADD", ("GD.HADD", "packed"), 6_400, BATCH),
        Packed("GD.HEXISTS", ("GD.HEXISTS", "full"), 6_400, BATCH),
        Packed("GD.HEXISTS of 1000", ("GD.HEXISTS", "full"), 3_200, 1000),
    ]


def fill(server):
    server.do("SET", "one", "xxx")
    for at in range(0, RANGE, 5_000):
        # As redis-benchmark writes numbers.
        server.wire().drain(encoded(*(("SET", "key:%012d" % number, "xxx") for number in range(at, at + 5_000))))
    for command in (
        ("BF.RESERVE", "full", "0.01", RANGE),
        ("BF.RESERVE", "new", "0.01", RANGE),
        ("BF.RESERVE", "newer", "0.01", RANGE),
        ("CF.RESERVE", "cuckoo", RANGE),
        ("CMS.INITBYPROB", "sketch", "0.00001", "0.01"),
        ("TOPK.RESERVE", "top", "100", "1000", "5", "0.9"),
        ("GD.RESERVE", "packed", "KIND", "bloom", "ITEMS", RANGE, "ERROR", "0.01"),
    ):
        reply = server.do(*command)
        if reply != "OK":
            print(f"{command[0]}: {reply}", file=sys.stderr)
    for at in range(0, RANGE, 5_000):
        server.wire().drain(encoded(("BF.MADD", "full", *("item:%012d" % number for number in range(at, at + 5_000)))))


def growth(server):
    """Bits per item of a filter that grew from 100 items to 800,000."""
    for at in range(0, 10**7, 5_000):
        server.wire().drain(encoded(("BF.MADD", "grown", *range(at, at + 5_000))))
        if server.do("BF.CARD", "grown") >= 800_000:
            break
    info = server.do("BF.INFO", "grown")
    facts = dict(zip(info[::2], info[1::2]))
    return 8 * facts["Size"] / facts["Number of items inserted"]


def run(engine, rounds):
    server = Server(engine, "--activerehashing", "no")
    try:
        version = server.info("server", "valkey_version") or server.info("server", "redis_version")
        print(f"{engine} {version}: {rounds} rounds, 32 commands at a time, µs of the server, best round")
        fill(server)
        table = rows()
        for _ in range(rounds):
            server.do("DEL", "new", "newer", "large", "cuckoos")
            for key, items in (("new", RANGE), ("newer", RANGE), ("large", LARGE)):
                server.do("BF.RESERVE", key, "0.01", items)
            server.do("CF.RESERVE", "cuckoos", RANGE)
            for row in table:
                row.measure(server)
        time = {row.name: row.best for row in table}
        per_item = {row.name: row.best / row.items for row in table}
        print(f"{'':20} {'command':>9} {'item':>9} {'/ GET one':>10} {'/ GET':>7}")
        for row in table:
            one, all = (row.best / time[name] for name in ("GET one key", "GET of 10^6 keys"))
            print(f"{row.name:20} {row.best:9.3f} {row.best / row.items:9.4f} {one:10.2f} {all:7.2f}")
        yard = time["GET of 10^6 keys"]
        # RedisBloom's of June 2026 in Valkey 9.1.2, beside GET in its own run.
        peers = {"CF.ADD": 1.31, "CF.EXISTS": 1.25, "BF.ADD": 1.28, "BF.EXISTS": 1.22, "CMS.INCRBY": 1.70, "CMS.QUERY": 1.50, "TOPK.ADD": 1.41}
        bits = growth(server)
        goals = [
            ("BF.ADD / GET", time["BF.ADD"] / yard, 1.15),
            ("BF.EXISTS / GET", time["BF.EXISTS"] / yard, 1.15),
            ("BF.MADD, µs per item", per_item["BF.MADD"], 0.25),
            ("BF.MEXISTS, µs per item", per_item["BF.MEXISTS"], 0.25),
            ("BF.MADD of 10^7, µs per item", per_item["BF.MADD of 10^7"], 0.25),
            ("GD.HEXISTS, µs per item", per_item["GD.HEXISTS"], 0.05),
            ("grown from 100 to 800,000 items, bits per item", bits, 16),
        ]
        if engine == "valkey":
            goals += [(f"{name} / GET, RedisBloom's", time[name] / yard, goal) for name, goal in peers.items()]
        for name, value, goal in goals:
            print(f"{name:48} {value:7.3f}  goal {goal:<5} {'reached' if value <= goal else 'NOT reached'}")
        print()
    finally:
        server.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engine", choices=list(BINARIES), action="append")
    args = parser.parse_args()
    for engine in args.engine or BINARIES:
        run(engine, args.rounds)


if __name__ == "__main__":
    main()
