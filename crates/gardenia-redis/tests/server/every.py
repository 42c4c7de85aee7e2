"""Commands of every family, for tests of what must hold of all: files, replicas, clusters, death."""

import random

import redisbloom_data as redisbloom
import table


def fill(do, tag=""):
    """Keys of every type, in some states; `tag` stands before their names. Returns the names."""

    def ok(*words):
        reply = do(*words)
        assert reply == "OK", (words[:3], reply)

    def key(name):
        keys.append(f"{tag}{name}")
        return keys[-1]

    keys = []
    do("BF.MADD", key("grown"), *range(2000))
    name = key("fixed")
    ok("BF.RESERVE", name, "0.001", "500", "NONSCALING")
    do("BF.MADD", name, *range(300))
    name = key("large")
    ok("BF.RESERVE", name, "0.001", "1500000", "EXPANSION", "4")
    do("BF.MADD", name, *range(3000))
    for layout in ("bf_scaling", "bf_nonscaling"):
        name = key(layout)
        for chunk in redisbloom.chunks(layout):
            ok("BF.LOADCHUNK", name, *chunk)
    do("CF.INSERT", key("cuckoo"), "CAPACITY", "100", "ITEMS", *range(1000))
    name = key("cuckoo-fixed")
    ok("CF.RESERVE", name, "1000", "EXPANSION", "0", "SEED", "7")
    do("CF.INSERT", name, "ITEMS", *range(500), *range(100))
    do("CF.DEL", name, "7")
    name = key("cf")
    for chunk in redisbloom.chunks("cf"):
        ok("CF.LOADCHUNK", name, *chunk)
    name = key("sketch")
    ok("CMS.INITBYDIM", name, "100", "5")
    do("CMS.INCRBY", name, "a", "5", "b", "7")
    name = key("top")
    ok("TOPK.RESERVE", name, "5", "50", "4", "0.9")
    do("TOPK.ADD", name, *(number * number % 23 for number in range(500)))
    for kind in KINDS:
        name = key(f"gd-{kind}")
        ok("GD.RESERVE", name, "KIND", kind, *KINDS[kind])
        do("GD.ADD", name, *range(300))
    return keys


# Kinds of GD.RESERVE, with what each needs; 500 items at one percent unless it is said here.
SIZES = {
    "stable": ("ERROR", "0.01", "WINDOW", "500"),
    "a2": ("ERROR", "0.01", "WINDOW", "500"),
    "count-min": ("COLUMNS", "500", "ROWS", "4", "UPDATE", "plain"),
    "cuckoo": ("ITEMS", "500", "ERROR", "0.0001"),
    "dynamic": ("ITEMS", "100", "ERROR", "0.01"),
}
KINDS = {kind: SIZES.get(kind, ("ITEMS", "500", "ERROR", "0.01")) for kind in table.KEPT}


def ask(do, keys):
    """What the keys answer."""
    out = []
    for key in keys:
        for words in (
            ("BF.MEXISTS", key, *range(400)),
            ("BF.INFO", key),
            ("CF.MEXISTS", key, *range(400)),
            ("CF.INFO", key),
            ("CMS.QUERY", key, *"abc"),
            ("TOPK.LIST", key, "WITHCOUNT"),
            ("GD.EXISTS", key, *range(400)),
        ):
            out.append(do(*words))
    return out


def some(commands, seed):
    """So many random commands that change keys of all types, some of which are refused."""
    rng = random.Random(seed)
    item = lambda: rng.randrange(20000)
    few = lambda: [rng.randrange(3000) for _ in range(rng.randrange(1, 9))]
    pick = rng.choice

    def bloom():
        key = pick(("a", "b", "grown", "fixed", "fixed2", "bf_scaling", "bf_nonscaling"))
        kind = rng.random()
        if kind < 0.5:
            return ("BF.ADD", key, item())
        if kind < 0.75:
            return ("BF.MADD", key, *(item() for _ in range(9)))
        if kind < 0.9:
            words = pick((("EXPANSION", 3), ("NONSCALING",), ("CAPACITY", 50, "ERROR", "0.03"), ("NOCREATE",)))
            return ("BF.INSERT", key, *words, "ITEMS", item(), item())
        if kind < 0.95:
            return ("BF.RESERVE", key, pick(("0.001", "2")), rng.randrange(1, 5000))
        return ("BF.EXISTS", key, item())

    def cuckoo():
        key = pick(("ca", "cb", "cuckoo", "cuckoo-fixed", "cf"))
        kind = rng.random()
        if kind < 0.3:
            return (pick(("CF.ADD", "CF.ADDNX")), key, rng.randrange(3000))
        if kind < 0.5:
            options = pick(((), ("CAPACITY", 64), ("NOCREATE",)))
            return (pick(("CF.INSERT", "CF.INSERTNX")), key, *options, "ITEMS", *few())
        if kind < 0.9:
            return ("CF.DEL", key, rng.randrange(3000))
        if kind < 0.95:
            return ("CF.COMPACT", key)
        return ("CF.RESERVE", key, rng.randrange(1, 3000), "EXPANSION", pick((0, 1, 2, 3)), "BUCKETSIZE", pick((1, 2, 4)))

    def sketch():
        key = pick(("sa", "sb", "sc", "sketch"))
        kind = rng.random()
        if kind < 0.7:
            words = []
            for number in few():
                words += [number, rng.randrange(100)]
            return ("CMS.INCRBY", key, *words)
        if kind < 0.8:
            return ("CMS.INITBYDIM", key, 100, 5)
        if kind < 0.85:
            return ("CMS.INITBYPROB", key, "0.02", "0.04")
        if kind < 0.95:
            return ("CMS.MERGE", key, 2, "sa", "sb", "WEIGHTS", rng.randrange(3), rng.randrange(3))
        return ("CMS.INCRBY", key, "a", pick((1, -1, 2**32, "rose")))

    def top():
        key = pick(("ta", "tb", "top"))
        kind = rng.random()
        if kind < 0.6:
            return ("TOPK.ADD", key, *few())
        if kind < 0.9:
            return ("TOPK.INCRBY", key, item() % 50, rng.randrange(1000), item() % 50, pick((7, 100001)))
        return ("TOPK.RESERVE", key, rng.randrange(1, 20), 20, 3, "0.9")

    def filter():
        key = f"gd-{pick(tuple(KINDS))}"
        kind = rng.random()
        if kind < 0.5:
            return ("GD.ADD", key, *few())
        if kind < 0.7:
            return ("GD.DEL", key, *few())
        if kind < 0.85:
            return ("GD.HADD", key, rng.randbytes(8 * rng.randrange(1, 9)))
        if kind < 0.95:
            kind = pick((*table.able("merge"), "m"))
            return ("GD.MERGE", f"gd-{kind}", f"gd-{pick((kind, kind, 'bloom', 'm'))}")
        return ("GD.RESERVE", pick((key, "gd-m")), "KIND", "bloom", "ITEMS", 500, "ERROR", "0.01", "SEED", pick((0, 7)))

    def other():
        kind = rng.random()
        if kind < 0.5:
            return ("DEL", pick(("a", "b", "ca", "cb", "sc", "ta", "fixed2", "gd-m")))
        if kind < 0.9:
            return ("COPY", pick(("grown", "cuckoo", "top", "gd-counting")), pick(("b", "cb", "tb", "gd-m")))
        return ("RENAME", pick(("b", "cb", "tb")), pick(("a", "ca", "ta")))

    families = (bloom,) * 4 + (cuckoo,) * 4 + (sketch,) * 3 + (top,) * 3 + (filter,) * 3
    return [other() if rng.random() < 0.01 else pick(families)() for _ in range(commands)]
