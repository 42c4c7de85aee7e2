"""Looks for commands that take the server more than 10 ms and are not in the list of docs/redis.md. Run by hand: it measures.

Every command of COMMAND LIST is called on large values, 100 items at a time, and GD.RESERVE with random options of every kind, for as
long as it is told. What is measured is the processor time of the thread that answers, the least of three calls. Each of the three has
another shape, because the module remembers the last shapes that it sized.
"""

import argparse
import os
import random
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "server"))
from servers import BINARIES, Server, listed  # noqa: E402

DOCS = os.path.join(HERE, "..", "..", "..", "docs")
MOST = 10.0
ITEMS = list(range(100))
GROWING = ("0.01", "1e-6", "1e-9", "1e-12")
PAIRS = [word for item in ITEMS for word in (item, 3)]


class Varied(int):
    """A number that is one more in each further call."""


# A call of every command on the values that `fill` makes; `new` is a key that does not exist.
CALLS = {
    "bf.reserve": [("new", error, Varied(capacity), *more) for error in ("0.9", "0.01", "1e-6", "1e-9", "1e-12", "1e-15")
                   for capacity in (1, 100, 10**5, 10**8) for more in ((), ("NONSCALING",), ("EXPANSION", 1))],
    # Every item of a key that grows by one adds a sub-filter.
    "bf.add": [("bf", "x"), ("new", "x"), *((f"grows {error}", Varied(3 * n)) for error in GROWING for n in range(18))], "bf.madd": [("bf", *ITEMS), ("new", *ITEMS)],
    "bf.insert": [("bf", "ITEMS", *ITEMS), ("new", "CAPACITY", 10**8, "ERROR", "1e-4", "ITEMS", *ITEMS)],
    "bf.exists": [("bf", "x")], "bf.mexists": [("bf", *ITEMS)], "bf.card": [("bf",)], "bf.info": [("bf",)], "bf.debug": [("bf",)],
    "cf.reserve": [("new", capacity, "EXPANSION", 4) for capacity in (4, 10**4, 10**8)],
    "cf.add": [("cf", "x"), ("new", "x")], "cf.addnx": [("cf", "x")],
    "cf.insert": [("cf", "ITEMS", *ITEMS), ("new", "CAPACITY", 10**8, "ITEMS", *ITEMS)], "cf.insertnx": [("cf", "ITEMS", *ITEMS)],
    "cf.exists": [("cf", "x")], "cf.mexists": [("cf", *ITEMS)], "cf.count": [("cf", "1")], "cf.del": [("cf", "1")],
    "cf.info": [("cf",)], "cf.debug": [("cf",)],
    "cms.initbydim": [("new", 10**6, 10), ("new", 10**4, 255)], "cms.initbyprob": [("new", "1e-6", "1e-9"), ("new", "0.9", "0.9")],
    "cms.incrby": [("cms", *PAIRS)], "cms.query": [("cms", *ITEMS)], "cms.info": [("cms",)],
    "topk.reserve": [("new", 10**4, 10**4, 8, "0.9"), ("new", 10**5, 8, 1, "0.9"), ("new", 3, 1, 16 * 10**6, "0.9"), ("new", 3, 60_000, 255, "0.9")],
    "topk.add": [("top", *ITEMS), ("deep", *range(10))],
    # At decay 1 each increment takes the cells of the item before it.
    "topk.incrby": [("top", *PAIRS), ("deep", *PAIRS[:20]), ("certain", *(word for item in ITEMS for word in (item, 100_000)))],
    "topk.query": [("top", *ITEMS)], "topk.count": [("top", *ITEMS)], "topk.list": [("top",)], "topk.info": [("top",)],
    "gd.add": [(f"gd-{kind}", *ITEMS) for kind in ("bloom", "counting", "infini", "stable", "a2", "dynamic", "cuckoo", "quotient")],
    "gd.exists": [("gd-bloom", *ITEMS)], "gd.del": [("gd-counting", *ITEMS)], "gd.count": [("gd-counting", *ITEMS)],
    "gd.hadd": [("gd-bloom", bytes(800))], "gd.hexists": [("gd-bloom", bytes(800))], "gd.version": [()],
}  # fmt: skip
# GD.RESERVE is tried apart; the others are in the list of the documentation.
LISTED = {name.lower() for name in listed()} | {"gd.reserve"}


def fill(server):
    for words in (
        ("BF.RESERVE", "bf", "0.001", 10**6), ("CF.RESERVE", "cf", 10**6), ("CMS.INITBYDIM", "cms", 10**6, 8),
        ("TOPK.RESERVE", "top", 1000, 10**4, 8, "0.9"), ("TOPK.RESERVE", "deep", 3, 60_000, 255, "0.9"), ("TOPK.RESERVE", "certain", 3, 1, 7, 1),
        *(("GD.RESERVE", f"gd-{kind}", "KIND", kind, "ITEMS", 10**6) for kind in ("bloom", "counting", "stable", "a2", "dynamic", "cuckoo", "quotient")),
        ("GD.RESERVE", "gd-infini", "KIND", "infini"),
        *(("BF.RESERVE", f"grows {error}", error, 1, "EXPANSION", 1) for error in GROWING),
    ):  # fmt: skip
        assert server.do(*words) == "OK", words
    for at in range(0, 200_000, 1000):
        some = range(at, at + 1000)
        server.wire().pipeline([("BF.MADD", "bf", *some), ("CF.INSERT", "cf", "ITEMS", *some), ("TOPK.ADD", "top", *some), ("GD.ADD", "gd-infini", *some)])


def took(server, words):
    """Milliseconds of the server, the least of up to three calls: other work only ever adds."""
    least = float("inf")
    for call in range(3):
        server.do("DEL", "new")
        now = [word + call if isinstance(word, Varied) else word for word in words]
        before = server.cpu()
        reply = server.do(*now)
        least = min(least, (server.cpu() - before) * 1e3)
        if least < MOST / 2:
            break
    return least, reply


def options():
    """Options of every kind, from the table that is made from that of the library."""
    with open(os.path.join(DOCS, "choosing.md")) as file:
        rows = re.findall(r"^\| \d+ \| `([\w-]+)` \| .* \| ([\w, -]*)\|$", file.read(), re.M)
    return {kind: [word for word in words.replace(" ", "").split(",") if word] for kind, words in rows}


def plan(rng, kind, words):
    """A GD.RESERVE with some of the options of a kind."""
    numbers = (1, 2, 3, 7, 10, 30, 100, 300, 1000, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9)
    values = {
        "hashes": (1, 2, 5, 10, 20, 40, 255), "rows": (1, 2, 5, 20, 255), "width": (1, 2, 4, 8, 12, 16, 20, 32, 64), "digit": (1, 2, 4, 8),
        "fpp": ("0.99", "0.5", "0.1", "0.01", "1e-3", "1e-5", "1e-7", "1e-9", "1e-12", "1e-15"), "choices": (1, 2, 3, 8, 64),
        "growth": (1, 2, 4, 100, 30000), "tightening": ("0.5", "0.9", "0.99", "1e-6"), "peak": (0, 1, 8, 40, 63),
        "wire": (1, 2, 8, 16, 30, 100, 1000, 10**5), "effort": (0, 1), "scheme": ("double", "enhanced", "independent"),
        "policy": ("ms", "mi", "rm"), "form": ("plain", "modified"), "update": ("plain", "conservative"), "memory": (100, 10**4, 10**6, 10**8),
    }  # fmt: skip
    same = {"epsilon": "fpp", "delta": "fpp", "secondary-hashes": "hashes", "memory-per-key": "wire"}
    picked = rng.sample(words, rng.randrange(1, min(4, len(words)) + 1)) + (["memory"] if rng.random() < 0.1 else [])
    if "items" in words and "items" not in picked and rng.random() < 0.5:
        picked.append("items")
    out = ["GD.RESERVE", "new", "KIND", kind]
    for word in picked:
        out.append(word)
        if word not in ("compact", "no-marker", "drawn", "as-printed"):
            value = rng.choice(values.get(same.get(word, word), numbers))
            out.append(Varied(value) if word in ("items", "window") else value)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="of random plans (120)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=list(BINARIES), default="redis")
    args = parser.parse_args()
    server, slow, most = Server(args.engine), [], (0, None)
    try:
        fill(server)
        families = ("bf.*", "cf.*", "cms.*", "topk.*", "gd.*")
        commands = {name.decode() for family in families for name in server.do("COMMAND", "LIST", "FILTERBY", "PATTERN", family)}
        assert commands == set(CALLS) | LISTED, commands ^ (set(CALLS) | LISTED)
        calls = [(name, *words) for name in CALLS for words in CALLS[name]]
        rng, kinds, end, plans = random.Random(args.seed), options(), time.monotonic() + args.seconds, 0
        while calls or time.monotonic() < end:
            kind = rng.choice([kind for kind, words in kinds.items() if words])
            words = calls.pop() if calls else plan(rng, kind, kinds[kind])
            plans += not calls
            # A filter that is made of pages takes them when it is made: that is in the list.
            if "infini" in words and "items" in words:
                continue
            ms, reply = took(server, words)
            most = max(most, (ms, words), key=lambda pair: pair[0])
            if ms > MOST:
                slow.append((ms, words, reply))
        print(f"{args.engine}: {len(commands)} commands, {plans} random plans, the slowest {most[0]:.1f} ms: {most[1][:12]}")
        for ms, words, reply in sorted(slow, key=lambda row: -row[0]):
            print(f"{ms:8.1f} ms  {' '.join(map(str, words[:16]))}  {str(reply)[:60]}")
    finally:
        server.remove()
    sys.exit(bool(slow))


if __name__ == "__main__":
    main()
