#!/usr/bin/env python3
"""Gardenia beside its peers in Python, in one run: million keys per second, 10⁶ keys at 1 %.

    pip install ./crates/gardenia-python -r crates/gardenia-python/bench-requirements.txt
    python crates/gardenia-python/bench.py              # the table as Markdown, and the goals, met or not
    python crates/gardenia-python/bench.py --repeat 15  # the best of so many rounds; 7 unless given

Time is that of the processor, of one thread, so that other work of the machine counts less; all contenders take turns in each round, so
that what is left of it hits all of them. A peer that is not installed is left out.
"""

import argparse
import hashlib
import importlib
import platform
import threading
import time

import gardenia
import numpy as np
import pyarrow as pa

N = 1_000_000
INTS = list(range(N))
TEXTS = [f"https://example.org/key/{i * 0x9E3779B97F4A7C15 % 2**64:016x}" for i in range(N)]  # 40 bytes
ARRAY = np.arange(N, dtype=np.int64)
ARROW = pa.array(TEXTS)


def each(call):
    """A loop in Python over single calls."""

    def run():
        for key in INTS:
            call(key)

    return run


def asked(filter):
    def run():
        for key in INTS:
            key in filter

    return run


def ours(kind):
    made = lambda: kind(items=N, fpp=0.01)
    f = made()
    return {
        "add(int)": each(f.add),
        "int in": asked(f),
        "update(ints)": lambda: f.update(INTS),
        "update(texts)": lambda: f.update(TEXTS),
        "numpy update": lambda: f.update(ARRAY),
        "numpy query": lambda: f.contains_many(ARRAY),
        "Arrow update": lambda: f.update(ARROW),
        "Arrow query": lambda: f.contains_many(ARROW),
    }


def rbloom():
    f = importlib.import_module("rbloom").Bloom(N, 0.01)
    return {"add(int)": each(f.add), "int in": asked(f), "update(ints)": lambda: f.update(INTS), "update(texts)": lambda: f.update(TEXTS)}


def abloom():
    f = importlib.import_module("abloom").BloomFilter(N, 0.01)
    return {"add(int)": each(f.add), "int in": asked(f), "update(ints)": lambda: f.update(INTS), "update(texts)": lambda: f.update(TEXTS)}


def abloom_stable():
    f = importlib.import_module("abloom").BloomFilter(N, 0.01, serializable=True)
    return {"add(int)": each(f.add), "int in": asked(f), "update(ints)": lambda: f.update(INTS), "update(texts)": lambda: f.update(TEXTS)}


def fastbloom():
    f = importlib.import_module("fastbloom_rs").BloomFilter(N, 0.01)
    return {
        "add(int)": each(f.add_int),
        "int in": each(f.contains_int),
        "update(ints)": lambda: f.add_int_batch(INTS),
        "update(texts)": lambda: f.add_str_batch(TEXTS),
        "numpy update": lambda: f.add_int_batch(ARRAY),
    }


def pybloomfilter():
    f = importlib.import_module("pybloomfilter").BloomFilter(N, 0.01)
    return {"add(int)": each(f.add), "int in": asked(f), "update(ints)": lambda: f.update(INTS), "update(texts)": lambda: f.update(TEXTS)}


def datasketches():
    """Of its filters in Python only the count-min sketch has keys of this kind: it counts, which is more work."""
    f = importlib.import_module("datasketches").count_min_sketch(3, 1 << 20)
    return {"add(int)": each(f.update), "int in": each(f.get_estimate)}


OURS = {f"gardenia.{name}": getattr(gardenia, name) for name in ["BlockedBloom", "SplitBlockBloom", "Bloom"] if hasattr(gardenia, name)}
CONTENDERS = {
    **{name: lambda kind=kind: ours(kind) for name, kind in OURS.items()},
    "rbloom": rbloom,
    "abloom": abloom,
    "abloom, stable hashing": abloom_stable,
    "fastbloom_rs": fastbloom,
    "pybloomfiltermmap3": pybloomfilter,
    "datasketches, count-min": datasketches,
}
GOALS = {"add(int)": 24, "int in": 22, "update(ints)": 60, "update(texts)": 50, "numpy update": 100, "numpy query": 200,
         "Arrow update": 40, "Arrow query": 60}


def longest_wait(call):
    """How long a call works at most while another thread waits for the GIL, in processor time of the calling thread; the least of five calls."""
    least, clock = float("inf"), time.pthread_getcpuclockid(threading.get_ident())
    for _ in range(5):
        waits, stop = [0.0], threading.Event()

        def beat():
            while not stop.is_set():
                begin = time.clock_gettime(clock)
                time.sleep(0)
                waits.append(time.clock_gettime(clock) - begin)

        thread = threading.Thread(target=beat)
        thread.start()
        call()
        stop.set()
        thread.join()
        least = min(least, max(waits))
    return least


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=7)
    repeat = parser.parse_args().repeat
    runs = {}
    for name, make in CONTENDERS.items():
        try:
            runs[name] = make()
        except Exception as error:
            print(f"{name} is left out: {type(error).__name__}: {error}")
    best = {}
    for _ in range(repeat):
        for column in GOALS:
            for name in list(runs):
                if column not in runs[name]:
                    continue
                begin = time.thread_time()
                try:
                    runs[name][column]()
                except Exception as error:
                    print(f"{name}, {column} is left out: {type(error).__name__}: {error}")
                    del runs[name][column]
                    continue
                rate = N / (time.thread_time() - begin) / 1e6
                best[name, column] = max(best.get((name, column), 0), rate)
    cell = lambda rate: "" if rate is None else f"{rate:.1f}" if rate < 100 else f"{rate:.0f}"
    print(f"\n{platform.machine()}, Python {platform.python_version()}, best of {repeat} rounds\n")
    print("| million keys per second | " + " | ".join(GOALS) + " |\n|---|" + "---|" * len(GOALS))
    for name in runs:
        print(f"| {name} | " + " | ".join(cell(best.get((name, column))) for column in GOALS) + " |")
    print("| goal | " + " | ".join(str(goal) for goal in GOALS.values()) + " |")
    reached = lambda column: max(best[us, column] for us in OURS)
    met = ["met" if reached(column) >= goal else f"**{reached(column) / goal:.0%}**" for column, goal in GOALS.items()]
    print("| by the best of ours | " + " | ".join(met) + " |")
    data, keys, filter = bytes(50_000_000), np.arange(10_000_000), gardenia.BlockedBloom(items=10_000_000)
    noise = longest_wait(lambda: hashlib.sha256(data).digest())
    wait = longest_wait(lambda: filter.add_many(keys))
    lists = longest_wait(lambda: filter.add_many(INTS))
    print("\nThe GIL is held at most, as another thread sees it, in ms of the call's processor time: "
          f"{wait * 1e3:.1f} during one add_many of 10⁷ integers of numpy, {lists * 1e3:.1f} of a list of 10⁶, and {noise * 1e3:.1f} during a "
          f"call that never holds it; the goal of 5 ms is {'met' if max(wait, lists) <= noise + 0.005 else '**not met**'}.")


if __name__ == "__main__":
    main()
