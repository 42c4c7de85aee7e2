"""GD.*: filters of every kind, files of the command line, packed digests; errors, files, replicas, hostile bytes."""

import glob
import json
import os
import random
import struct
import subprocess
import tempfile

import hostile
import restarts
import table
from servers import WRONG_TYPE, Case, arity, content, dump, follow, on_both, replica_of
from wire import Error, Wire

DATA = os.path.join(os.path.dirname(__file__), "..", "..", "..", "gardenia", "tests", "data")

# What GD.RESERVE makes, small; 100 items unless it is said here.
SIZES = {
    "spectral-ms": "ITEMS 60",
    "spectral-mi": "ITEMS 60 COMPACT",
    "spectral-rm": "ITEMS 60",
    "bitwise": "ITEMS 60",
    "stable": "WINDOW 30 FPP 0.1",
    "a2": "WINDOW 100",
    "count-min": "COLUMNS 300 ROWS 3",
    "dynamic": "ITEMS 50",
}
KINDS = {kind: SIZES.get(kind, "ITEMS 100") for kind in table.KEPT}
COUNTING, REMOVING, MERGING = table.able("count"), table.able("remove"), table.able("merge")
STATIC = table.static()
FULL = Error("ERR the filter is full")
COPIES = Error("ERR the filter holds no further copy of the item: use KIND counting")
FIXED = "ERR the filter is static: its items are fixed, so build it again and load it"
NO_GROWTH = Error("ERR the filter may not grow: it is at bf.memory-limit, or at its most layers")

# Files that hold other items.
OTHER = ("compressed", "compressed-dense", "ribbon-wide")
# Items of the library's files of version 1; see crates/gardenia/tests/golden.rs.
FLOWERS = (b"rose", b"tulip", b"", b"\0", "Gänseblümchen".encode(), struct.pack("<q", -1))


def file(name):
    with open(os.path.join(DATA, name + ".gdn"), "rb") as file:
        return file.read()


def hashes():
    """Items and their XXH3-64 with the seeds 0, 1 and 2^64 - 1, as other programs tell them."""
    with open(os.path.join(DATA, "hashes.tsv")) as file:
        for line in file:
            if not line.startswith("#"):
                item, *digests = line.rstrip("\n").split("\t")
                yield bytes.fromhex(item.strip("-")), [int(digest, 16) for digest in digests[:3]]


def pack(digests):
    return struct.pack(f"<{len(digests)}Q", *digests)


def bits(bitmap, count):
    """The answers in a bitmap; those beyond the last are 0."""
    assert len(bitmap) == (count + 7) // 8, (len(bitmap), count)
    number = int.from_bytes(bitmap, "little")
    assert number >> count == 0
    return [number >> at & 1 for at in range(count)]


class Commands(Case):
    def reserve(self, key, kind, options=None, seed=7):
        options = KINDS[kind] if options is None else options
        self.assertEqual(self.do("GD.RESERVE", key, "KIND", kind, *options.split(), "SEED", seed), "OK")

    def info(self, key):
        """The map, which is a flat array in RESP2."""
        flat, map = self.do("GD.INFO", key), self.do3("GD.INFO", key)
        self.assertEqual(dict(zip(flat[::2], flat[1::2])), map)
        return map

    def test_every_kind_takes_items_and_finds_them(self):
        for kind in KINDS:
            self.reserve(kind, kind)
            self.assertEqual(self.do("GD.ADD", kind, "a", "b", b"", b"\xff\x00"), [1, 1, 1, 1], kind)
            self.assertEqual(self.do3("GD.ADD", kind, "c", "a"), [True, False], kind)
            self.assertEqual(self.do("GD.EXISTS", kind, "a", b"", b"\xff\x00", "x", "y"), [1, 1, 1, 0, 0], kind)
            self.assertEqual(self.do3("GD.EXISTS", kind, "b", "x"), [True, False], kind)
            counts = [2 if kind in COUNTING else 1, 1, 0]
            self.assertEqual(self.do("GD.COUNT", kind, "a", "b", "x"), counts, kind)
            self.assertEqual(self.do3("GD.COUNT", kind, "a", "b", "x"), counts, kind)
            self.assertEqual(self.do("TYPE", kind), "gdn-bloom" if kind == "scalable" else "gdn-filtr")
            # Where each copy takes room, each is counted.
            items = 6 if kind in table.able("copies") else 5
            self.assertEqual(self.do("GD.CARD", kind), items if kind in table.able("estimate") else None, kind)

    def test_many_items_go_in_by_batches(self):
        for kind in ("bloom", "counting", "cuckoo", "dynamic", "scalable", "stable"):
            self.reserve(kind, kind, "ITEMS 5000")
            new = self.do("GD.ADD", kind, *range(1000), *range(500))
            self.assertEqual(len(new), 1500)
            self.assertEqual(sum(new[1000:]), 0, kind)
            self.assertGreater(sum(new), 980, kind)
            self.assertEqual(self.do("GD.EXISTS", kind, *range(1000)), [1] * 1000, kind)
            self.assertLess(sum(self.do("GD.EXISTS", kind, *range(1000, 3000))), 60, kind)
            counts = self.do("GD.COUNT", kind, *range(1000))
            self.assertEqual(counts[:500].count(2) > 480, kind in COUNTING, kind)
            self.assertGreater(counts[500:].count(1), 480, kind)

    def test_absent_keys_and_other_types(self):
        self.assertEqual(self.do("GD.EXISTS", "k", "a", "b"), [0, 0])
        self.assertEqual(self.do3("GD.EXISTS", "k", "a"), [False])
        self.assertEqual(self.do("GD.COUNT", "k", "a", "b"), [0, 0])
        self.assertEqual(self.do("GD.CARD", "k"), 0)
        self.assertEqual(self.do("GD.HEXISTS", "k", pack(range(9))), b"\0\0")
        for words in ("ADD k a", "DEL k a", "INFO k", "DUMP k", "SCANDUMP k 0", "HADD k"):
            name, *words = words.split()
            words += [pack([1])] if name == "HADD" else []
            self.refused("ERR not found", "GD." + name, *words)
        self.refused("ERR source 1 is not there", "GD.MERGE", "k", "none")
        self.do("SET", "text", "a")
        self.reserve("k", "bloom")
        eight = pack([1])
        for words in (
            ("ADD", "text", "a"), ("EXISTS", "text", "a"), ("DEL", "text", "a"), ("COUNT", "text", "a"), ("CARD", "text"),
            ("INFO", "text"), ("DUMP", "text"), ("LOAD", "text", file("bloom")),
            ("LOAD", "text", file("bloom"), "REPLACE"),
            ("MERGE", "text", "k"), ("MERGE", "k", "text"), ("MERGE", "new", "k", "text"), ("HADD", "text", eight),
            ("HEXISTS", "text", eight), ("RESERVE", "text", "KIND", "bloom", "ITEMS", "9"), ("SCANDUMP", "text", "0"),
        ):  # fmt: skip
            self.refused(WRONG_TYPE, "GD." + words[0], *words[1:])
        self.refused("ERR item exists", "GD.RESERVE", "k", "KIND", "bloom", "ITEMS", "9")

    def test_numbers_of_arguments(self):
        for words in (
            "GD.RESERVE", "GD.RESERVE k", "GD.RESERVE k KIND", "GD.ADD k", "GD.EXISTS k", "GD.DEL k", "GD.COUNT k",
            "GD.CARD", "GD.CARD k a", "GD.INFO", "GD.INFO k a", "GD.MERGE", "GD.MERGE k", "GD.DUMP", "GD.DUMP k a",
            "GD.LOAD k", "GD.LOAD k a b c", "GD.HADD k", "GD.HADD k a b", "GD.HEXISTS k", "GD.HEXISTS k a b", "GD.SCANDUMP k",
            "GD.LOADCHUNK k 1",
        ):  # fmt: skip
            words = words.split()
            self.refused(arity(words[0].lower()), *words)

    def test_reserve_says_what_to_change(self):
        # The presets of spectral have one kind.
        made = (kind["name"] for kind in table.table()["kinds"] if kind["holds_keys"] and "insert" in kind["abilities"])
        known = ", ".join(made)
        for words, text in (
            ("ROSE bloom", "KIND and a kind of filter must follow the key"),
            ("KIND fuse", f"kind fuse is unknown, or not made here: {known} are known"),
            ("KIND bloom", "nothing says how large a filter of kind bloom is to be: give ITEMS, the number of keys"),
            ("KIND bloom ITEMS 0", "ITEMS is \"0\": it must be at least 1"),
            ("KIND bloom ITEMS rose", "ITEMS is \"rose\": a number such as 1000, 10M or 1e7 is expected"),
            ("KIND bloom ITEMS 9 FPP 1", 'FPP is "1": it must be between 0 and 1 (exclusive), such as 0.01 or 1%'),
            ("KIND bloom ITEMS 9 FPP NaN", 'FPP is "NaN": a probability such as 0.01, 1% or 1/100 is expected'),
            ("KIND bloom ITEMS 9 ROSES", "option ROSES is unknown"),
            ("KIND bloom ITEMS 9 DIGIT 3", "a filter of kind bloom has no DIGIT: leave it out, or choose another kind, such as bitwise"),
            ("KIND stable ITEMS 9 WIDTH 33", "33 bits per cell: must be between 1 and 32: change WIDTH"),
            ("KIND bloom BITS 100 HASHES 256", 'HASHES is "256": it must be between 1 and 255'),
        ):
            self.refused("ERR " + text, "GD.RESERVE", "k", *words.split())

    def test_sizes_are_checked_before_memory_is_taken(self):
        before = int(self.server.info("memory", "used_memory"))
        for kind in KINDS:
            sizes = ["ITEMS"] if "items" in table.KEPT[kind]["options"] else ["COLUMNS", "BITS", "MEMORY"]
            sizes += ["MEMORY"] if kind in ("bloom", "stable", "counting") else []
            for size in sizes:
                more = "" if size != "MEMORY" or kind == "count-min" else "ITEMS 100"
                for number in (10**9 * 2, 10**12, 10**18, 2**64 - 1):
                    reply = self.do("GD.RESERVE", "k", "KIND", kind, size, number, *more.split())
                    self.assertIsInstance(reply, Error, (kind, size, number))
        self.assertEqual(self.do("EXISTS", "k"), 0)
        self.assertLess(int(self.server.info("memory", "used_memory")), before + 500_000)
        self.refused(
            "ERR the filter needs 237265440 bytes, over the limit of 134217728: lower its size, or raise bf.memory-limit",
            "GD.RESERVE", "k", "KIND", "bloom", "FPP", "0.0001", "ITEMS", "99000000",
        )  # fmt: skip

    def test_a_full_filter_ends_the_answer(self):
        self.reserve("k", "cuckoo", "CELLS 16 WIDTH 16")
        replies = self.do("GD.ADD", "k", *range(40))
        self.assertEqual(replies[-1], FULL)
        taken = len(replies) - 1
        self.assertTrue(10 <= taken <= 16)
        self.assertEqual(self.do("GD.EXISTS", "k", *range(taken)), [1] * taken)
        self.assertEqual(self.do3("GD.ADD", "k", str(taken), "x"), [FULL])

    def test_a_ninth_copy_ends_the_answer_and_other_items_still_fit(self):
        self.reserve("k", "cuckoo")
        self.assertEqual(self.do("GD.ADD", "k", *["a"] * 9, "b"), [1] + [0] * 7 + [COPIES])
        self.assertEqual(self.do3("GD.ADD", "k", "b", "a"), [True, COPIES])
        self.reserve("h", "cuckoo")
        text = "ERR the filter holds no further copy of the next item: the first 8 of 10 digests went in, and no more"
        self.assertEqual(self.do("GD.HADD", "h", pack([7] * 9 + [8])), Error(text))
        self.assertEqual(self.do("GD.COUNT", "k", "a", "b"), [8, 1])
        self.assertEqual(self.do("GD.DEL", "k", *["a"] * 9), [1] * 8 + [0])

    def test_growth_ends_at_the_limit(self):
        self.reserve("b", "bitwise", "ITEMS 20000")
        growing = [kind for kind in table.able("grow") if "items" in table.KEPT[kind]["options"]]
        self.assertGreaterEqual(len(growing), 4)
        self.do("CONFIG", "SET", "bf.memory-limit", "20000")
        try:
            for kind in growing:
                self.reserve("k", kind, "ITEMS 1000")
                replies = self.do("GD.ADD", "k", *range(40000))
                self.assertEqual(replies[-1], NO_GROWTH, kind)
                taken = len(replies) - 1
                self.assertGreaterEqual(taken, 3000, kind)
                self.assertEqual(self.do("GD.EXISTS", "k", *range(taken)), [1] * taken, kind)
                self.assertLess(self.info("k")["Size"], 21000, kind)
                new = next(f"a{number}" for number in range(1000) if self.do("GD.EXISTS", "k", f"a{number}") == [0])
                self.assertEqual(self.do("GD.ADD", "k", new), [NO_GROWTH], kind)
                # A set has room for what is in already.
                known = [0, 0] if kind in table.able("set") else [NO_GROWTH]
                self.assertEqual(self.do("GD.ADD", "k", "0", "1"), known, kind)
                digests = pack([number * 0x9E3779B97F4A7C15 % 2**64 for number in range(1, 2000)])
                reply = self.do("GD.HADD", "k", digests)
                text = r"ERR the filter may not grow: the first \d+ of 1999 digests went in, and no more"
                self.assertRegex(reply.text, text, kind)
                self.assertLess(self.info("k")["Size"], 21000, kind)
                self.do("CONFIG", "SET", "bf.memory-limit", "128mb")
                self.assertEqual(self.do("GD.ADD", "k", new), [1], kind)
                self.do("CONFIG", "SET", "bf.memory-limit", "20000")
                self.do("DEL", "k")
            self.assertEqual(self.do("GD.ADD", "b", "a"), [NO_GROWTH])
        finally:
            self.do("CONFIG", "SET", "bf.memory-limit", "128mb")

    def test_items_are_taken_out_where_they_can_be(self):
        for kind in KINDS:
            self.reserve(kind, kind)
            self.do("GD.ADD", kind, "a", "b")
            if kind not in REMOVING:
                self.refused("ERR a filter of this kind cannot remove items", "GD.DEL", kind, "a")
                continue
            self.assertEqual(self.do("GD.DEL", kind, "a", "x", "a"), [1, 0, 0], kind)
            self.assertEqual(self.do3("GD.DEL", kind, "b", "b"), [True, False], kind)
            self.assertEqual(self.do("GD.EXISTS", kind, "a", "b"), [0, 0], kind)
        # Counts that are lost cannot be taken back, and that is said of each.
        self.reserve("k", "counting", "ITEMS 100 WIDTH 2")
        self.do("GD.ADD", "k", *["a"] * 9, "b")
        stuck = Error("ERR the key's cells are all at their top and have lost count: it can no longer be removed")
        self.assertEqual(self.do("GD.DEL", "k", "b", "a", "x"), [1, stuck, 0])

    def test_info_tells_what_it_is(self):
        self.reserve("k", "bloom", "ITEMS 1000 FPP 0.001", seed=2**64 - 1)
        self.do("GD.ADD", "k", *range(1000))
        info = self.info("k")
        self.assertTrue(970 < info.pop("Items") < 1030)
        self.assertTrue(0.0003 < float(info.pop("Current error rate")) < 0.002)
        self.assertTrue(1800 < info.pop("Size") < 2400)
        self.assertTrue(14000 < info.pop("Cells") < 15000)
        self.assertEqual(
            info,
            {
                "Kind": b"bloom", "Capacity": 1000, "Error rate": b"0.001", "Width": 1, "Hashes": 10, "Hasher": b"xxh3",
                "Seed": b"18446744073709551615", "Takes": [b"add", b"merge"],
            },
        )  # fmt: skip
        for kind in KINDS:
            self.do("DEL", "k")
            self.reserve("k", kind)
            info = self.info("k")
            self.assertEqual((info["Kind"], info["Seed"]), (kind.encode(), b"7"))
            takes = [b"add"] + [b"del"] * (kind in REMOVING)
            takes += [b"count"] * (kind in COUNTING) + [b"merge"] * (kind in MERGING)
            self.assertEqual(info["Takes"], takes, kind)
        # Without SEED it is that of the command line, and filters can be united.
        for key in ("a", "b"):
            self.do("GD.RESERVE", key, "KIND", "bloom", "ITEMS", "9")
            self.do("GD.ADD", key, key)
        self.assertEqual(self.info("a")["Seed"], b"0")
        self.assertEqual(self.do("GD.MERGE", "a", "b"), "OK")
        self.assertEqual(self.do("GD.EXISTS", "a", "a", "b", "c"), [1, 1, 0])

    def test_sketches_of_cms_are_dumped_too(self):
        self.do("CMS.INITBYDIM", "k", "100", "5")
        self.do("CMS.INCRBY", "k", "a", "7")
        self.assertEqual(self.do("GD.LOAD", "sketch", self.do("GD.DUMP", "k")), "OK")
        self.assertEqual(self.do("GD.COUNT", "sketch", "a", "b"), [7, 0])
        self.assertEqual(self.info("sketch")["Kind"], b"count-min")

    def test_filters_are_united(self):
        for kind in KINDS:
            for key in ("a", "b", "c"):
                self.reserve(key, kind, KINDS[kind] + (" UPDATE plain" if kind == "count-min" else ""))
                self.do("GD.ADD", key, key, "all")
            if kind not in MERGING:
                self.refused(f"ERR filters of kind {kind} cannot be merged", "GD.MERGE", "a", "b")
                self.refused(f"ERR filters of kind {kind} cannot be merged", "GD.MERGE", "new", "a", "b")
            else:
                self.assertEqual(self.do("GD.MERGE", "a", "b", "c"), "OK", kind)
                self.assertEqual(self.do("GD.EXISTS", "a", "a", "b", "c", "all", "x"), [1, 1, 1, 1, 0], kind)
                self.assertEqual(self.do("GD.COUNT", "a", "all"), [3 if kind in COUNTING else 1], kind)
                self.assertEqual(self.do("GD.EXISTS", "b", "a", "c"), [0, 0], kind)
                # One key may stand twice.
                self.assertEqual(self.do3("GD.MERGE", "b", "b", "c"), "OK", kind)
                self.assertEqual(self.do("GD.COUNT", "b", "b"), [2 if kind in COUNTING else 1], kind)
                self.assertEqual(self.do("GD.MERGE", "new", "b", "c"), "OK")
                self.assertEqual(self.do("GD.EXISTS", "new", "b", "c", "a"), [1, 1, 0], kind)
            # One that is new is a copy of the first.
            self.assertEqual(self.do("GD.MERGE", "copy", "c"), "OK", kind)
            self.assertEqual(*self.server.digest("copy", "c"), kind)
            self.do("FLUSHALL")

    def test_filters_that_differ_are_not_united(self):
        self.reserve("a", "bloom")
        for key, kind, options, seed, text in (
            ("b", "blocked", "ITEMS 100", 7, "kind: bloom here, blocked there"),
            ("c", "bloom", "ITEMS 100", 8, "seed: 0x7 here, 0x8 there"),
            ("d", "bloom", "ITEMS 100 SCHEME double", 7, "scheme: fractional here, double there"),
            ("e", "bloom", "BITS 960 HASHES 6", 7, "hashes: 7 here, 6 there"),
            ("f", "bloom", "BITS 1024 HASHES 7", 7, "cells: 962 here, 1024 there"),
            ("g", "scalable", "ITEMS 100", 7, "kind: bloom here, scalable there"),
        ):
            self.reserve(key, kind, options, seed)
            self.refused(f"ERR source 1: the filters differ in {text}", "GD.MERGE", "a", key)
            self.refused(f"ERR source 2: the filters differ in {text}", "GD.MERGE", "a", "a", key)
            self.refused(f"ERR source 2: the filters differ in {text}", "GD.MERGE", "new", "a", key)
        self.reserve("m", "count-min", "COLUMNS 300 UPDATE plain")
        self.reserve("n", "count-min", "COLUMNS 300")
        self.refused("ERR source 1: the filters differ in update: plain here, conservative there", "GD.MERGE", "m", "n")

    def test_a_key_that_takes_others_in_lives_as_long_as_it_was_to(self):
        self.reserve("a", "bloom")
        self.reserve("b", "bloom")
        self.do("EXPIRE", "a", "1000")
        self.do("GD.MERGE", "a", "b")
        self.assertTrue(900 < self.do("TTL", "a") <= 1000)

    def test_files_of_the_library_load_answer_and_come_back(self):
        refused = {
            "bloom-keyed": "ERR the filter is keyed, and its secret",
            "count-sketch": "ERR the file holds a filter of kind count-sketch, not one that can be asked for keys",
            "distance-hamming": "ERR the file holds a filter of kind distance",
            "distance-hamming-keyed": "ERR the file holds a filter of kind distance",
            "distance-jaccard": "ERR the file holds a filter of kind distance",
            "range-count-min": "ERR the file holds a filter of kind range-count-min, not one that can be asked for keys",
            "top": "ERR the file holds a filter of kind top, not one that can be asked for keys",
            "top-exact": "ERR the file holds a filter of kind top, not one that can be asked for keys",
        }
        names = sorted(os.path.basename(path)[:-4] for path in glob.glob(os.path.join(DATA, "*.gdn")))
        self.assertGreater(len(names), 40)
        for name in names:
            bytes = file(name)
            if name in refused:
                reply = self.do("GD.LOAD", name, bytes)
                self.assertTrue(isinstance(reply, Error) and reply.text.startswith(refused[name]), (name, reply))
                continue
            self.assertEqual(self.do("GD.LOAD", name, bytes), "OK", name)
            dumped = self.do("GD.DUMP", name)
            if name.startswith("compressed"):
                # Its bits are those of a Bloom filter.
                self.assertEqual(self.info(name)["Kind"], b"bloom")
                bytes = dumped
            self.assertEqual(dumped, bytes, name)
            self.assertEqual(self.do("TYPE", name), "gdn-bloom" if name == "scalable" else "gdn-filtr")
            kind = self.info(name)["Kind"].decode()
            others = ("cuckoo", "dynamic", "scalable", "scalable-blocked", "infini", "count-min", "golomb", "retouched")
            if kind not in others and name not in OTHER:
                self.assertEqual(self.do("GD.EXISTS", name, *FLOWERS), [1] * len(FLOWERS), name)
                absent = (struct.pack("<I", number) for number in range(1000))
                self.assertLess(sum(self.do("GD.EXISTS", name, *absent)), 40, name)
            if kind in STATIC:
                self.refused(FIXED, "GD.ADD", name, "a")
                self.refused(FIXED, "GD.HADD", name, pack([1]))
            elif not name.startswith("cuckoo"):
                self.assertEqual(len(self.do("GD.ADD", name, "new item")), 1, name)
            # What it is now travels in one piece and in many.
            again = self.do("GD.DUMP", name)
            self.assertEqual(self.do("GD.LOAD", "again", again), "OK")
            self.assertEqual(*self.server.digest(name, "again"), name)
            chunks = dump(self.do, "GD.SCANDUMP", name)
            self.do("DEL", "again")
            for at, piece in chunks:
                self.assertEqual(self.do("GD.LOADCHUNK", "again", at, piece), "OK")
            self.assertEqual(*self.server.digest(name, "again"), name)
            self.assertEqual(self.do("COPY", name, "again", "REPLACE"), 1)
            self.assertEqual(*self.server.digest(name, "again"), name)
            self.do("DEL", "again")

    def test_load_says_what_is_wrong(self):
        good = file("bloom")
        self.refused("ERR the bytes are no Gardenia file", "GD.LOAD", "k", b"roses are red")
        self.refused("ERR truncated: 8 bytes needed, 3 there", "GD.LOAD", "k", b"abc")
        self.refused(f"ERR truncated: {len(good)} bytes needed, {len(good) - 1} there", "GD.LOAD", "k", good[:-1])
        self.refused("ERR 1 bytes follow the end of the filter: it is corrupted, or more than one file", "GD.LOAD", "k", good + b"x")
        damaged = bytearray(good)
        damaged[200] ^= 1
        self.assertTrue(self.do("GD.LOAD", "k", bytes(damaged)).text.startswith("ERR corrupted: the checksum of payload"))
        self.refused(
            "ERR the filter is keyed, and its secret (id d91607dc333790b7) is not in the file: write the file with its "
            "secret stored (--store-secret), or build it without one",
            "GD.LOAD", "k", file("bloom-keyed"),
        )  # fmt: skip
        self.assertEqual(self.do("EXISTS", "k"), 0)
        self.refused("ERR after the bytes only REPLACE can follow", "GD.LOAD", "k", good, "NOW")
        self.assertEqual(self.do("GD.LOAD", "k", good), "OK")
        self.refused("ERR item exists", "GD.LOAD", "k", file("blocked"))
        self.refused("ERR the bytes are no Gardenia file", "GD.LOAD", "k", b"roses are red", "REPLACE")
        self.assertEqual(self.do("GD.LOAD", "k", file("blocked"), "replace"), "OK")
        self.assertEqual(self.info("k")["Kind"], b"blocked")
        # A key of BF.* is replaced, too.
        self.do("BF.ADD", "bf", "a")
        self.assertEqual(self.do("GD.LOAD", "bf", good, "REPLACE"), "OK")
        self.assertEqual(self.do("GD.DUMP", "bf"), good)
        self.do("CONFIG", "SET", "bf.memory-limit", "1000")
        try:
            self.do("DEL", "k")
            self.assertIn("over the limit of 1000: raise bf.memory-limit", self.do("GD.LOAD", "k", file("counting")).text)
        finally:
            self.do("CONFIG", "SET", "bf.memory-limit", "128mb")

    def test_scalable_filters_are_keys_of_both_families(self):
        self.assertEqual(self.do("GD.LOAD", "k", file("scalable")), "OK")
        self.assertEqual(self.do("BF.ADD", "k", "a new one"), 1)
        self.assertEqual(self.do("GD.EXISTS", "k", "a new one", "another"), [1, 0])
        self.assertEqual(self.do("GD.CARD", "k"), self.do("BF.CARD", "k"))
        self.do("BF.MADD", "bf", *range(500))
        self.assertEqual(self.do("GD.EXISTS", "bf", *range(500)), [1] * 500)
        self.assertEqual(self.do("GD.COUNT", "bf", "1", "x"), [1, 0])
        self.assertEqual(self.info("bf")["Kind"], b"scalable")
        self.assertEqual(self.do("GD.LOAD", "copy", self.do("GD.DUMP", "bf")), "OK")
        self.assertEqual(*self.server.digest("bf", "copy"))
        self.assertEqual(self.do("GD.ADD", "bf", *range(490, 520))[:10], [0] * 10)
        self.assertEqual(self.do("BF.MEXISTS", "bf", *range(520)), [1] * 520)
        self.refused("ERR a filter of this kind cannot remove items", "GD.DEL", "bf", "1")
        # RedisBloom's layout has another hash function.
        self.assertEqual(self.do("GD.MERGE", "union", "bf"), "OK")
        self.refused("ERR filters of kind scalable cannot be merged", "GD.MERGE", "bf", "copy")

    def test_a_filter_that_is_still_coming_is_no_filter_yet(self):
        self.reserve("k", "bloom", "ITEMS 1000")
        (_, header), (end, body) = dump(self.do, "GD.SCANDUMP", "k")
        self.do("GD.LOADCHUNK", "half", 1, header)
        for words in ("ADD a", "EXISTS a", "DEL a", "COUNT a", "CARD", "INFO", "DUMP", "MERGE"):
            name, *words = words.split()
            words = ["half", *words] if name != "MERGE" else ["half", "k"]
            self.refused("ERR the filter is still being loaded", "GD." + name, *words)
        self.assertEqual(self.do("GD.LOADCHUNK", "half", 301, body[:300]), "OK")
        self.refused("ERR invalid offset - it is not the next chunk", "GD.LOADCHUNK", "half", end, body)
        self.assertEqual(self.do("GD.LOADCHUNK", "half", end, body[300:]), "OK")
        self.assertEqual(*self.server.digest("k", "half"))

    def test_digests_are_those_of_other_programs(self):
        table = list(hashes())
        self.assertEqual(len(table), 13)
        for at, seed in enumerate((0, 1, 2**64 - 1)):
            digests = pack([digests[at] for _, digests in table])
            for kind in KINDS:
                self.do("DEL", "k", "h")
                self.reserve("k", kind, seed=seed)
                self.reserve("h", kind, seed=seed)
                self.do("GD.ADD", "k", *(item for item, _ in table))
                self.assertEqual(bits(self.do("GD.HEXISTS", "k", digests), 13), [1] * 13, kind)
                self.assertEqual(bits(self.do("GD.HADD", "h", digests), 13), [1] * 13, kind)
                self.assertEqual(*self.server.digest("k", "h"), kind)

    def test_packed_digests(self):
        random.seed(5)
        digests = [random.getrandbits(64) for _ in range(3000)]
        for kind in ("bloom", "blocked", "counting", "a2", "cuckoo", "dynamic", "scalable"):
            self.reserve(kind, kind, "ITEMS 6000")
            # Copies of many items would block a cuckoo filter.
            for count in (0, 9, 513, 3000) if kind == "cuckoo" else (0, 1, 7, 8, 9, 511, 512, 513, 3000):
                new = bits(self.do("GD.HADD", kind, pack(digests[:count])), count)
                self.assertEqual(bits(self.do3("GD.HEXISTS", kind, pack(digests[:count])), count), [1] * count, kind)
            self.assertLess(sum(new[:513]), 1)
            self.assertGreater(sum(new[513:]), 2400)
            others = [random.getrandbits(64) for _ in range(1001)]
            mixed = [digest for pair in zip(digests, others) for digest in pair]
            found = bits(self.do("GD.HEXISTS", kind, pack(mixed)), len(mixed))
            self.assertEqual(found[::2], [1] * len(others))
            self.assertLess(sum(found[1::2]), 40, kind)
        for command in ("GD.HADD", "GD.HEXISTS"):
            text = "ERR digests have 8 bytes each: the length must be a multiple of 8"
            self.refused(text, command, "bloom", b"1234567")
            self.refused(text, command, "none", b"123456789")
        # What went in before the end stays in.
        self.reserve("full", "cuckoo", "CELLS 16 WIDTH 16")
        reply = self.do("GD.HADD", "full", pack(digests[:600]))
        taken = int(reply.text.split()[7])
        self.assertEqual(reply, Error(f"ERR the filter is full: the first {taken} of 600 digests went in, and no more"))
        self.assertEqual(bits(self.do("GD.HEXISTS", "full", pack(digests[:taken])), taken), [1] * taken)

    def test_a_copy_is_a_copy(self):
        for kind in KINDS:
            self.reserve(kind, kind)
            self.do("GD.ADD", kind, *range(40))
            self.assertEqual(self.do("COPY", kind, "copy", "REPLACE"), 1)
            self.assertEqual(*self.server.digest(kind, "copy"), kind)
            for key in (kind, "copy"):
                self.do("GD.ADD", key, *range(30, 70))
            self.assertEqual(*self.server.digest(kind, "copy"), kind)
            self.do("GD.ADD", "copy", "a")
            self.assertNotEqual(*self.server.digest(kind, "copy"), kind)

    def test_memory_is_counted(self):
        before = int(self.server.info("memory", "used_memory"))
        self.reserve("k", "counting", "ITEMS 2000000")
        usage, info = self.do("MEMORY", "USAGE", "k"), self.info("k")["Size"]
        self.assertTrue(9_000_000 < info <= usage < 11_000_000, (info, usage))
        self.assertTrue(9_000_000 < int(self.server.info("memory", "used_memory")) - before < 15_000_000)
        self.do("UNLINK", "k")
        self.server.wait(lambda: int(self.server.info("memory", "used_memory")) < before + 1_000_000)

    def test_events_are_told(self):
        self.do("CONFIG", "SET", "notify-keyspace-events", "KEA")
        listener = Wire(self.server.port)
        listener.do("SUBSCRIBE", "__keyspace@0__:k")
        self.reserve("k", "counting")
        self.reserve("other", "counting")
        self.do("GD.ADD", "k", "a", "b")
        self.do("GD.EXISTS", "k", "b")
        self.do("GD.DEL", "k", "x")
        self.do("GD.DEL", "k", "a")
        self.do("GD.HADD", "k", pack([1, 2]))
        self.do("GD.HADD", "k", b"")
        self.do("GD.MERGE", "k", "other")
        self.do("GD.LOAD", "k", file("bloom"), "REPLACE")
        self.do("GD.ADD", "k", "rose")
        self.do("DEL", "k")
        events = []
        while not events or events[-1] != b"del":
            events.append(listener.read()[2])
        listener.close()
        self.do("CONFIG", "SET", "notify-keyspace-events", "")
        named = [event.decode() for event in events if event.startswith(b"gd.")]
        self.assertEqual(named, ["gd.reserve", "gd.add", "gd.del", "gd.hadd", "gd.merge", "gd.load"])

    def test_transactions_and_scripts(self):
        self.reserve("k", "bloom")
        self.do("GD.ADD", "k", "a")
        other = Wire(self.server.port)
        for words, changes in (
            (("GD.ADD", "k", "a"), False), (("GD.ADD", "k", "b"), True), (("GD.EXISTS", "k", "b"), False),
            (("GD.HADD", "k", pack([5])), True), (("GD.HADD", "k", pack([5])), False), (("GD.MERGE", "k", "k"), True),
        ):  # fmt: skip
            other.do("WATCH", "k")
            self.do(*words)
            other.do("MULTI")
            other.do("PING")
            self.assertEqual(other.do("EXEC"), None if changes else ["PONG"], words)
        other.close()
        script = "return redis.call('GD.ADD', KEYS[1], 'a', 'z')"
        self.assertEqual(self.do("EVAL", script, 1, "k"), [0, 1])
        self.do("MULTI")
        self.do("GD.ADD", "k", "y")
        self.do("GD.EXISTS", "k", "y", "x")
        self.assertEqual(self.do("EXEC"), [[1], [1, 0]])

    def test_access_can_be_given_by_category(self):
        if self.engine == "redis":
            self.skipTest("Redis 7.0 has no categories for modules")
        self.assertEqual(len(self.do("ACL", "CAT", "gardenia")), 15)
        self.do("ACL", "SETUSER", "reader", "on", "nopass", "~k*", "+@gardenia", "-@write")
        reader = Wire(self.server.port)
        reader.do("AUTH", "reader", "x")
        self.assertEqual(reader.do("GD.EXISTS", "k", "a"), [0])
        for words in ("GD.ADD k a", "GD.EXISTS other a", "BF.EXISTS k a"):
            self.assertTrue(reader.do(*words.split()).text.startswith("NOPERM"), words)
        # All sources of a union are keys.
        self.do("ACL", "SETUSER", "reader", "+gd.merge")
        self.assertTrue(reader.do("GD.MERGE", "k", "k1", "other").text.startswith("NOPERM"))
        reader.close()

    def test_what_the_command_line_builds_is_here_and_back(self):
        program = os.environ.get("GARDENIA_CLI")
        if not program:
            self.skipTest("GARDENIA_CLI names no program")
        with tempfile.TemporaryDirectory() as folder:
            inside = lambda name: os.path.join(folder, name)  # noqa: E731
            with open(inside("in"), "w") as lines:
                lines.writelines(f"line {number}\n" for number in range(500))
            with open(inside("asked"), "w") as lines:
                lines.writelines(f"line {number}\n" for number in range(3000))
            asked = [f"line {number}" for number in range(3000)]

            def found(path):
                """What the command line finds."""
                run = subprocess.run([program, "query", path, inside("asked")], capture_output=True, text=True)
                return set(run.stdout.splitlines())

            for kind in (*(kind for kind in KINDS if "items" in table.KEPT[kind]["options"]), "fuse", "ribbon", "golomb", "compressed"):
                path = inside(kind)
                sized = () if kind in ("fuse", "ribbon", "golomb") else ("--items", "500")
                # The command would let all keys choose together.
                sized += ("--effort", "online") if kind == "choice" else ()
                subprocess.run([program, "build", "-q", "--kind", kind, *sized, inside("in"), "-o", path], check=True)
                with open(path, "rb") as bytes:
                    self.assertEqual(self.do("GD.LOAD", "k", bytes.read(), "REPLACE"), "OK", kind)
                answers = self.do("GD.EXISTS", "k", *asked)
                there = {item for item, answer in zip(asked, answers) if answer}
                self.assertEqual(there, found(path), kind)
                # And the other way round: the same options make the same bits.
                if kind not in KINDS:
                    continue
                if kind != "scalable":
                    self.do("GD.RESERVE", "own", "KIND", kind, "ITEMS", 500, "SEED", 0)
                    self.do("GD.ADD", "own", *asked[:500])
                    self.assertEqual(content(self.do("GD.DUMP", "own")), content(self.do("GD.DUMP", "k")), kind)
                    self.do("DEL", "own")
                self.do("GD.ADD", "k", "line 2999")
                with open(inside("back"), "wb") as back:
                    back.write(self.do("GD.DUMP", "k"))
                answers = self.do("GD.EXISTS", "k", *asked)
                self.assertEqual({item for item, answer in zip(asked, answers) if answer}, found(inside("back")), kind)
                self.assertIn("line 2999", found(inside("back")))


class Filled:
    """Filters of every kind, each with a copy, one of them still arriving."""

    def fill(self):
        for kind, options in KINDS.items():
            self.do("GD.RESERVE", kind, "KIND", kind, *options.split())
            self.do("GD.ADD", kind, *range(60))
            self.do("GD.ADD", kind, *range(20))
            self.do("COPY", kind, kind + "2")
        self.do("GD.DEL", "counting", *range(5))
        self.do("GD.DEL", "counting2", *range(5))
        self.do("GD.RESERVE", "large", "KIND", "counting", "ITEMS", "4000000")
        self.do("GD.ADD", "large", *range(1000))
        for name in ("ribbon", "fuse-four", "golomb", "bloomier", "spectral-compact", "compressed", "bloom-keyed-stored"):
            self.do("GD.LOAD", name, file(name))
        self.do("GD.MERGE", "union", "bloom", "bloom2")
        (_, header), (self.end, self.bytes) = dump(self.do, "GD.SCANDUMP", "counting2")
        self.do("GD.LOADCHUNK", "half", 1, header)
        self.do("GD.LOADCHUNK", "half", 301, self.bytes[:300])
        self.keys = sorted(self.do("KEYS", "*"))
        self.assertEqual(len(self.keys), 2 * len(KINDS) + 10)
        self.infos = [self.info(key) for key in self.keys]
        return self.keys

    def info(self, key):
        """All but the size: memory that was taken for growth is not stored."""
        info = self.do3("GD.INFO", key)
        if isinstance(info, dict):
            info.pop("Size")
        return info

    def go_on(self):
        self.assertEqual(sorted(self.do("KEYS", "*")), self.keys)
        for key, info in zip(self.keys, self.infos):
            self.assertEqual(self.info(key), info, key)
        self.assertEqual(self.do("GD.LOADCHUNK", "half", self.end, self.bytes[300:]), "OK")
        self.assertEqual(*self.server.digest("half", "counting2"))
        for kind in KINDS:
            for key in (kind, kind + "2"):
                self.do("GD.ADD", key, *range(50, 90))
            self.assertEqual(*self.server.digest(kind, kind + "2"), kind)


class Restarts(Filled, restarts.Restarts):
    pass


class Appended(Filled, restarts.Appended):
    pass


class Replicas(Case):
    def test_a_replica_has_the_same_bits(self):
        random.seed(8)
        # It would end itself at the first command that is refused there, and has limits and settings of its own.
        replica = replica_of(self.server, "--propagation-error-behavior", "panic-on-replicas")
        try:
            replica.do("CONFIG", "SET", "bf.initial-size", "7", "bf.memory-limit", "100")
            self.do("CONFIG", "SET", "bf.memory-limit", "70000")
            files = [file(name) for name in ("bloom", "fuse", "scalable", "dynamic", "compressed", "count-min")]
            kinds, item = list(KINDS), lambda: random.randrange(300)
            commands = []
            for _ in range(10_000):
                kind = random.choice(kinds)
                key = kind + random.choice(("", "2"))
                chance = random.random()
                if chance < 0.5:
                    commands.append(("GD.ADD", key, *(item() for _ in range(random.randrange(1, 20)))))
                elif chance < 0.6:
                    digests = [random.randrange(1, 50) * 0x9E3779B97F4A7C15 % 2**64 for _ in range(random.randrange(9))]
                    commands.append(("GD.HADD", key, pack(digests)))
                elif chance < 0.8:
                    commands.append(("GD.DEL", key, *(item() for _ in range(random.randrange(1, 9)))))
                elif chance < 0.86:
                    seed = random.choice(((), ("SEED", 5)))
                    commands.append(("GD.RESERVE", key, "KIND", kind, *KINDS[kind].split(), *seed))
                elif chance < 0.92:
                    commands.append(("GD.MERGE", key, kind, kind + "2"))
                elif chance < 0.94:
                    commands.append(("GD.LOAD", key, random.choice(files), *random.choice(((), ("REPLACE",)))))
                elif chance < 0.96:
                    commands.append(("DEL", key))
                else:
                    commands.append(("GD.EXISTS", key, item()))
            replies = []
            for start in range(0, len(commands), 500):
                replies += self.server.wire().pipeline(commands[start : start + 500])
            # Of each command that changes something many were accepted, and some not.
            for name in ("GD.ADD", "GD.HADD", "GD.DEL", "GD.RESERVE", "GD.MERGE", "GD.LOAD"):
                done = [isinstance(reply, Error) for words, reply in zip(commands, replies) if words[0] == name]
                self.assertTrue(20 < done.count(False) and 20 < done.count(True), name)
            self.do("MULTI")
            self.do("GD.RESERVE", "multi", "KIND", "cuckoo", "ITEMS", "9")
            self.do("GD.ADD", "multi", "a", "b")
            self.do("EXEC")
            self.do("EVAL", "return redis.call('GD.ADD', KEYS[1], 'c')", 1, "multi")
            follow(self.server, replica)
            self.assertEqual(replica.digest(), self.server.digest())
            keys = sorted(self.do("KEYS", "*"))
            self.assertTrue(all(f"{kind}".encode() in keys or f"{kind}2".encode() in keys for kind in KINDS), keys)
            self.assertEqual(replica.digest(*keys), self.server.digest(*keys))
        finally:
            self.do("CONFIG", "SET", "bf.memory-limit", "128mb")
            replica.remove()

    def test_only_what_was_accepted_is_passed_on(self):
        self.do("CONFIG", "SET", "repl-ping-replica-period", "3600")
        replica = replica_of(self.server)
        watcher = Wire(replica.port)
        watcher.do("MONITOR")
        try:
            self.do("GD.RESERVE", "k", "KIND", "bloom", "ERROR", "0.001", "ITEMS", "3", "SEED", "7")
            self.do("GD.RESERVE", "m", "KIND", "counting", "MEMORY", "1000", "ITEMS", "50", "SEED", "7")
            self.do("GD.RESERVE", "s", "KIND", "scalable", "SEED", "7")
            self.do("GD.RESERVE", "c", "KIND", "cuckoo", "CELLS", "16", "WIDTH", "16", "SEED", "7")
            self.do("GD.ADD", "k", "a", "b")
            self.do("GD.ADD", "k", "a", "b")
            self.do("GD.ADD", "k", "c", "a")
            self.do("GD.ADD", "m", "a", "a")
            self.do("GD.DEL", "m", "x", "a", "y")
            self.do("GD.DEL", "m", "x")
            self.do("GD.HADD", "k", b"ROSETREE")
            self.do("GD.HADD", "k", b"ROSETREE")
            self.do("GD.MERGE", "k", "m")
            self.do("GD.MERGE", "k2", "k")
            self.do("GD.LOAD", "k", b"no")
            taken = self.do("GD.ADD", "c", *range(40))[:-1]
            self.do("GD.ADD", "c", "new")
            self.do("SET", "end", "1")
            seen = []
            while not seen or b"end" not in seen[-1].encode():
                seen.append(watcher.read())
            passed = [line.split('"', 1)[1] for line in seen if '"GD.' in line.upper() or '"BF.' in line.upper()]
            items = " ".join(f'"{item}"' for item, new in enumerate(taken) if new)
            # Everything is filled in: replicas size nothing by rules of their own.
            rest = '"SCHEME" "fractional" "SEED" "7"'
            asked = 'GD.RESERVE" "k" "KIND" "bloom" "ITEMS" "3" "PLANNED-FPP" "0.001" "BITS" "48" "HASHES" "[0-9]+" '
            self.assertRegex(passed[0], asked + rest)
            asked = 'GD.RESERVE" "m" "KIND" "counting" "ITEMS" "50" "CELLS" "1920" "HASHES" "[0-9]+" "WIDTH" "4" '
            self.assertRegex(passed[1], asked + rest)
            self.assertEqual(
                passed[2:],
                [
                    'BF.RESERVE" "s" "0.01" "100" "EXPANSION" "2" "SEED" "7" "TIGHTENING" "0.8" "PEAK" "9"',
                    'GD.RESERVE" "c" "KIND" "cuckoo" "CELLS" "16" "WIDTH" "16" "SEED" "7"',
                    'GD.ADD" "k" "a" "b"',
                    'GD.ADD" "k" "c" "a"',
                    'GD.ADD" "m" "a" "a"',
                    'GD.DEL" "m" "a"',
                    'GD.HADD" "k" "ROSETREE"',
                    'GD.MERGE" "k2" "k"',
                    f'GD.ADD" "c" {items}',
                ],
            )
            # Of digests as many as went in.
            self.do("GD.RESERVE", "c2", "KIND", "cuckoo", "CELLS", "16", "WIDTH", "16", "SEED", "7")
            random.seed(6)
            self.assertIsInstance(self.do("GD.HADD", "c2", random.randbytes(320)), Error)
            follow(self.server, replica)
            self.assertEqual(replica.digest(), self.server.digest())
        finally:
            watcher.close()
            replica.remove()


class Hostile(hostile.Hostile):
    family = "GD"

    def fill(self):
        for kind, options in KINDS.items():
            if kind != "scalable":
                for large, small in (("100", "30"), ("300", "40"), ("60", "20"), ("ITEMS 50", "ITEMS 15")):
                    options = options.replace(large, small)
                self.do("GD.RESERVE", kind, "KIND", kind, *options.split(), "SEED", "7")
                self.do("GD.ADD", kind, *range(20))
        names = ("fuse", "ribbon", "golomb-one-run")
        for name in names:
            self.do("GD.LOAD", name, file(name))
        return (*(kind for kind in KINDS if kind != "scalable"), *names)

    uses = (
        ("GD.ADD", "x", *range(50)),
        ("GD.EXISTS", "x", *range(20)),
        ("GD.COUNT", "x", *range(20)),
        ("GD.DEL", "x", *range(20)),
        ("GD.HADD", "x", pack(range(1, 20))),
        ("GD.HEXISTS", "x", pack(range(1, 20))),
        ("GD.INFO", "x"),
        ("GD.CARD", "x"),
        ("GD.MERGE", "y", "x", "bloom"),
        ("GD.DUMP", "x"),
        ("GD.SCANDUMP", "x", "1"),
    )

    def test_damaged_files_are_refused_and_the_server_lives(self):
        random.seed(13)

        def work(keys):
            files = [self.do("GD.DUMP", key) for key in keys]
            sums = [0, 0]
            for _ in range(0, 3000, 500):
                damaged = (bytes(hostile.damage(bytearray(random.choice(files)))) for _ in range(500))
                batch = [("GD.LOAD", "x", one, "REPLACE") for one in damaged]
                used = self.use(batch, self.server.wire().pipeline(batch))
                sums = [a + b for a, b in zip(sums, used)]
            return sums

        self.watched(work)


on_both(globals(), Commands, Restarts, Appended, Replicas, Hostile)
