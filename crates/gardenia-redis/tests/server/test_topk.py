"""TOPK.*: every command in both protocols, every error, files, replicas, hostile bytes."""

import random

import redis

import hostile
import restarts
from servers import WRONG_TYPE, Case, arity, dump, follow, on_both, replica_of
from wire import Error, Wire

NO_KEY = "TopK: key does not exist"
INCREMENT = "TopK: increment must be an integer greater or equal to 0 and smaller or equal to 100,000"
NO_MEMORY = "ERR Insufficient memory to create topk data structure: see bf.memory-limit"
NOT_ADDED = Error("TopK: Insufficient memory to add the item: see bf.memory-limit")


class Commands(Case):
    def test_a_table_has_the_shape_that_was_asked_for(self):
        self.assertEqual(self.do("TOPK.RESERVE", "k", "50"), "OK")
        self.assertEqual(self.do("TYPE", "k"), "gdn-top-k")
        self.assertEqual(self.do3("TOPK.INFO", "k"), {"k": 50, "width": 8, "depth": 7, "decay": 0.9})
        self.assertEqual(self.do3("TOPK.RESERVE", "k2", "3", "50", "4", "1"), "OK")
        self.assertEqual(self.do3("TOPK.INFO", "k2"), {"k": 3, "width": 50, "depth": 4, "decay": 1.0})
        facts = self.do("TOPK.INFO", "k")
        self.assertEqual(facts[:7], ["k", 50, "width", 8, "depth", 7, "decay"])
        self.assertIsInstance(facts[7], bytes)
        self.assertEqual(float(facts[7]), 0.9)
        self.do("SET", "text", "rose")
        for key in ("k", "text"):
            self.refused("TopK: key already exists", "TOPK.RESERVE", key, "50")
            self.refused("TopK: key already exists", "TOPK.RESERVE", key, "rose", "0", "0", "0")
        decay = "TopK: invalid decay value. must be '<= 1' & '> 0'"
        for words, text in [
            ("0", "TopK: invalid k"),
            ("-1", "TopK: invalid k"),
            ("rose", "TopK: invalid k"),
            ("4294967296", "TopK: invalid k"),
            ("1000000000000000000", "TopK: invalid k"),
            ("3 0 4 0.9", "TopK: invalid width"),
            ("3 rose 4 0.9", "TopK: invalid width"),
            ("3 50 -4 0.9", "TopK: invalid depth"),
            ("3 50 rose 0.9", "TopK: invalid depth"),
            ("3 50 256 0.9", "TopK: invalid depth: a table has at most 255 rows"),
            ("3 1 16000000 0.9", "TopK: invalid depth: a table has at most 255 rows"),
            ("3 50 4 0", decay),
            ("3 50 4 1.1", decay),
            ("3 50 4 -0.5", decay),
            ("3 50 4 nan", decay),
            ("3 50 4 rose", decay),
            ("4294967295", NO_MEMORY),
            ("3 4294967295 255 0.9", NO_MEMORY),
            ("3 10000000 4 0.9", NO_MEMORY),
        ]:
            self.refused(text, "TOPK.RESERVE", "new", *words.split())
        self.assertEqual(self.do("EXISTS", "new"), 0)
        self.assertEqual(self.do("TOPK.RESERVE", "new", "3", "50", "255", "0.9"), "OK")

    def test_items_come_and_go(self):
        """As clients' tests expect of RedisBloom."""
        self.do("TOPK.RESERVE", "k", 3, 50, 4, "0.9")
        stream = "A B C D E A A B C G D B D A E E 1".split()
        replies = self.do("TOPK.ADD", "k", *stream)
        self.assertEqual("".join("-" if out is None else out.decode() for out in replies), "---ACD--E-BC---D-")
        asked = ("A", "B", "C", "D", "E", "F", "G")
        self.assertEqual(self.do("TOPK.QUERY", "k", *asked), [1, 1, 0, 0, 1, 0, 0])
        got = self.do3("TOPK.QUERY", "k", "A", "C")
        self.assertEqual((got, [type(x) for x in got]), ([True, False], [bool, bool]))
        self.assertEqual(self.do("TOPK.COUNT", "k", *asked), [4, 3, 2, 3, 3, 0, 1])
        self.assertEqual(self.do3("TOPK.COUNT", "k", "A"), [4])
        for do in (self.do, self.do3):
            self.assertEqual(do("TOPK.LIST", "k"), [b"A", b"B", b"E"])
            self.assertEqual(do("TOPK.LIST", "k", "WITHCOUNT"), [b"A", 4, b"B", 3, b"E", 3])
            self.assertEqual(do("TOPK.LIST", "k", "withcount"), [b"A", 4, b"B", 3, b"E", 3])

    def test_increments(self):
        self.do("TOPK.RESERVE", "k", 3, 10, 3, "1")
        self.assertEqual(self.do("TOPK.INCRBY", "k", "bar", 3, "baz", 6, "42", 2), [None, None, None])
        self.assertEqual(self.do3("TOPK.INCRBY", "k", "42", 8, "xyzzy", 4), [None, b"bar"])
        self.assertEqual(self.do("TOPK.COUNT", "k", "bar", "baz", "42", "xyzzy", "4"), [3, 6, 10, 4, 0])
        self.assertEqual(self.do("TOPK.INCRBY", "k", "42", 0, "new", 0), [None, None])
        self.assertEqual(self.do("TOPK.LIST", "k", "WITHCOUNT"), [b"42", 10, b"baz", 6, b"xyzzy", 4])
        self.assertEqual(self.do("TOPK.INCRBY", "k", "42", 100000, b"\x00\xff", 100000), [None, b"xyzzy"])
        self.assertEqual(self.do("TOPK.QUERY", "k", b"\x00\xff", b"\x00"), [1, 0])

    def test_a_wrong_increment_is_one_error_and_counts_nothing(self):
        self.do("TOPK.RESERVE", "k", 3)
        self.do("TOPK.ADD", "k", "a")
        for wrong in ("rose", "-1", "100001", "1.5", "9223372036854775808", ""):
            self.refused(INCREMENT, "TOPK.INCRBY", "k", "a", 1, "b", wrong, "c", 1)
        # The next reply is that of the next command.
        self.assertEqual(self.do("PING"), "PONG")

    def test_heavy_items_are_found_among_light_ones(self):
        random.seed(5)
        self.do("TOPK.RESERVE", "k", 10, 100, 5, "0.9")
        # Every cell belongs to a light one first.
        self.do("TOPK.ADD", "k", *range(2000))
        items = [f"heavy{n}" for n in range(10) for _ in range(500)] + [str(n) for n in range(10000)]
        random.shuffle(items)
        for start in range(0, len(items), 1000):
            self.do("TOPK.ADD", "k", *items[start : start + 1000])
        self.assertEqual(sorted(self.do("TOPK.LIST", "k")), [b"heavy%d" % n for n in range(10)])

    def test_absent_keys_and_other_types_are_refused(self):
        self.do("SET", "text", "rose")
        self.do("BF.ADD", "filter", "rose")
        for key, text in (("none", NO_KEY), ("text", WRONG_TYPE), ("filter", WRONG_TYPE)):
            self.refused(text, "TOPK.ADD", key, "a")
            self.refused(text, "TOPK.INCRBY", key, "a", 1)
            self.refused(text, "TOPK.QUERY", key, "a")
            self.refused(text, "TOPK.COUNT", key, "a")
            self.refused(text, "TOPK.LIST", key)
            self.refused(text, "TOPK.LIST", key, "WITHCOUNT")
            self.refused(text, "TOPK.INFO", key)
            self.refused("WITHCOUNT keyword expected", "TOPK.LIST", key, "rose")
        self.do("TOPK.RESERVE", "k", 3)
        self.refused(WRONG_TYPE, "GET", "k")
        self.refused(WRONG_TYPE, "GD.LOADCHUNK", "text", 1, self.do("GD.SCANDUMP", "k", 0)[1])

    def test_wrong_numbers_of_arguments(self):
        for words in (
            "TOPK.RESERVE", "TOPK.RESERVE k", "TOPK.RESERVE k 1 2", "TOPK.RESERVE k 1 2 3",
            "TOPK.RESERVE k 1 2 3 0.9 5", "TOPK.ADD", "TOPK.ADD k", "TOPK.INCRBY k", "TOPK.INCRBY k a", "TOPK.INCRBY k a 1 b", "TOPK.QUERY k",
            "TOPK.COUNT k", "TOPK.LIST", "TOPK.LIST k WITHCOUNT 1", "TOPK.INFO", "TOPK.INFO k a",
        ):  # fmt: skip
            words = words.split()
            self.refused(arity(words[0].lower()), *words)
        self.do("TOPK.RESERVE", "k", 3)
        self.refused(arity("topk.reserve"), "TOPK.RESERVE", "k", 1, 2)

    def test_long_items_end_at_the_limit(self):
        self.do("TOPK.RESERVE", "k", 100)
        self.do("CONFIG", "SET", "bf.memory-limit", "20000")
        try:
            items = [str(n) * 2000 for n in range(10)]
            replies = self.do("TOPK.ADD", "k", *items)
            self.assertEqual(replies[-1], NOT_ADDED)
            taken = len(replies) - 1
            self.assertTrue(2 <= taken < 10, taken)
            self.assertEqual(self.do("TOPK.QUERY", "k", *items), [1] * taken + [0] * (10 - taken))
            self.assertEqual(self.do("TOPK.COUNT", "k", *items), [1] * taken + [0] * (10 - taken))
            # None at all is an array, too; and what is in it costs nothing more.
            self.refused_at(0, "TOPK.ADD", "k", items[9])
            self.refused_at(1, "TOPK.INCRBY", "k", items[0], 3, items[9], 3, "a", 3)
            self.assertEqual(self.do("TOPK.ADD", "k", items[0]), [None])
            usage = self.do("MEMORY", "USAGE", "k")
            self.assertTrue(taken * 2000 < usage < 21000, usage)
        finally:
            self.do("CONFIG", "SET", "bf.memory-limit", "128mb")
        self.assertEqual(self.do("TOPK.ADD", "k", items[9]), [None])

    def refused_at(self, place, *words):
        for do in (self.do, self.do3):
            self.assertEqual(do(*words), [None] * place + [NOT_ADDED])

    def test_scandump_and_loadchunk(self):
        self.do("TOPK.RESERVE", "k", 5)
        self.do("TOPK.ADD", "k", *range(20))
        chunks = dump(self.do, "GD.SCANDUMP", "k")
        self.assertEqual(len(chunks), 2)
        for chunk in chunks:
            self.assertEqual(self.do("GD.LOADCHUNK", "copy", *chunk), "OK")
        self.assertEqual(*self.server.digest("k", "copy"))
        self.do("GD.LOADCHUNK", "half", *chunks[0])
        for words in (("TOPK.ADD", "half", "a"), ("TOPK.QUERY", "half", "a"), ("TOPK.LIST", "half")):
            self.refused("TopK: the table is still being loaded", *words)
        self.refused("TopK: key already exists", "TOPK.RESERVE", "half", 1)

    def test_a_copy_is_a_copy(self):
        self.do("TOPK.RESERVE", "k", 5)
        self.do("TOPK.ADD", "k", *range(20))
        self.assertEqual(self.do("COPY", "k", "copy"), 1)
        self.assertEqual(*self.server.digest("k", "copy"))
        self.do("TOPK.ADD", "k", *range(100))
        self.assertNotEqual(*self.server.digest("k", "copy"))
        # It has its own chance, which is the same.
        self.do("TOPK.ADD", "copy", *range(100))
        self.assertEqual(*self.server.digest("k", "copy"))

    def test_events_are_told(self):
        self.do("CONFIG", "SET", "notify-keyspace-events", "KEA")
        listener = Wire(self.server.port)
        listener.do("SUBSCRIBE", "__keyspace@0__:k")
        self.do("TOPK.RESERVE", "k", 3)
        self.do("TOPK.ADD", "k", "a", "b")
        self.do("TOPK.INCRBY", "k", "a", 0)
        self.do("TOPK.INCRBY", "k", "a", 3)
        self.do("TOPK.INCRBY", "k", "a", 3, "b", "rose")
        self.do("TOPK.LIST", "k")
        self.do("DEL", "k")
        events = []
        while not events or events[-1] != b"del":
            events.append(listener.read()[2])
        listener.close()
        self.do("CONFIG", "SET", "notify-keyspace-events", "")
        named = [event for event in events if event.startswith(b"topk.")]
        self.assertEqual(named, [b"topk.reserve", b"topk.add", b"topk.incrby"])

    def test_a_transaction_sees_changes_only(self):
        self.do("TOPK.RESERVE", "k", 3)
        other = Wire(self.server.port)
        for by, changes in ((0, False), ("rose", False), (1, True)):
            other.do("WATCH", "k")
            self.do("TOPK.INCRBY", "k", "a", by)
            other.do("MULTI")
            other.do("PING")
            self.assertEqual(other.do("EXEC"), None if changes else ["PONG"])
        other.close()

    def test_access_can_be_given_by_category(self):
        if self.engine == "redis":
            self.skipTest("Redis 7.0 has no categories for modules")
        self.assertEqual(len(self.do("ACL", "CAT", "topk")), 7)

    def test_what_redis_py_offers_works(self):
        for protocol in (2, 3):
            client = redis.Redis(port=self.server.port, protocol=protocol, decode_responses=True)
            client.flushall()
            topk = client.topk()
            self.assertTrue(topk.reserve("k", 3, 50, 4, 0.9))
            added = topk.add("k", *"A B C D E A A B C G D B D A E E 1".split())
            expected = "---ACD--E-BC---D-"
            self.assertEqual("".join(out or "-" for out in added), expected)
            self.assertEqual(topk.query("k", "A", "B", "C"), [1, 1, 0])
            self.assertEqual(client.execute_command("TOPK.COUNT", "k", "A", "B", "C"), [4, 3, 2])
            self.assertEqual(topk.list("k"), ["A", "B", "E"])
            self.assertEqual(topk.list("k", withcount=True), ["A", 4, "B", 3, "E", 3])
            self.assertTrue(topk.reserve("incr", 3, 10, 3, 1))
            self.assertEqual(topk.incrby("incr", ["bar", "baz", "42"], [3, 6, 2]), [None] * 3)
            self.assertEqual(topk.incrby("incr", ["42", "xyzzy"], [8, 4]), [None, "bar"])
            info = topk.info("k")
            self.assertEqual([info[fact] for fact in ("k", "width", "depth")], [3, 50, 4])
            self.assertEqual(round(float(info["decay"]), 1), 0.9)
            with self.assertRaisesRegex(redis.ResponseError, "key does not exist"):
                topk.add("none", "a")
            client.close()


class Restarts(restarts.Restarts):
    def fill(self):
        for key, words in (("small", "1"), ("middle", "50 100 4 0.95"), ("large", "9 500000 6 1")):
            self.do("TOPK.RESERVE", key, *words.split())
            # Many more than there is room for: what is kept depends on chance.
            self.do("TOPK.ADD", key, *(n * n % 997 for n in range(5000)))
        self.do("TOPK.RESERVE", "empty", "5")
        self.do("COPY", "middle", "future")
        self.add_more("future")
        chunks = dump(self.do, "GD.SCANDUMP", "middle")
        self.do("GD.LOADCHUNK", "half", *chunks[0])
        self.do("GD.LOADCHUNK", "half", 501, chunks[1][1][:500])
        self.rest = chunks[1]
        return ("small", "middle", "large", "empty", "future", "half")

    def add_more(self, *keys):
        for key in keys:
            self.do("TOPK.ADD", key, *(n * n % 991 for n in range(3000)))

    def go_on(self):
        end, bytes = self.rest
        self.assertEqual(self.do("GD.LOADCHUNK", "half", end, bytes[500:]), "OK")
        self.add_more("middle", "half")
        # All go the way that one has gone before.
        self.assertEqual(len(set(self.server.digest("future", "middle", "half"))), 1)
        self.assertEqual(self.do("TOPK.ADD", "empty", "rose"), [None])


class Appended(restarts.Appended, Restarts):
    pass


class Replicas(Case):
    def test_a_replica_has_the_same_items(self):
        random.seed(7)
        # Small ones: cells change hands all the time.
        self.do("TOPK.RESERVE", "before", 5, 6, 3, "0.95")
        self.do("TOPK.ADD", "before", *range(500))
        # It would end itself at the first error that it had to tell its primary.
        replica = replica_of(self.server, "--propagation-error-behavior", "panic-on-replicas")
        try:
            replica.do("CONFIG", "SET", "bf.memory-limit", "100")
            self.do("CONFIG", "SET", "bf.memory-limit", "1500")
            keys = ("before", "a", "b")
            commands = []
            for _ in range(10000):
                key, kind = random.choice(keys), random.random()
                number = lambda: random.choice((random.randrange(10), random.randrange(300)))
                item = lambda: number() if random.random() < 0.7 else "long" * random.randrange(200)
                if kind < 0.5:
                    commands.append(("TOPK.ADD", key, *(item() for _ in range(random.randrange(1, 9)))))
                elif kind < 0.9:
                    by = lambda: random.choice((0, 1, 3, 50, 100000 if kind < 0.55 else 7, "rose" if kind < 0.6 else 2))
                    words = [word for _ in range(random.randrange(1, 6)) for word in (item(), by())]
                    commands.append(("TOPK.INCRBY", key, *words))
                elif kind < 0.94:
                    commands.append(("DEL", random.choice("ab")))
                elif kind < 0.98:
                    words = random.choice(((), (5, 3, "0.8"), (1, 1, "1"), (7, 2, "0.999")))
                    commands.append(("TOPK.RESERVE", key, random.randrange(9), *words))
                else:
                    commands.append(("COPY", "before", random.choice("ab"), "REPLACE"))
            replies = self.server.wire().pipeline(commands)
            partial = sum(isinstance(reply, list) and len(reply) > 1 and reply[-1] == NOT_ADDED for reply in replies)
            good = sum(not isinstance(reply, Error) for reply in replies)
            self.assertTrue(partial > 50 and good > 4000, (partial, good))
            self.do("EVAL", "return redis.call('TOPK.ADD', KEYS[1], 'a')", 1, "before")
            follow(self.server, replica)
            self.assertEqual(replica.digest(*keys), self.server.digest(*keys))
            self.assertEqual(replica.digest(), self.server.digest())
        finally:
            self.do("CONFIG", "SET", "bf.memory-limit", "128mb")
            replica.remove()

    def test_only_what_was_accepted_is_passed_on(self):
        def work():
            self.do("TOPK.RESERVE", "k", "3")
            self.do("TOPK.RESERVE", "k", "3")
            self.do("TOPK.ADD", "k", "a", "b")
            self.do("TOPK.INCRBY", "k", "a", "2", "b", "rose")
            self.do("TOPK.INCRBY", "k", "a", "0")
            self.do("TOPK.INCRBY", "k", "a", "2")
            self.do("CONFIG", "SET", "bf.memory-limit", "1000")
            self.do("TOPK.ADD", "k", "c", "x" * 900, "d")
            self.do("TOPK.INCRBY", "k", "c", "3", "x" * 900, "3")
            self.do("TOPK.ADD", "k", "x" * 900)
            self.do("CONFIG", "SET", "bf.memory-limit", "128mb")
            self.do("TOPK.LIST", "k")

        self.assertEqual(
            [line.lower() for line in restarts.passed_on(self, "TOPK.", work)],
            [
                "topk.reserve k 3 8 7 0.9",
                "topk.add k a b",
                "topk.incrby k a 2",
                "topk.add k c",
                "topk.incrby k c 3",
            ],
        )


class Hostile(hostile.Hostile):
    family = "GD"

    def fill(self):
        self.do("TOPK.RESERVE", "empty", 2, 1, 1, "0.9")
        self.do("TOPK.RESERVE", "full", 5, 4, 3, "0.9")
        self.do("TOPK.ADD", "full", *range(30))
        chunks = dump(self.do, "GD.SCANDUMP", "full")
        self.do("GD.LOADCHUNK", "half", *chunks[0])
        self.do("GD.LOADCHUNK", "half", 51, chunks[1][1][:50])
        return ("full", "empty", "half")

    uses = (
        ("TOPK.ADD", "x", *range(20)),
        ("TOPK.INCRBY", "x", "a", 100000, "b", 100000, "", 7),
        ("TOPK.QUERY", "x", *range(5)),
        ("TOPK.COUNT", "x", *range(5)),
        ("TOPK.LIST", "x", "WITHCOUNT"),
        ("TOPK.INFO", "x"),
        ("MEMORY", "USAGE", "x"),
    )


on_both(globals(), Commands, Restarts, Appended, Replicas, Hostile)
