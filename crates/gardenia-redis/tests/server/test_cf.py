"""CF.*: every command in both protocols, every error, files, replicas, hostile bytes, and filters of RedisBloom."""

import random
import struct

import redis

import hostile
import redisbloom_data as redisbloom
import restarts
from redisbloom_data import KEYS, PROBES, WRITTEN
from servers import WRONG_TYPE, Case, absent, arity, dump, follow, on_both, replica_of
from wire import Error, Wire

BOUNDS = "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"
NO_MEMORY = "Couldn't create filter! Insufficient memory: see bf.memory-limit"
LOADING = "ERR the filter is still being loaded"


def header(items=0, buckets=8, deletes=0, filters=1, bucket_size=2, iterations=20, expansion=1):
    """The header of a RedisBloom filter."""
    return struct.pack("<QQQQHHH", items, buckets, deletes, filters, bucket_size, iterations, expansion)


class Commands(Case):
    def load(self, key, chunks):
        for at, bytes in chunks:
            self.assertEqual(self.do("CF.LOADCHUNK", key, at, bytes), "OK")

    def test_add_count_and_del(self):
        self.assertEqual((self.do("CF.EXISTS", "k", "a"), self.do("CF.COUNT", "k", "a")), (0, 0))
        self.assertEqual((self.do("CF.ADD", "k", "a"), self.do("CF.ADD", "k", "a")), (1, 1))
        self.assertEqual((self.do("CF.EXISTS", "k", "a"), self.do("CF.COUNT", "k", "a")), (1, 2))
        self.assertEqual((self.do("CF.ADDNX", "k", "a"), self.do("CF.ADDNX", "k", "b")), (0, 1))
        self.assertEqual((self.do("CF.EXISTS", "k", "c"), self.do("CF.COUNT", "k", "c")), (0, 0))
        self.assertEqual([self.do("CF.DEL", "k", "a") for _ in range(3)], [1, 1, 0])
        self.assertEqual(self.do("CF.MEXISTS", "k", "a", "b"), [0, 1])
        self.assertIs(self.do3("CF.ADD", "k", "d"), True)
        self.assertIs(self.do3("CF.ADDNX", "k", "d"), False)
        self.assertIs(self.do3("CF.ADDNX", "k", "e"), True)
        self.assertIs(self.do3("CF.EXISTS", "k", "d"), True)
        self.assertIs(self.do3("CF.EXISTS", "k", "c"), False)
        self.assertIs(self.do3("CF.EXISTS", "none", "c"), False)
        count = self.do3("CF.COUNT", "k", "d")
        self.assertEqual((count, type(count)), (1, int))
        self.assertIs(self.do3("CF.DEL", "k", "d"), True)
        self.assertIs(self.do3("CF.DEL", "k", "d"), False)
        self.refused("Not found", "CF.DEL", "none", "a")
        self.assertEqual(self.do("TYPE", "k"), "gdn-cucko")
        # Any bytes are an item, none at all too.
        items = (b"", b"\x00", b"\xff" * 1000)
        self.assertEqual(self.do("CF.INSERT", "k", "ITEMS", *items), [1, 1, 1])
        self.assertEqual(self.do("CF.MEXISTS", "k", *items, b"\xff"), [1, 1, 1, 0])
        # A key that is made by CF.ADDNX.
        self.assertEqual((self.do("CF.ADDNX", "new", "a"), self.do("CF.COUNT", "new", "a")), (1, 1))

    def test_many_items(self):
        self.assertEqual(self.do("CF.MEXISTS", "none", "a", "b"), [0, 0])
        items = list(range(5000))
        # With a seed: that an item is not found is certain of one only.
        self.do("CF.RESERVE", "k", "500", "EXPANSION", "2", "SEED", "7")
        self.assertEqual(self.do("CF.INSERT", "k", "ITEMS", *items), [1] * 5000)
        self.assertEqual(self.do("CF.MEXISTS", "k", *items), [1] * 5000)
        wrong = sum(self.do("CF.MEXISTS", "k", *range(10**6, 10**6 + 10000)))
        # Four filters at 0.8 % each when they are full; five standard errors.
        self.assertEqual(self.do3("CF.INFO", "k")["Number of filters"], 4)
        self.assertLess(wrong, 4 * 78 + 5 * 18)
        # No item is lost by those that are removed: some seem to be in two filters.
        for item in items[:2500]:
            self.assertEqual(self.do("CF.DEL", "k", item), 1)
        self.assertEqual(self.do("CF.MEXISTS", "k", *items[2500:]), [1] * 2500)
        info = self.do3("CF.INFO", "k")
        self.assertEqual((info["Number of items inserted"], info["Number of items deleted"]), (2500, 2500))
        got = self.do3("CF.MEXISTS", "k", items[-1], "none")
        self.assertEqual((got, [type(x) for x in got]), ([True, False], [bool, bool]))

    def test_settings_are_what_is_taken_where_nothing_is_said(self):
        settings = {"initial-size": 50, "bucket-size": 4, "max-iterations": 9, "expansion-factor": 3}
        default = {name: self.do("CONFIG", "GET", f"bf.cf-{name}")[1] for name in settings}
        self.assertEqual(list(default.values()), [b"1024", b"2", b"20", b"1"])
        try:
            for name, value in settings.items():
                self.assertEqual(self.do("CONFIG", "SET", f"bf.cf-{name}", value), "OK")
            self.do("CF.ADD", "k", "a")
            self.do("CF.RESERVE", "plain", "100")
            self.do("CF.RESERVE", "said", "100", "BUCKETSIZE", "1", "MAXITERATIONS", "7", "EXPANSION", "0")
            for key, facts in (("k", (4, 3, 9)), ("plain", (4, 3, 9)), ("said", (1, 0, 7))):
                info = self.do3("CF.INFO", key)
                self.assertEqual((info["Bucket size"], info["Expansion rate"], info["Max iterations"]), facts)
            self.do("CF.RESERVE", "fifty", "50")
            buckets = [self.do3("CF.INFO", key)["Number of buckets"] for key in ("k", "fifty", "plain")]
            self.assertTrue(buckets[0] == buckets[1] < buckets[2], buckets)
            self.assertIsInstance(self.do("CONFIG", "SET", "bf.cf-bucket-size", "256"), Error)
        finally:
            for name, value in default.items():
                self.do("CONFIG", "SET", f"bf.cf-{name}", value)

    def test_reserve(self):
        self.assertEqual(self.do("CF.RESERVE", "k", "1000"), "OK")
        self.assertEqual(self.do3("CF.RESERVE", "k3", "1000"), "OK")
        self.refused("ERR item exists", "CF.RESERVE", "k", "1000")
        range_text = "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"
        for words, text in [
            ("rose", "Bad capacity"),
            ("nan", "Bad capacity"),
            ("0", range_text),
            ("-1", range_text),
            ("3", range_text),
            ("1073741825", range_text),
            ("1000000000000000000", range_text),
            ("9 BUCKETSIZE 5", range_text),
            ("10 BUCKETSIZE", "Couldn't parse BUCKETSIZE"),
            ("10 BUCKETSIZE rose", "Couldn't parse BUCKETSIZE"),
            ("1000 BUCKETSIZE 0", "BUCKETSIZE: value must be in the range [1, 255]"),
            ("1000 BUCKETSIZE 256", "BUCKETSIZE: value must be in the range [1, 255]"),
            ("10 MAXITERATIONS rose", "Couldn't parse MAXITERATIONS"),
            ("10 MAXITERATIONS 0", "MAXITERATIONS: value must be in the range [1, 65535]"),
            ("10 MAXITERATIONS 65536", "MAXITERATIONS: value must be in the range [1, 65535]"),
            ("10 EXPANSION rose", "Couldn't parse EXPANSION"),
            ("10 EXPANSION -1", "EXPANSION: value must be in the range [0, 32768]"),
            ("10 EXPANSION 32769", "EXPANSION: value must be in the range [0, 32768]"),
            ("10 EXPANSION 1000000000000000000", "EXPANSION: value must be in the range [0, 32768]"),
            ("10 SEED -1", "Couldn't parse SEED"),
            ("10 ROSES 1", "Unknown argument received"),
            ("1073741824", "ERR Insufficient memory: see bf.memory-limit"),
        ]:
            self.refused(text, "CF.RESERVE", "new", *words.split())
        self.assertEqual(self.do("EXISTS", "new"), 0)

    def test_insert(self):
        for command in ("CF.INSERT", "CF.INSERTNX"):
            self.refused("ERR not found", command, "k", "NOCREATE", "ITEMS", "a")
            for words, text in [
                ("CAPACITY rose ITEMS a", "Bad capacity"),
                ("CAPACITY -1 ITEMS a", BOUNDS),
                ("CAPACITY 0 ITEMS a", BOUNDS),
                ("CAPACITY 1000000000000000000 ITEMS a", BOUNDS),
                ("ROSES ITEMS a", "Unknown argument received"),
                ("ITEMS", arity(command.lower())),
                ("CAPACITY 10", arity(command.lower())),
                ("CAPACITY 1073741824 ITEMS a", "ERR Insufficient memory: see bf.memory-limit"),
            ]:
                self.refused(text, command, "k", *words.split())
        self.assertEqual(self.do("CF.INSERT", "k", "CAPACITY", "77", "ITEMS", "a", "b", "a"), [1, 1, 1])
        got = self.do3("CF.INSERT", "k", "NOCREATE", "ITEMS", "a", "c")
        self.assertEqual((got, [type(x) for x in got]), ([True, True], [bool, bool]))
        for do in self.do, self.do3:
            got = do("CF.INSERTNX", "k", "NOCREATE", "ITEMS", "a", absent(self.do, "CF.EXISTS", "k"))
            self.assertEqual((got, [type(x) for x in got]), ([0, 1], [int, int]))
        self.assertEqual(self.do("CF.INSERTNX", "nx", "CAPACITY", "4", "ITEMS", "a", "a"), [1, 0])
        self.assertEqual(self.do("CF.COUNT", "k", "a"), 3)

    def test_one_that_does_not_expand_can_be_full(self):
        self.do("CF.RESERVE", "k", "4", "EXPANSION", "0", "SEED", "7")
        # Two buckets of four places.
        self.assertEqual(self.do("CF.INSERT", "k", "ITEMS", *"abcdefgh"), [1] * 8)
        for command in ("CF.ADD", "CF.ADDNX"):
            self.refused("Filter is full", command, "k", "z")
        digest = self.server.digest("k")
        self.assertEqual(self.do("CF.INSERT", "k", "ITEMS", "y", "z"), [-1, -1])
        got = self.do3("CF.INSERT", "k", "ITEMS", "y", "z")
        self.assertEqual((got, [type(x) for x in got]), ([False, False], [bool, bool]))
        for do in self.do, self.do3:
            self.assertEqual(do("CF.INSERTNX", "k", "ITEMS", "a", "z"), [0, -1])
        self.assertEqual(self.server.digest("k"), digest)
        self.do("CF.DEL", "k", "a")
        self.assertEqual(self.do("CF.INSERT", "k", "ITEMS", "y", "z"), [1, -1])

    def test_one_that_expands_has_32_filters_at_most(self):
        self.do("CF.RESERVE", "k", "4", "SEED", "7")
        got = self.do("CF.INSERT", "k", "ITEMS", *range(300))
        self.assertEqual(got, [1] * 256 + [Error("Maximum expansions reached")] * 44)
        self.refused("Maximum expansions reached", "CF.ADD", "k", "z")
        self.assertEqual(self.do3("CF.INFO", "k")["Number of filters"], 32)
        # One item goes in eight times per filter.
        self.do("CF.RESERVE", "copies", "100", "EXPANSION", "0")
        self.assertEqual(self.do("CF.INSERT", "copies", "ITEMS", *["a"] * 10), [1] * 8 + [-1] * 2)
        self.assertEqual(self.do("CF.COUNT", "copies", "a"), 8)

    def test_info_and_debug(self):
        self.refused("ERR not found", "CF.INFO", "k")
        self.refused("ERR not found", "CF.DEBUG", "k")
        words = ("BUCKETSIZE", "4", "MAXITERATIONS", "50", "EXPANSION", "3")
        self.do("CF.RESERVE", "k", "1000", *words)
        self.do("CF.INSERT", "k", "ITEMS", "a", "b", "c")
        self.do("CF.DEL", "k", "a")
        info = self.do3("CF.INFO", "k")
        size, buckets = info["Size"], info["Number of buckets"]
        self.assertTrue(1000 < size < 2000 and 250 < buckets < 300, info)
        facts = {
            "Size": size,
            "Number of buckets": buckets,
            "Number of filters": 1,
            "Number of items inserted": 2,
            "Number of items deleted": 1,
            "Bucket size": 4,
            "Expansion rate": 3,
            "Max iterations": 50,
        }
        self.assertEqual(info, facts)
        self.assertEqual(self.do("CF.INFO", "k"), [word for pair in facts.items() for word in pair])
        line = f"size:{size} buckets:{buckets} filters:1 items:2 deletes:1 bucketsize:4 expansion:3 maxiterations:50"
        self.assertEqual(self.do("CF.DEBUG", "k"), line.encode())
        # Defaults, and a bucket size that says how wide fingerprints are: 10 bits and 8.
        self.do("CF.ADD", "default", "a")
        info = self.do3("CF.INFO", "default")
        self.assertEqual([info[name] for name in ("Bucket size", "Expansion rate", "Max iterations")], [2, 1, 20])
        for key, bucket_size in (("two", "2"), ("eight", "8")):
            self.do("CF.RESERVE", key, "100000", "BUCKETSIZE", bucket_size)
        two, eight = (self.do3("CF.INFO", key)["Size"] for key in ("two", "eight"))
        self.assertAlmostEqual(two / eight, 10 / 8, delta=0.01)

    def test_a_filter_grows_as_it_was_told(self):
        for expansion in (1, 2, 5):
            key = f"k{expansion}"
            self.do("CF.RESERVE", key, "100", "EXPANSION", expansion, "SEED", "7")
            self.assertEqual(sum(self.do("CF.INSERT", key, "ITEMS", *range(2000))), 2000)
            self.assertEqual(sum(self.do("CF.MEXISTS", key, *range(2000))), 2000)
            filters = self.do3("CF.INFO", key)["Number of filters"]
            places = [sum(136 * expansion**i for i in range(n)) for n in (filters - 1, filters)]
            self.assertTrue(places[0] < 2000 < places[1], (expansion, filters))

    def test_compact(self):
        self.refused("Cuckoo filter was not found", "CF.COMPACT", "k")
        self.do("CF.RESERVE", "k", "50", "EXPANSION", "2", "SEED", "7")
        self.do("CF.INSERT", "k", "ITEMS", *range(500))
        filters = self.do3("CF.INFO", "k")["Number of filters"]
        for item in range(40, 500):
            self.do("CF.DEL", "k", item)
        self.assertEqual(self.do3("CF.COMPACT", "k"), "OK")
        info = self.do3("CF.INFO", "k")
        self.assertLess(info["Number of filters"], filters)
        self.assertEqual((info["Number of items inserted"], info["Number of items deleted"]), (40, 0))
        self.assertEqual(self.do("CF.MEXISTS", "k", *range(40)), [1] * 40)
        digest = self.server.digest("k")
        self.assertEqual(self.do("CF.COMPACT", "k"), "OK")
        self.assertEqual(self.server.digest("k"), digest)

    def test_a_filter_of_redisbloom(self):
        stated, chunks = WRITTEN["cf"], redisbloom.chunks("cf")
        self.load("k", chunks)
        self.assertEqual(self.do("TYPE", "k"), "MBbloomCF")
        self.assertEqual(self.do("CF.MEXISTS", "k", *KEYS), [1] * 200)
        found = self.do("CF.MEXISTS", "k", *PROBES)
        self.assertEqual([at for at, found in enumerate(found) if found], stated["positive_probe_indices"])
        self.assertEqual(dump(self.do, "CF.SCANDUMP", "k"), chunks)
        # The same keys, added here, give the same bytes.
        self.do("CF.LOADCHUNK", "again", 1, header(buckets=128))
        self.assertEqual(self.do("CF.INSERT", "again", "ITEMS", *KEYS), [1] * 200)
        self.assertEqual(dump(self.do, "CF.SCANDUMP", "again"), chunks)
        self.assertEqual(*self.server.digest("k", "again"))
        facts = [256 + 56, 128, 1, 200, 0, 2, 1, 20]
        self.assertEqual(self.do("CF.INFO", "k")[1::2], facts)
        self.assertTrue(self.do("CF.DEBUG", "k").startswith(b"size:312 buckets:128 filters:1 items:200 "))
        # All other commands.
        self.do("COPY", "k", "copy")
        self.assertEqual(*self.server.digest("k", "copy"))
        key, none = KEYS[0], next(p for p, found in zip(PROBES, found) if not found)
        self.assertEqual((self.do("CF.ADDNX", "copy", key), self.do("CF.ADDNX", "copy", none)), (0, 1))
        self.assertIs(self.do3("CF.ADD", "copy", key), True)
        self.assertEqual((self.do("CF.COUNT", "copy", key), self.do("CF.COUNT", "k", key)), (2, 1))
        self.assertEqual(self.do("CF.INSERTNX", "copy", "ITEMS", key, none), [0, 0])
        self.assertEqual(self.do("CF.INSERT", "copy", "ITEMS", *range(500)), [1] * 500)
        self.assertGreater(self.do3("CF.INFO", "copy")["Number of filters"], 2)
        self.assertEqual(self.do("CF.MEXISTS", "copy", *range(500)), [1] * 500)
        for item in range(500):
            self.assertEqual(self.do("CF.DEL", "copy", item), 1)
        self.assertEqual(self.do("CF.COMPACT", "copy"), "OK")
        self.assertEqual(self.do("CF.MEXISTS", "copy", *KEYS), [1] * 200)
        self.assertEqual(self.do3("CF.INFO", "copy")["Number of items deleted"], 0)
        self.refused("ERR item exists", "CF.RESERVE", "copy", "100")
        # Without growth it can be full.
        self.do("CF.LOADCHUNK", "fixed", 1, header(expansion=0))
        got = self.do("CF.INSERT", "fixed", "ITEMS", *range(30))
        self.assertEqual((got[0], got[-1], set(got)), (1, -1, {1, -1}))
        refused = next(item for item, got in enumerate(got) if got == -1)
        self.refused("Filter is full", "CF.ADD", "fixed", refused)
        self.do("CF.LOADCHUNK", "32", 1, header(buckets=1))
        self.do("CF.INSERT", "32", "ITEMS", *range(200))
        self.refused("Maximum expansions reached", "CF.ADD", "32", "a")

    def test_scandump_and_loadchunk(self):
        for words in ("100", "1000 EXPANSION 0", "12000000 BUCKETSIZE 1"):
            self.do("CF.RESERVE", "k", *words.split())
            # An empty filter gives nothing.
            self.assertEqual((self.do("CF.SCANDUMP", "k", 0), self.do3("CF.SCANDUMP", "k", 0)), ([0, None],) * 2)
            self.do("CF.INSERT", "k", "ITEMS", *range(900))
            chunks = dump(self.do, "CF.SCANDUMP", "k")
            # The largest takes more than one chunk of 16 MiB.
            self.assertEqual(len(chunks), 3 if words.startswith("12000000") else 2)
            self.load("copy", chunks)
            self.assertEqual(*self.server.digest("k", "copy"))
            self.assertEqual(self.do("CF.DEBUG", "k"), self.do("CF.DEBUG", "copy"))
            # A header replaces what is there, of either layout.
            self.assertEqual(self.do3("CF.LOADCHUNK", "copy", 1, header(items=1)), "OK")
            self.assertEqual(self.do("TYPE", "copy"), "MBbloomCF")
            self.assertEqual(self.do3("CF.LOADCHUNK", "copy", *chunks[0]), "OK")
            self.assertEqual(self.do("TYPE", "copy"), "gdn-cucko")
            self.assertEqual(self.do("DEL", "k", "copy"), 2)
        # Several tables of a large filter of RedisBloom.
        self.do("CF.LOADCHUNK", "k", 1, header(items=1, buckets=1 << 22, filters=3, bucket_size=4, expansion=2))
        self.assertEqual(self.do("CF.SCANDUMP", "k", 0), [1, header(1, 1 << 22, 0, 3, 4, 20, 2)])
        at, sizes = 1, []
        while at:
            at, bytes = self.do("CF.SCANDUMP", "k", at)
            sizes.append(len(bytes) >> 20)
        self.assertEqual(sizes, [16, 16, 16, 16, 16, 16, 16, 0])
        self.do("CF.LOADCHUNK", "empty", 1, header())
        self.assertEqual(self.do("CF.SCANDUMP", "empty", 0), [0, None])

    def test_loadchunk_says_what_is_wrong(self):
        self.do("CF.RESERVE", "k", "100", "EXPANSION", "2")
        self.do("CF.INSERT", "k", "ITEMS", *range(1000))
        (_, head), (end, bytes) = dump(self.do, "CF.SCANDUMP", "k")
        for at in ("rose", "-1", "9223372036854775808"):
            self.refused("Invalid position", "CF.SCANDUMP", "k", at)
        self.refused("ERR not found", "CF.SCANDUMP", "none", "0")
        self.assertEqual(self.do("CF.SCANDUMP", "k", 10**15), [0, b""])
        for at in ("rose", "0", "-1"):
            self.refused("Invalid position", "CF.LOADCHUNK", "new", at, head)
        for bad in (
            b"", b"rose", head + b"!", head[:-1], header()[:-1], header() + b"!", header(buckets=3), header(buckets=0),
            header(bucket_size=0), header(bucket_size=256), header(iterations=0), header(filters=0),
            header(filters=2, expansion=0), header(expansion=3), header(items=17), header(filters=2**63),
            header(buckets=2**63, items=2**64 - 1),
        ):  # fmt: skip
            before = self.server.digest()
            text = NO_MEMORY if bad == header(buckets=2**63, items=2**64 - 1) else "Invalid header"
            self.assertEqual(self.do("CF.LOADCHUNK", "new", "1", bad), Error(text), bad)
            self.assertEqual(self.server.digest(), before)
        for huge in (
            head[:8] + struct.pack("<Q", 1 << 60),
            header(buckets=1 << 40),
            header(filters=65536, bucket_size=255, buckets=1 << 20),
        ):
            self.refused(NO_MEMORY, "CF.LOADCHUNK", "new", "1", huge)
        self.refused("ERR not found", "CF.LOADCHUNK", "new", end, bytes)
        self.refused("Couldn't load chunk!", "CF.LOADCHUNK", "k", end, bytes)
        self.do("CF.LOADCHUNK", "rb", "1", header(items=1))
        for at, chunk in ((2, b""), (17, b"x" * 17), (18, b"x"), (19, b"x"), (2**63 - 1, b"x"), (3, b"xxx")):
            if at != 2:
                self.refused("Couldn't load chunk!", "CF.LOADCHUNK", "rb", at, chunk)
        self.do("CF.LOADCHUNK", "new", "1", head)
        for command in (
            "CF.ADD new a", "CF.ADDNX new a", "CF.INSERT new ITEMS a", "CF.INSERTNX new ITEMS a", "CF.EXISTS new a",
            "CF.MEXISTS new a", "CF.COUNT new a", "CF.DEL new a", "CF.INFO new", "CF.DEBUG new", "CF.COMPACT new",
        ):  # fmt: skip
            self.refused(LOADING, *command.split())
        self.refused("ERR item exists", "CF.RESERVE", "new", "10")
        for at, chunk in ((end - 1, bytes), (end, bytes[1:]), (end + 1, bytes + b"!"), (end, bytes[:-1] + b"!")):
            self.refused("Couldn't load chunk!", "CF.LOADCHUNK", "new", at, chunk)
        # Half of it is kept by files and copies as it is.
        self.do("CF.LOADCHUNK", "new", 101, bytes[:100])
        self.do("COPY", "new", "half")
        self.assertEqual(*self.server.digest("new", "half"))
        self.assertEqual(self.do("CF.SCANDUMP", "half", 1), [101, bytes[:100]])
        self.assertEqual(self.do("CF.LOADCHUNK", "half", end, bytes[100:]), "OK")
        self.assertEqual(*self.server.digest("k", "half"))

    def test_other_types_are_refused(self):
        self.do("SET", "text", "rose")
        self.do("BF.ADD", "bloom", "rose")
        for key in ("text", "bloom"):
            for command in (
                ("CF.RESERVE", key, "10"),
                ("CF.ADD", key, "a"),
                ("CF.ADDNX", key, "a"),
                ("CF.INSERT", key, "ITEMS", "a"),
                ("CF.INSERTNX", key, "ITEMS", "a"),
                ("CF.EXISTS", key, "a"),
                ("CF.MEXISTS", key, "a"),
                ("CF.COUNT", key, "a"),
                ("CF.INFO", key),
                ("CF.SCANDUMP", key, "0"),
                ("CF.LOADCHUNK", key, "2", "a"),
                ("CF.LOADCHUNK", key, "1", header()),
                ("CF.COMPACT", key),
                ("CF.DEBUG", key),
            ):
                self.refused(WRONG_TYPE, *command)
            self.refused("Not found", "CF.DEL", key, "a")
        self.do("CF.ADD", "k", "a")
        self.refused(WRONG_TYPE, "CF.LOADCHUNK", "text", "1", self.do("CF.SCANDUMP", "k", 0)[1])
        self.refused(WRONG_TYPE, "GET", "k")
        self.refused(WRONG_TYPE, "BF.ADD", "k", "a")

    def test_wrong_numbers_of_arguments(self):
        for words in (
            "CF.RESERVE", "CF.RESERVE k", "CF.ADD k", "CF.ADD k a b", "CF.ADDNX k", "CF.INSERT k", "CF.INSERTNX k",
            "CF.EXISTS k", "CF.EXISTS k a b", "CF.MEXISTS k", "CF.COUNT k", "CF.COUNT k a b", "CF.DEL k", "CF.INFO",
            "CF.INFO k a", "CF.SCANDUMP k", "CF.LOADCHUNK k 1", "CF.COMPACT", "CF.COMPACT k a", "CF.DEBUG",
        ):  # fmt: skip
            words = words.split()
            self.refused(arity(words[0].lower()), *words)

    def test_a_copy_is_a_copy(self):
        self.do("CF.RESERVE", "k", "1000", "EXPANSION", "2", "SEED", "7")
        self.do("CF.INSERT", "k", "ITEMS", *range(3000))
        self.assertEqual(self.do("COPY", "k", "copy"), 1)
        self.assertEqual(*self.server.digest("k", "copy"))
        self.do("CF.INSERT", "copy", "ITEMS", *range(3000, 6000))
        self.assertNotEqual(*self.server.digest("k", "copy"))
        self.assertLess(sum(self.do("CF.MEXISTS", "k", *range(3000, 6000))), 300)
        # It goes on like the first.
        self.do("CF.INSERT", "k", "ITEMS", *range(3000, 6000))
        self.assertEqual(*self.server.digest("k", "copy"))

    def test_memory_is_counted(self):
        before = int(self.server.info("memory", "used_memory"))
        self.do("CF.RESERVE", "k", "10000000")
        usage, info = self.do("MEMORY", "USAGE", "k"), self.do3("CF.INFO", "k")["Size"]
        taken = int(self.server.info("memory", "used_memory")) - before
        # What the allocator takes, which may be a tenth more than was asked for.
        self.assertTrue(13_000_000 < info < 14_000_000 and info <= usage < 15_000_000, (info, usage))
        self.assertLess(abs(taken / usage - 1), 0.03, (usage, taken))
        self.do("UNLINK", "k")
        self.server.wait(lambda: int(self.server.info("memory", "used_memory")) < before + 1_000_000)

    def test_growth_ends_at_the_limit(self):
        self.do("CF.LOADCHUNK", "rb", 1, header(buckets=1024))
        self.do("CONFIG", "SET", "bf.memory-limit", "10000")
        try:
            self.refused("ERR Insufficient memory: see bf.memory-limit", "CF.RESERVE", "new", "10000")
            self.refused("ERR Insufficient memory: see bf.memory-limit", "CF.INSERT", "new", "CAPACITY", "10000", "ITEMS", "a")
            self.refused(NO_MEMORY, "CF.LOADCHUNK", "new", 1, header(buckets=1 << 20))
            for key in ("k", "rb"):
                got = self.do("CF.INSERT", key, "ITEMS", *range(20000))
                taken = [item for item, got in enumerate(got) if got == 1]
                self.assertTrue(5000 < len(taken) < 10000, len(taken))
                self.assertEqual(self.do("CF.MEXISTS", key, *taken), [1] * len(taken))
                refused = next(item for item, got in reversed(list(enumerate(got))) if isinstance(got, Error))
                self.refused("ERR Insufficient memory: see bf.memory-limit", "CF.ADD", key, refused)
                self.assertLess(self.do3("CF.INFO", key)["Size"], 12000)
        finally:
            self.do("CONFIG", "SET", "bf.memory-limit", "128mb")
        self.assertEqual((self.do("CF.ADD", "k", "a"), self.do("CF.ADD", "rb", "a")), (1, 1))

    def test_events_are_told(self):
        self.do("CONFIG", "SET", "notify-keyspace-events", "KEA")
        listener = Wire(self.server.port)
        listener.do("SUBSCRIBE", "__keyspace@0__:k")
        for words in (
            "CF.ADD k a", "CF.ADDNX k a", "CF.ADDNX k b", "CF.INSERT k ITEMS a b", "CF.INSERTNX k ITEMS a b",
            "CF.INSERTNX k ITEMS c", "CF.EXISTS k a", "CF.DEL k a", "CF.DEL k none", "CF.COMPACT k", "CF.COMPACT k",
        ):  # fmt: skip
            self.do(*words.split())
        self.load("k", dump(self.do, "CF.SCANDUMP", "k"))
        self.do("DEL", "k")
        self.do("CF.RESERVE", "k", "100")
        self.do("DEL", "k")
        events = []
        while events.count(b"del") < 2:
            events.append(listener.read()[2])
        listener.close()
        self.do("CONFIG", "SET", "notify-keyspace-events", "")
        named = [event.decode()[3:] for event in events if event.startswith(b"cf.")]
        right = "reserve add addnx insert insertnx del compact loadchunk loadchunk reserve"
        self.assertEqual(named, right.split())

    def test_a_transaction_sees_changes_only(self):
        self.do("CF.ADD", "k", "a")
        other = Wire(self.server.port)
        for command, changes in (
            (("CF.ADDNX", "k", "a"), False),
            (("CF.INSERTNX", "k", "ITEMS", "a"), False),
            (("CF.DEL", "k", "b"), False),
            (("CF.COMPACT", "k"), False),
            (("CF.ADD", "k", "a"), True),
            (("CF.INSERT", "k", "ITEMS", "a"), True),
            (("CF.DEL", "k", "a"), True),
            (("CF.COMPACT", "k"), True),
        ):
            other.do("WATCH", "k")
            self.do(*command)
            other.do("MULTI")
            other.do("PING")
            self.assertEqual(other.do("EXEC"), None if changes else ["PONG"], command)
        other.close()

    def test_access_can_be_given_by_category(self):
        if self.engine == "redis":
            self.skipTest("Redis 7.0 has no categories for modules")
        self.assertEqual(len(self.do("ACL", "CAT", "cuckoo")), 14)
        self.do("ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@cuckoo", "-@write")
        reader = Wire(self.server.port)
        reader.do("AUTH", "reader", "x")
        self.assertEqual(reader.do("CF.EXISTS", "k", "a"), 0)
        for command in ("CF.ADD k a", "CF.DEL k a", "CF.COMPACT k", "CF.LOADCHUNK k 1 a"):
            self.assertTrue(reader.do(*command.split()).text.startswith("NOPERM"), command)
        reader.close()

    def test_what_redis_py_offers_works(self):
        for protocol in (2, 3):
            client = redis.Redis(port=self.server.port, protocol=protocol)
            client.flushall()
            cf = client.cf()
            self.assertTrue(cf.create("k", 1000))
            self.assertTrue(cf.create("all", 1000, expansion=1, bucket_size=4, max_iterations=10))
            self.assertTrue(cf.add("k", "a"))
            self.assertFalse(cf.addnx("k", "a"))
            self.assertEqual(cf.addnx("k", "b"), 1)
            self.assertEqual(cf.insert("made", ["a"], capacity=1000), [1])
            self.assertEqual(cf.insertnx("made", ["a", "b"], nocreate="1"), [0, 1])
            self.assertEqual((cf.exists("k", "a"), cf.mexists("k", "a", "z"), cf.count("k", "a")), (1, [1, 0], 1))
            self.assertTrue(cf.delete("k", "a"))
            self.assertEqual(cf.count("k", "a"), 0)
            info = cf.info("made")
            # A map, or an object, as the version of redis-py has it.
            names = {"insertedNum": "items inserted", "deletedNum": "items deleted", "filterNum": "filters"}
            if isinstance(info, dict):
                info = {name: info[b"Number of " + long.encode()] for name, long in names.items()}
            self.assertEqual([info[name] for name in names], [2, 0, 1])
            chunks, at = [], 0
            while True:
                at, bytes = cf.scandump("k", at)
                if at == 0:
                    break
                chunks.append((at, bytes))
            client.delete("k")
            for chunk in chunks:
                cf.loadchunk("k", *chunk)
            self.assertEqual(cf.mexists("k", "a", "b"), [0, 1])
            client.close()


class Filled:
    """Filters of both layouts in some states, two of them still arriving."""

    def fill(self):
        self.do("CF.RESERVE", "grown", "100", "EXPANSION", "2")
        self.do("CF.INSERT", "grown", "ITEMS", *range(5000))
        for item in range(0, 100, 3):
            self.do("CF.DEL", "grown", item)
        self.do("CF.RESERVE", "fixed", "500", "EXPANSION", "0", "BUCKETSIZE", "7", "MAXITERATIONS", "9")
        self.do("CF.INSERT", "fixed", "ITEMS", *range(400))
        self.do("CF.RESERVE", "large", "1500000")
        self.do("CF.INSERT", "large", "ITEMS", *range(3000))
        self.do("CF.RESERVE", "empty", "10")
        self.do("CF.LOADCHUNK", "rb", 1, header(buckets=64, expansion=2))
        self.do("CF.INSERT", "rb", "ITEMS", *range(1000))
        # One whose tables are still to come.
        for at, bytes in dump(self.do, "CF.SCANDUMP", "rb")[:2]:
            self.do("CF.LOADCHUNK", "rb-half", at, bytes)
        chunks = dump(self.do, "CF.SCANDUMP", "grown")
        self.do("CF.LOADCHUNK", "half", *chunks[0])
        self.do("CF.LOADCHUNK", "half", 501, chunks[1][1][:500])
        self.last = chunks[1]
        self.keys = ("grown", "fixed", "large", "empty", "rb", "rb-half", "half")
        self.told = self.tell()
        return self.keys

    def tell(self):
        infos = [self.do("CF.INFO", key) for key in self.keys[:-1]]
        return infos, [dump(self.do, "CF.SCANDUMP", key) for key in self.keys]

    def go_on(self):
        self.assertEqual(self.tell(), self.told)
        end, bytes = self.last
        self.assertEqual(self.do("CF.LOADCHUNK", "half", end, bytes[500:]), "OK")
        self.assertEqual(*self.server.digest("grown", "half"))
        for key in ("grown", "half"):
            self.do("CF.INSERT", key, "ITEMS", *range(10000, 20000))
        self.assertEqual(*self.server.digest("grown", "half"))
        for at, bytes in dump(self.do, "CF.SCANDUMP", "rb")[2:]:
            self.do("CF.LOADCHUNK", "rb-half", at, bytes)
        self.assertEqual(*self.server.digest("rb", "rb-half"))
        self.assertEqual(self.do("CF.INSERT", "fixed", "ITEMS", *range(10000, 11000))[-1], -1)


class Restarts(Filled, restarts.Restarts):
    pass


class Appended(Filled, restarts.Appended):
    pass


class Replicas(Case):
    def test_a_replica_has_the_same_bits(self):
        random.seed(7)
        wire = self.server.wire()
        self.do("CF.INSERT", "before", "ITEMS", *range(3000))
        self.do("CF.RESERVE", "fixed", "300", "EXPANSION", "0")
        self.do("CONFIG", "SET", "bf.memory-limit", "20000")
        # A replica with a limit of its own follows all the same. It would end itself at the first command that is
        # refused there.
        replica = replica_of(self.server, "--propagation-error-behavior", "panic-on-replicas")
        try:
            replica.do("CONFIG", "SET", "bf.memory-limit", "1000")
            self.assertEqual(replica.digest(), self.server.digest())
            for at, bytes in redisbloom.chunks("cf"):
                self.do("CF.LOADCHUNK", "rb", at, bytes)
            commands = []
            for step in range(20000):
                key = random.choice(("a", "b", "before", "fixed", "rb"))
                item, kind = random.randrange(6000), random.random()
                if kind < 0.4:
                    commands.append(("CF.ADD", key, item))
                elif kind < 0.5:
                    commands.append(("CF.ADDNX", key, item))
                elif kind < 0.65:
                    words = random.choice(((), ("NOCREATE",), ("CAPACITY", 50)))
                    name = random.choice(("CF.INSERT", "CF.INSERTNX"))
                    commands.append((name, key, *words, "ITEMS", *(random.randrange(6000) for _ in range(9))))
                elif kind < 0.9:
                    commands.append(("CF.DEL", key, item))
                elif kind < 0.95:
                    commands.append(("CF.EXISTS", key, item))
                elif kind < 0.96:
                    commands.append(("CF.COMPACT", key))
                elif kind < 0.97:
                    commands.append(("DEL", random.choice(("a", "b"))))
                elif kind < 0.98:
                    commands.append(("COPY", "before", "b"))
                elif kind < 0.99:
                    commands.append(("CF.RESERVE", "b", random.randrange(4, 3000), "EXPANSION", random.randrange(5)))
                else:
                    commands.append(("CF.RESERVE", key, "2"))
            refused = 0
            for start in range(0, len(commands), 2000):
                replies = wire.pipeline(commands[start : start + 2000])
                refused += sum(reply in (Error("Filter is full"), Error("ERR Insufficient memory: see bf.memory-limit")) for reply in replies)
            self.assertGreater(refused, 100)
            for at, bytes in dump(self.do, "CF.SCANDUMP", "before"):
                self.do("CF.LOADCHUNK", "loaded", at, bytes)
            self.do("MULTI")
            self.do("CF.ADD", "multi", "a")
            self.do("CF.INSERT", "multi", "ITEMS", "a", "b")
            self.assertEqual(self.do("EXEC"), [1, [1, 1]])
            self.assertEqual(self.do("EVAL", "return redis.call('CF.ADDNX', KEYS[1], 'a')", 1, "script"), 1)
            follow(self.server, replica)
            self.assertEqual(replica.digest(), self.server.digest())
            keys = sorted(self.do("KEYS", "*"))
            self.assertGreaterEqual(len(keys), 7)
            self.assertEqual(replica.digest(*keys), self.server.digest(*keys))
        finally:
            self.do("CONFIG", "SET", "bf.memory-limit", "128mb")
            replica.remove()

    def test_only_what_was_accepted_is_passed_on(self):
        def work():
            for words in (
                "CF.RESERVE k 4 EXPANSION 0 SEED 7",
                "CF.INSERT k ITEMS a b c d e",
                "CF.INSERTNX k ITEMS a f",  # only f
                "CF.INSERT k ITEMS g h i j",  # only g and h
                "CF.INSERT k ITEMS z",
                "CF.ADD k z",
                "CF.ADDNX k a",
                "CF.DEL k none",
                "CF.EXISTS k a",
                "CF.DEL k a",
                "CF.ADDNX k a",
                "CF.COMPACT k",
                "CF.COMPACT k",
                "CF.RESERVE k 4",
                "CF.RESERVE new 4 SEED 8",
            ):
                self.do(*words.split())

        self.assertEqual(
            restarts.passed_on(self, "CF.", work),
            [
                "CF.RESERVE k 4 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 0 SEED 7",
                "CF.INSERT k ITEMS a b c d e",
                "CF.INSERT k NOCREATE ITEMS f",
                "CF.INSERT k NOCREATE ITEMS g h",
                "CF.DEL k a",
                "CF.ADDNX k a",
                "CF.COMPACT k",
                "CF.RESERVE new 4 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1 SEED 8",
            ],
        )


class Hostile(hostile.Hostile):
    family = "CF"

    def fill(self):
        self.do("CF.RESERVE", "grown", "4")
        self.do("CF.INSERT", "grown", "ITEMS", *range(12))
        self.do("CF.RESERVE", "fixed", "10", "EXPANSION", "0")
        self.do("CF.ADD", "fixed", "a")
        chunks = dump(self.do, "CF.SCANDUMP", "grown")
        self.do("CF.LOADCHUNK", "half", *chunks[0])
        self.do("CF.LOADCHUNK", "half", 101, chunks[1][1][:100])
        return ("grown", "fixed", "half")

    uses = (
        ("CF.ADD", "x", "a"),
        ("CF.INSERT", "x", "ITEMS", *range(10)),
        ("CF.DEL", "x", "7"),
        ("CF.MEXISTS", "x", *range(5)),
        ("CF.COUNT", "x", "a"),
        ("CF.INFO", "x"),
        ("CF.COMPACT", "x"),
        ("CF.SCANDUMP", "x", "1"),
    )


class HostileRedisBloom(Hostile):
    def fill(self):
        self.do("CF.LOADCHUNK", "grown", 1, header(expansion=2))
        self.do("CF.INSERT", "grown", "ITEMS", *range(40))
        self.do("CF.LOADCHUNK", "fixed", 1, header(expansion=0))
        self.do("CF.ADD", "fixed", "a")
        return ("grown", "fixed")


on_both(globals(), Commands, Restarts, Appended, Replicas, Hostile, HostileRedisBloom)
