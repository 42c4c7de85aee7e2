"""BF.*: every command in both protocols, every error, files, replicas, hostile bytes."""

import random
import struct

import redis

import hostile
import restarts
from servers import WRONG_TYPE, Case, Server, absent, arity, dump, follow, on_both, replica_of
from wire import Error, Wire

class Commands(Case):
    def test_the_module_has_the_name_and_version_that_clients_look_for(self):
        modules = [dict(zip(m[::2], m[1::2])) for m in self.do("MODULE", "LIST")]
        ours = [m for m in modules if m[b"name"] == b"bf"]
        self.assertEqual(len(ours), 1)
        self.assertGreaterEqual(ours[0][b"ver"], 20400)

    def test_add_and_exists(self):
        self.assertEqual(self.do("BF.EXISTS", "k", "a"), 0)
        self.assertEqual(self.do("BF.ADD", "k", "a"), 1)
        self.assertEqual(self.do("BF.ADD", "k", "a"), 0)
        self.assertEqual(self.do("BF.EXISTS", "k", "a"), 1)
        self.assertEqual(self.do("BF.EXISTS", "k", "b"), 0)
        self.assertIs(self.do3("BF.ADD", "k", "b"), True)
        self.assertIs(self.do3("BF.ADD", "k", "b"), False)
        self.assertIs(self.do3("BF.EXISTS", "k", "b"), True)
        self.assertIs(self.do3("BF.EXISTS", "k", "c"), False)
        self.assertIs(self.do3("BF.EXISTS", "none", "c"), False)
        self.assertEqual(self.do("TYPE", "k"), "gdn-bloom")
        # Any bytes are an item, none at all too.
        self.assertEqual(self.do("BF.MADD", "k", b"", b"\x00", b"\xff" * 1000), [1, 1, 1])
        self.assertEqual(self.do("BF.MEXISTS", "k", b"", b"\x00", b"\xff" * 1000, b"\xff"), [1, 1, 1, 0])

    def test_many_items(self):
        self.assertEqual(self.do("BF.MADD", "k", "a", "b", "a"), [1, 1, 0])
        self.assertEqual(self.do("BF.MEXISTS", "k", "a", "b", "c"), [1, 1, 0])
        self.assertEqual(self.do("BF.MEXISTS", "none", "a", "b"), [0, 0])
        got = self.do3("BF.MADD", "k", "b", "c")
        self.assertEqual((got, [type(x) for x in got]), ([False, True], [bool, bool]))
        got = self.do3("BF.MEXISTS", "k", "b", "d")
        self.assertEqual((got, [type(x) for x in got]), ([True, False], [bool, bool]))
        items = list(range(5000))
        new = self.do("BF.MADD", "many", *items)
        self.assertEqual(len(new), 5000)
        self.assertGreater(sum(new), 4900)
        self.assertEqual(self.do("BF.MEXISTS", "many", *items), [1] * 5000)
        self.assertEqual(self.do("BF.CARD", "many"), sum(new))

    def test_reserve(self):
        self.assertEqual(self.do("BF.RESERVE", "k", "0.01", "1000"), "OK")
        self.assertEqual(self.do3("BF.RESERVE", "k3", "0.01", "1000"), "OK")
        self.refused("ERR item exists", "BF.RESERVE", "k", "0.01", "1000")
        for words, text in [
            (("rose", "1"), "ERR bad error rate"),
            (("0", "1"), "ERR error rate must be in the range (0.000000, 1.000000)"),
            (("1", "1"), "ERR error rate must be in the range (0.000000, 1.000000)"),
            (("0.1", "rose"), "ERR bad capacity"),
            (("0.1", "0"), "ERR capacity must be in the range [1, 1073741824]"),
            (("0.1", "1073741825"), "ERR capacity must be in the range [1, 1073741824]"),
            (("0.1", "1000000000000000000"), "ERR capacity must be in the range [1, 1073741824]"),
            (("0.1", "1", "EXPANSION"), "ERR no expansion"),
            (("0.1", "1", "EXPANSION", "rose"), "ERR bad expansion"),
            (("0.1", "1", "EXPANSION", "32769"), "ERR expansion must be in the range [0, 32768]"),
            (("0.1", "1", "NONSCALING", "EXPANSION", "2"), "Nonscaling filters cannot expand"),
            (("0.001", "1073741824"), "ERR Insufficient memory to create filter: see bf.memory-limit"),
            (("1e-300", "1000"), "ERR could not create filter"),
        ]:
            self.refused(text, "BF.RESERVE", "new", *words)
        self.assertEqual(self.do("EXISTS", "new"), 0)

    def test_insert(self):
        self.refused("ERR not found", "BF.INSERT", "k", "NOCREATE", "ITEMS", "a")
        for words, text in [
            (("CAPACITY", "rose", "ITEMS", "a"), "Bad capacity"),
            (("CAPACITY", "-1", "ITEMS", "a"), "Bad capacity"),
            (("CAPACITY", "1000000000000000000", "ITEMS", "a"), "Bad capacity"),
            (("ERROR", "1", "ITEMS", "a"), "Bad error rate"),
            (("EXPANSION", "32769", "ITEMS", "a"), "Bad expansion"),
            (("ROSES", "ITEMS", "a"), "Unknown argument received"),
            (("ITEMS",), arity("bf.insert")),
            (("CAPACITY", "10"), arity("bf.insert")),
            (("CAPACITY", "1073741824", "ITEMS", "a"), "ERR Insufficient memory to create filter: see bf.memory-limit"),
        ]:
            self.refused(text, "BF.INSERT", "k", *words)
        got = self.do("BF.INSERT", "k", "CAPACITY", "77", "ERROR", "0.001", "EXPANSION", "4", "ITEMS", "a", "b", "a")
        self.assertEqual(got, [1, 1, 0])
        self.assertEqual(self.do3("BF.INSERT", "k", "NOCREATE", "ITEMS", "a", "c"), [False, True])
        info = self.do3("BF.INFO", "k")
        self.assertEqual((info["Capacity"], info["Expansion rate"]), (77, 4))
        self.do("BF.INSERT", "fixed", "NONSCALING", "ITEMS", "a")
        self.assertIsNone(self.do3("BF.INFO", "fixed")["Expansion rate"])

    def test_card_and_info(self):
        self.assertEqual(self.do("BF.CARD", "k"), 0)
        self.refused("ERR not found", "BF.INFO", "k")
        self.do("BF.RESERVE", "k", "0.01", "1000", "EXPANSION", "3")
        self.do("BF.MADD", "k", "a", "b")
        self.assertEqual((self.do("BF.CARD", "k"), self.do3("BF.CARD", "k")), (2, 2))
        # Two digests; from 17 items on it is a filter.
        size = self.do("BF.INFO", "k", "SIZE")[0]
        self.assertTrue(150 < size < 300, size)
        self.do("BF.RESERVE", "l", "0.01", "1000")
        self.do("BF.MADD", "l", *range(17))
        self.assertTrue(1000 < self.do("BF.INFO", "l", "SIZE")[0] < 2500)
        facts = {
            "Capacity": 1000,
            "Size": size,
            "Number of filters": 1,
            "Number of items inserted": 2,
            "Expansion rate": 3,
        }
        self.assertEqual(self.do3("BF.INFO", "k"), facts)
        self.assertEqual(self.do("BF.INFO", "k"), [word for pair in facts.items() for word in pair])
        for word, name in zip(("capacity", "SIZE", "Filters", "ITEMS", "EXPANSION"), facts):
            self.assertEqual(self.do("BF.INFO", "k", word), [facts[name]])
            self.assertEqual(self.do3("BF.INFO", "k", word), {name: facts[name]})
        self.refused("Invalid information value", "BF.INFO", "k", "ROSES")
        self.do("BF.RESERVE", "fixed", "0.01", "10", "NONSCALING")
        self.assertEqual(self.do("BF.INFO", "fixed", "EXPANSION"), [None])
        self.assertEqual(self.do3("BF.INFO", "fixed", "EXPANSION"), {"Expansion rate": None})

    def test_a_filter_grows_as_it_was_told(self):
        for expansion in (1, 2, 5, 40):
            key = f"k{expansion}"
            self.do("BF.RESERVE", key, "0.01", "10", "EXPANSION", expansion, "SEED", "7")
            # With 1 there are at most 64 filters of 10 items.
            self.do("BF.MADD", key, *range(600 if expansion == 1 else 1000))
            filters = self.do("BF.INFO", key, "FILTERS")[0]
            capacity = sum(10 * expansion**i for i in range(filters))
            self.assertEqual(self.do("BF.INFO", key, "CAPACITY"), [capacity])
            self.assertLessEqual(self.do("BF.CARD", key), capacity)
            self.assertEqual(sum(self.do("BF.MEXISTS", key, *range(600))), 600)
            wrong = sum(self.do("BF.MEXISTS", key, *range(10**6, 10**6 + 10000)))
            # 1 % of 10,000, and five standard errors.
            self.assertLess(wrong, 100 + 5 * 10, key)

    def test_one_that_does_not_scale_can_be_full(self):
        self.do("BF.RESERVE", "k", "0.001", "3", "NONSCALING", "SEED", "7")
        self.assertEqual(self.do("BF.MADD", "k", "a", "b", "c"), [1, 1, 1])
        full = Error("ERR non scaling filter is full")
        self.assertEqual(self.do("BF.ADD", "k", "d"), full)
        self.assertEqual(self.do("BF.ADD", "k", "a"), 0)
        self.assertEqual(self.do("BF.MADD", "k", "a", "d", "b", "e"), [0, full])
        self.assertEqual(self.do3("BF.INSERT", "k", "ITEMS", "a", "d", "b"), [False, full])
        self.assertEqual(self.do("BF.CARD", "k"), 3)

    def test_debug(self):
        self.refused("ERR not found", "BF.DEBUG", "k")
        self.do("BF.RESERVE", "k", "0.01", "10")
        self.do("BF.MADD", "k", *range(25))
        lines = self.do("BF.DEBUG", "k")
        self.assertEqual(lines[0], b"size:%d" % self.do("BF.CARD", "k"))
        self.assertEqual(len(lines), 1 + self.do("BF.INFO", "k", "FILTERS")[0])
        self.assertRegex(
            lines[2], rb"^bytes:\d+ bits:\d+ hashes:\d+ hashwidth:64 capacity:20 size:\d+ ratio:[\d.e-]+$"
        )

    def test_scandump_and_loadchunk(self):
        for make in (("0.01", "100"), ("0.001", "1000", "NONSCALING"), ("0.00001", "12000000")):
            self.do("BF.RESERVE", "k", *make)
            self.do("BF.MADD", "k", *range(900))
            chunks = dump(self.do, "BF.SCANDUMP", "k")
            # The largest takes more than one chunk of 16 MiB.
            self.assertEqual(len(chunks), 4 if make[1] == "12000000" else 2)
            for at, bytes in chunks:
                self.assertEqual(self.do("BF.LOADCHUNK", "copy", at, bytes), "OK")
            self.assertEqual(*self.server.digest("k", "copy"))
            self.assertEqual(self.do("BF.DEBUG", "k"), self.do("BF.DEBUG", "copy"))
            # A header replaces what is there.
            self.assertEqual(self.do3("BF.LOADCHUNK", "copy", *chunks[0]), "OK")
            self.assertNotEqual(*self.server.digest("k", "copy"))
            self.assertEqual(self.do("DEL", "k", "copy"), 2)

    def test_loadchunk_says_what_is_wrong(self):
        self.do("BF.RESERVE", "k", "0.01", "100")
        self.do("BF.MADD", "k", *range(1000))
        (_, header), (end, bytes) = dump(self.do, "BF.SCANDUMP", "k")
        self.refused("Second argument must be numeric", "BF.SCANDUMP", "k", "rose")
        self.refused("ERR not found", "BF.SCANDUMP", "none", "0")
        self.assertEqual(self.do("BF.SCANDUMP", "k", 10**15), [0, b""])
        self.assertEqual(self.do("BF.SCANDUMP", "k", -1), [0, b""])
        self.refused("ERR Second argument must be numeric", "BF.LOADCHUNK", "new", "rose", header)
        self.refused("ERR received bad data", "BF.LOADCHUNK", "new", "1", "rose")
        self.refused("ERR received bad data", "BF.LOADCHUNK", "new", "1", header + b"!")
        self.refused("ERR not found", "BF.LOADCHUNK", "new", end, bytes)
        self.refused("ERR invalid offset - no link found", "BF.LOADCHUNK", "k", end, bytes)
        huge = header[:8] + struct.pack("<Q", 1 << 60)
        self.refused("ERR Insufficient memory to create filter: see bf.memory-limit", "BF.LOADCHUNK", "new", "1", huge)
        self.do("BF.LOADCHUNK", "new", "1", header)
        self.refused("ERR the filter is still being loaded", "BF.ADD", "new", "a")
        self.refused("ERR the filter is still being loaded", "BF.EXISTS", "new", "a")
        self.refused("ERR item exists", "BF.RESERVE", "new", "0.1", "1")
        self.refused("ERR received bad data", "BF.LOADCHUNK", "new", "-1", bytes)
        self.refused("ERR invalid offset - no link found", "BF.LOADCHUNK", "new", end - 1, bytes)
        self.refused("ERR invalid offset - no link found", "BF.LOADCHUNK", "new", end, bytes[1:])
        self.refused("ERR invalid chunk - Too big for current filter", "BF.LOADCHUNK", "new", end + 1, bytes + b"!")
        self.refused("ERR received bad data", "BF.LOADCHUNK", "new", end, bytes[:-1] + b"!")
        # Half of it is kept by files and copies as it is.
        self.do("BF.LOADCHUNK", "new", 101, bytes[:100])
        self.do("COPY", "new", "half")
        self.assertEqual(*self.server.digest("new", "half"))
        self.assertEqual(self.do("BF.SCANDUMP", "half", 1), [101, bytes[:100]])
        self.assertEqual(self.do("BF.LOADCHUNK", "half", end, bytes[100:]), "OK")
        self.assertEqual(*self.server.digest("k", "half"))

    def test_other_types_are_refused(self):
        self.do("SET", "text", "rose")
        self.do("RPUSH", "list", "rose")
        for key in ("text", "list"):
            for command in (
                ("BF.RESERVE", key, "0.1", "10"),
                ("BF.ADD", key, "a"),
                ("BF.MADD", key, "a"),
                ("BF.INSERT", key, "ITEMS", "a"),
                ("BF.CARD", key),
                ("BF.INFO", key),
                ("BF.SCANDUMP", key, "0"),
                ("BF.LOADCHUNK", key, "2", "a"),
                ("BF.DEBUG", key),
            ):
                self.refused(WRONG_TYPE, *command)
            # As in RedisBloom.
            self.assertEqual((self.do("BF.EXISTS", key, "a"), self.do("BF.MEXISTS", key, "a")), (0, [0]))
        self.do("BF.RESERVE", "k", "0.1", "10")
        header = self.do("BF.SCANDUMP", "k", 0)[1]
        self.refused(WRONG_TYPE, "BF.LOADCHUNK", "text", "1", header)
        self.refused(WRONG_TYPE, "GET", "k")

    def test_wrong_numbers_of_arguments(self):
        for words in (
            "BF.RESERVE", "BF.RESERVE k", "BF.RESERVE k 0.1", "BF.ADD k", "BF.ADD k a b", "BF.MADD k", "BF.INSERT k",
            "BF.EXISTS k", "BF.EXISTS k a b", "BF.MEXISTS k", "BF.CARD", "BF.CARD k a", "BF.INFO", "BF.INFO k a b",
            "BF.SCANDUMP k", "BF.LOADCHUNK k 1", "BF.DEBUG",
        ):  # fmt: skip
            words = words.split()
            self.refused(arity(words[0].lower()), *words)

    def test_a_copy_is_a_copy(self):
        self.do("BF.MADD", "k", *range(1000))
        self.assertEqual(self.do("COPY", "k", "copy"), 1)
        self.assertEqual(*self.server.digest("k", "copy"))
        self.do("BF.MADD", "copy", *range(1000, 2000))
        self.assertNotEqual(*self.server.digest("k", "copy"))
        self.assertLess(sum(self.do("BF.MEXISTS", "k", *range(1000, 2000))), 100)
        # It knows how much room there is.
        self.do("BF.RESERVE", "fixed", "0.001", "3", "NONSCALING", "SEED", "7")
        self.do("BF.MADD", "fixed", "a", "b")
        self.do("COPY", "fixed", "fixed2")
        full = Error("ERR non scaling filter is full")
        self.assertEqual(self.do("BF.MADD", "fixed2", "c", "d"), [1, full])

    def test_memory_is_counted(self):
        before = int(self.server.info("memory", "used_memory"))
        self.do("BF.RESERVE", "k", "0.01", "10000000")
        usage, info = self.do("MEMORY", "USAGE", "k"), self.do("BF.INFO", "k", "SIZE")[0]
        self.assertTrue(13_000_000 < info <= usage < 15_000_000, (info, usage))
        taken = int(self.server.info("memory", "used_memory")) - before
        self.assertTrue(13_000_000 < taken < 20_000_000, taken)
        self.do("UNLINK", "k")
        self.server.wait(lambda: int(self.server.info("memory", "used_memory")) < before + 1_000_000)

    def test_growth_ends_at_the_limit(self):
        self.do("CONFIG", "SET", "bf.memory-limit", "20000")
        try:
            self.refused("ERR Insufficient memory to create filter: see bf.memory-limit", "BF.RESERVE", "k", "0.01", "100000")
            replies = self.do("BF.MADD", "k", *range(20000))
            self.assertEqual(replies[-1], Error("ERR problem inserting into filter: it may not grow, see bf.memory-limit"))
            self.assertTrue(5000 < len(replies) < 20000)
            self.assertEqual(self.do("BF.MEXISTS", "k", *range(len(replies) - 1)), [1] * (len(replies) - 1))
            self.assertLess(self.do("BF.INFO", "k", "SIZE")[0], 22000)
        finally:
            self.do("CONFIG", "SET", "bf.memory-limit", "128mb")
        self.assertEqual(self.do("BF.ADD", "k", absent(self.do, "BF.EXISTS", "k")), 1)

    def test_settings(self):
        for name, value, bad in (
            ("initial-size", "500", "0"),
            ("expansion-factor", "4", "32769"),
            ("error-rate", "0.5", "1"),
        ):
            name = "bf." + name
            old = self.do("CONFIG", "GET", name)[1]
            self.assertEqual(self.do("CONFIG", "SET", name, value), "OK")
            self.assertEqual(self.do("CONFIG", "GET", name)[1], value.encode())
            self.assertIsInstance(self.do("CONFIG", "SET", name, bad), Error)
            self.do("DEL", "k")
            self.do("BF.MADD", "k", *range(20))
            info = self.do3("BF.INFO", "k")
            self.do("CONFIG", "SET", name, old)
            self.do("DEL", "k")
            self.do("BF.MADD", "k", *range(20))
            default = self.do3("BF.INFO", "k")
            if name == "bf.initial-size":
                self.assertEqual(info["Capacity"], 500)
            elif name == "bf.expansion-factor":
                self.assertEqual(info["Expansion rate"], 4)
            else:
                self.assertLess(info["Size"], default["Size"])

    def test_events_are_told(self):
        self.do("CONFIG", "SET", "notify-keyspace-events", "KEA")
        listener = Wire(self.server.port)
        listener.do("SUBSCRIBE", "__keyspace@0__:k")
        self.do("BF.ADD", "k", "a")
        self.do("BF.ADD", "k", "a")
        self.do("BF.MADD", "k", "a", "b")
        self.do("BF.ADD", "k", "c")
        self.do("BF.EXISTS", "k", "b")
        for at, bytes in dump(self.do, "BF.SCANDUMP", "k"):
            self.do("BF.LOADCHUNK", "k", at, bytes)
        self.do("DEL", "k")
        events = []
        while not events or events[-1] != b"del":
            events.append(listener.read()[2])
        listener.close()
        self.do("CONFIG", "SET", "notify-keyspace-events", "")
        named = [event for event in events if event.startswith(b"bf.")]
        self.assertEqual(named, [b"bf.reserve"] + [b"bf.add"] * 3 + [b"bf.loadchunk"] * 2)

    def test_a_transaction_sees_changes_only(self):
        self.do("BF.ADD", "k", "a")
        other = Wire(self.server.port)
        for item, changes in (("a", False), ("b", True)):
            other.do("WATCH", "k")
            self.do("BF.ADD", "k", item)
            other.do("MULTI")
            other.do("PING")
            self.assertEqual(other.do("EXEC"), None if changes else ["PONG"])
        other.close()

    def test_access_can_be_given_by_category(self):
        if self.engine == "redis":
            self.skipTest("Redis 7.0 has no categories for modules")
        names = self.do("ACL", "CAT", "bloom")
        self.assertEqual(len(names), 11)
        self.do("ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@bloom", "-@write")
        reader = Wire(self.server.port)
        reader.do("AUTH", "reader", "x")
        self.assertEqual(reader.do("BF.EXISTS", "k", "a"), 0)
        self.assertTrue(reader.do("BF.ADD", "k", "a").text.startswith("NOPERM"))
        self.assertTrue(reader.do("GET", "k").text.startswith("NOPERM"))
        reader.close()

    def test_what_redis_py_offers_works(self):
        for protocol in (2, 3):
            client = redis.Redis(port=self.server.port, protocol=protocol)
            client.flushall()
            bf = client.bf()
            self.assertTrue(bf.create("k", 0.0001, 1000))
            self.assertEqual(bf.madd("k", "a", "b"), [1, 1])
            self.assertEqual(bf.insert("k", ["b", "c"], noCreate=True), [0, 1])
            self.assertEqual((bf.exists("k", "c"), bf.mexists("k", "a", "z"), bf.card("k")), (1, [1, 0], 3))
            info = bf.info("k")
            if protocol == 2:
                self.assertEqual((info.capacity, info.insertedNum, info.expansionRate), (1000, 3, 2))
            chunks, at = [], 0
            while True:
                at, bytes = bf.scandump("k", at)
                if at == 0:
                    break
                chunks.append((at, bytes))
            client.delete("k")
            for chunk in chunks:
                bf.loadchunk("k", *chunk)
            self.assertEqual(bf.card("k"), 3)
            client.close()


class Filled:
    """Filters in some states, one of them still arriving."""

    def fill(self):
        self.do("BF.MADD", "grown", *range(5000))
        self.do("BF.RESERVE", "fixed", "0.001", "500", "NONSCALING")
        self.do("BF.MADD", "fixed", *range(400))
        self.do("BF.RESERVE", "large", "0.001", "1500000", "EXPANSION", "4")
        self.do("BF.MADD", "large", *range(3000))
        chunks = dump(self.do, "BF.SCANDUMP", "grown")
        self.do("BF.LOADCHUNK", "half", *chunks[0])
        self.do("BF.LOADCHUNK", "half", 501, chunks[1][1][:500])
        self.last = chunks[1]
        self.infos = [self.do("BF.INFO", key) for key in ("grown", "fixed", "large")]
        return ("grown", "fixed", "large", "half")

    def go_on(self):
        self.assertEqual([self.do("BF.INFO", key) for key in ("grown", "fixed", "large")], self.infos)
        end, bytes = self.last
        self.assertEqual(self.do("BF.LOADCHUNK", "half", end, bytes[500:]), "OK")
        self.assertEqual(*self.server.digest("grown", "half"))
        for key in ("grown", "half"):
            self.do("BF.MADD", key, *range(10000, 20000))
        self.assertEqual(*self.server.digest("grown", "half"))
        self.assertIsInstance(self.do("BF.MADD", "fixed", *range(10000, 11000))[-1], Error)


class Restarts(Filled, restarts.Restarts):
    pass


class Appended(Filled, restarts.Appended):
    pass


class Replicas(Case):
    def test_a_replica_has_the_same_bits(self):
        random.seed(7)
        wire = self.server.wire()
        self.do("BF.MADD", "before", *range(3000))
        self.do("BF.RESERVE", "fixed", "0.01", "300", "NONSCALING")
        # A replica with other settings, and a limit of its own, follows all the same.
        # It would end itself at the first command that is refused there.
        replica = replica_of(self.server, "--propagation-error-behavior", "panic-on-replicas")
        try:
            replica.do("CONFIG", "SET", "bf.initial-size", "7", "bf.error-rate", "0.3", "bf.memory-limit", "1000")
            self.assertEqual(replica.digest(), self.server.digest())
            commands = []
            for step in range(20000):
                key = random.choice(("a", "b", "before", "fixed", "fixed2"))
                item = random.randrange(20000)
                kind = random.random()
                if kind < 0.6:
                    commands.append(("BF.ADD", key, item))
                elif kind < 0.8:
                    commands.append(("BF.MADD", key, *(random.randrange(20000) for _ in range(9))))
                elif kind < 0.9:
                    words = random.choice((("EXPANSION", 3), ("NONSCALING",), ("CAPACITY", 50, "ERROR", "0.03")))
                    commands.append(("BF.INSERT", key, *words, "ITEMS", item, item + 1))
                elif kind < 0.95:
                    commands.append(("BF.EXISTS", key, item))
                elif kind < 0.955:
                    commands.append(("DEL", random.choice(("a", "b"))))
                elif kind < 0.96:
                    commands.append(("COPY", "before", "b"))
                elif kind < 0.965:
                    commands.append(("BF.RESERVE", "b", "0.001", random.randrange(1, 5000)))
                else:
                    commands.append(("BF.RESERVE", key, "2", "1"))
            for start in range(0, len(commands), 2000):
                wire.pipeline(commands[start : start + 2000])
            self.do("BF.RESERVE", "fixed2", "0.01", "3", "NONSCALING")
            for at, bytes in dump(self.do, "BF.SCANDUMP", "before"):
                self.do("BF.LOADCHUNK", "loaded", at, bytes)
            self.do("MULTI")
            self.do("BF.ADD", "multi", "a")
            self.do("BF.MADD", "multi", "a", "b")
            self.do("EXEC")
            self.do("EVAL", "return redis.call('BF.MADD', KEYS[1], 'a', 'b')", 1, "script")
            follow(self.server, replica)
            self.assertEqual(replica.digest(), self.server.digest())
            keys = sorted(self.do("KEYS", "*"))
            self.assertGreaterEqual(len(keys), 7)
            self.assertEqual(replica.digest(*keys), self.server.digest(*keys))
        finally:
            replica.remove()

    def test_only_what_was_accepted_is_passed_on(self):
        def work():
            self.do("BF.RESERVE", "k", "0.001", "3", "NONSCALING", "SEED", "7")
            self.do("BF.MADD", "k", "a", "b")
            self.do("BF.MADD", "k", "a", "c", "d", "e")
            self.do("BF.MADD", "k", "a", "b")
            self.do("BF.ADD", "k", "z")
            self.do("BF.INSERT", "k", "ITEMS", "a")

        self.assertEqual(
            restarts.passed_on(self, "BF.", work),
            [
                "BF.RESERVE k 0.001 3 EXPANSION 0 SEED 7 TIGHTENING 0.000000000001 PEAK 0",
                "BF.MADD k a b",
                "BF.MADD k c",
            ],
        )


class Killed(Case):
    # With everysec the engine may postpone a write by two seconds while the disk is busy, and then loses what it answered.
    options = ("--appendonly", "yes", "--appendfsync", "always")

    def test_what_was_answered_survives_the_death_of_the_server(self):
        answered = set()
        for round in range(3):
            wire = self.server.wire()
            first = round * 10**6
            commands = [("BF.MADD", "k", *range(at, at + 20)) for at in range(first, first + 40000, 20)]
            wire.send(*commands)
            # In the middle of its work.
            for command in commands[: 500 * (round + 1)]:
                wire.read()
                answered.update(command[2:])
            self.server.kill()
            self.server.start()
            self.assertEqual(set(self.do("BF.MEXISTS", "k", *answered)), {1})
        card = self.do("BF.CARD", "k")
        self.assertGreater(card, len(answered) * 0.98)
        # One of a hundred new items seems to be in; ten of a thousand, and five standard errors.
        new = self.do("BF.MADD", "k", *(f"rose {number}" for number in range(1000)))
        self.assertGreater(sum(new), 1000 - 10 - 5 * 3.2)


class Hostile(hostile.Hostile):
    family = "BF"

    def fill(self):
        self.do("BF.MADD", "grown", *range(300))
        self.do("BF.RESERVE", "fixed", "0.01", "100", "NONSCALING")
        chunks = dump(self.do, "BF.SCANDUMP", "grown")
        self.do("BF.LOADCHUNK", "half", *chunks[0])
        self.do("BF.LOADCHUNK", "half", 301, chunks[1][1][:300])
        return ("grown", "fixed", "half")

    uses = (
        ("BF.ADD", "x", "a"),
        ("BF.MADD", "x", *range(300)),
        ("BF.MEXISTS", "x", *range(20)),
        ("BF.INFO", "x"),
        ("BF.DEBUG", "x"),
        ("BF.SCANDUMP", "x", "1"),
    )


on_both(globals(), Commands, Restarts, Appended, Replicas, Killed, Hostile)
