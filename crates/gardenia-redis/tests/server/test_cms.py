"""CMS.*: every command in both protocols, every error, keys, files, replicas, hostile bytes, RedisBloom's sketches."""

import base64
import os
import random
import struct

import redis

import hostile
import restarts
from redisbloom_data import KEYS, WRITTEN
from servers import WRONG_TYPE, Case, Server, arity, dump, follow, on_both, replica_of
from wire import Error, Wire, encoded

TOP = 2**32 - 1
NO_KEY = "CMS: key does not exist"
HASHES = "CMS: sketches that hash differently, as RedisBloom's and ours, cannot be merged"
OVERFLOW = Error("CMS: INCRBY overflow")

INTEROP = WRITTEN["cms"]
STRINGS = [key.encode() for key in KEYS]
PAYLOAD = base64.b64decode(INTEROP["dump_payload_b64"])


def table(width, depth, total=0):
    """A sketch of RedisBloom's, empty, as GD.LOADCHUNK takes it."""
    fields = struct.pack("<QQQQ", width, depth, total, 4 * width * depth) + bytes(4 * width * depth)
    return b"\x89RBL-CM\xff" + struct.pack("<Q", len(fields)) + fields


class Commands(Case):
    def make(self, *keys, width=1000, depth=5):
        for key in keys:
            self.assertEqual(self.do("CMS.INITBYDIM", key, width, depth), "OK")

    def make_tables(self, *keys, width=1000, depth=5):
        for key in keys:
            self.assertEqual(self.do("GD.LOADCHUNK", key, 1, table(width, depth)), "OK")

    def test_sketches_have_the_shape_that_was_asked_for(self):
        self.make("k", width=2000, depth=7)
        self.assertEqual(self.do("TYPE", "k"), "gdn-count")
        self.assertEqual(self.do("CMS.INFO", "k"), ["width", 2000, "depth", 7, "count", 0])
        self.assertEqual(self.do3("CMS.INFO", "k"), {"width": 2000, "depth": 7, "count": 0})
        self.assertEqual(self.do3("CMS.INITBYPROB", "p", "0.001", "0.01"), "OK")
        self.assertEqual(self.do3("CMS.INFO", "p"), {"width": 2000, "depth": 7, "count": 0})
        self.assertEqual(*self.server.digest("k", "p"))
        self.do("SET", "text", "rose")
        for key in ("k", "text"):
            for words in (("10", "3"), ("rose", "3")):
                self.refused("CMS: key already exists", "CMS.INITBYDIM", key, *words)
                self.refused("CMS: key already exists", "CMS.INITBYPROB", key, *words)
        huge = "1000000000000000000"
        for words, text in [
            (("0", "3"), "CMS: invalid width"),
            (("-1", "3"), "CMS: invalid width"),
            (("rose", "3"), "CMS: invalid width"),
            (("3", "0"), "CMS: invalid depth"),
            (("3", "-1"), "CMS: invalid depth"),
            (("3", "rose"), "CMS: invalid depth"),
            (("3", "256"), "CMS: invalid depth"),
            ((huge, huge), "CMS: invalid init arguments"),
            (("9223372036854775807", "3"), "CMS: invalid init arguments"),
            ((huge, "1"), "CMS: Insufficient memory to create the key: see bf.memory-limit"),
            (("10000000", "5"), "CMS: Insufficient memory to create the key: see bf.memory-limit"),
        ]:
            self.refused(text, "CMS.INITBYDIM", "new", *words)
        for words, text in [
            (("0", "0.1"), "CMS: invalid overestimation value"),
            (("1", "0.1"), "CMS: invalid overestimation value"),
            (("nan", "0.1"), "CMS: invalid overestimation value"),
            (("rose", "0.1"), "CMS: invalid overestimation value"),
            (("0.1", "0"), "CMS: invalid prob value"),
            (("0.1", "1"), "CMS: invalid prob value"),
            (("0.1", "-1"), "CMS: invalid prob value"),
            (("0.1", "rose"), "CMS: invalid prob value"),
            (("0.1", "1e-100"), "CMS: invalid depth"),
            (("1e-300", "0.1"), "CMS: invalid init arguments"),
            (("1e-9", "0.1"), "CMS: Insufficient memory to create the key: see bf.memory-limit"),
        ]:
            self.refused(text, "CMS.INITBYPROB", "new", *words)
        self.assertEqual(self.do("EXISTS", "new"), 0)

    def test_counts_go_up(self):
        self.make("k")
        self.assertEqual(self.do("CMS.INCRBY", "k", "a", 5), [5])
        self.assertEqual(self.do("CMS.INCRBY", "k", "a", 2, "b", 7, "a", 1), [7, 7, 8])
        self.assertEqual(self.do3("CMS.INCRBY", "k", "b", 0, b"\x00", 3), [7, 3])
        self.assertEqual(self.do("CMS.QUERY", "k", "a", "b", "c", b"\x00", ""), [8, 7, 0, 3, 0])
        self.assertEqual(self.do3("CMS.QUERY", "k", "a"), [8])
        self.assertEqual(self.do3("CMS.INFO", "k")["count"], 18)

    def test_no_count_is_too_low(self):
        random.seed(3)
        self.make("k", width=200, depth=4)
        truth = [0] * 500
        for _ in range(40):
            words = []
            for _ in range(50):
                item, by = random.randrange(500), random.randrange(10)
                truth[item] += by
                words += (item, by)
            self.do("CMS.INCRBY", "k", *words)
        counts = self.do("CMS.QUERY", "k", *range(500))
        self.assertTrue(all(count >= true for count, true in zip(counts, truth)))
        self.assertEqual(self.do3("CMS.INFO", "k")["count"], sum(truth))

    def test_a_count_that_is_lost_says_so(self):
        self.make("ours")
        self.make_tables("theirs")
        for key in ("ours", "theirs"):
            self.assertEqual(self.do("CMS.INCRBY", key, "a", TOP - 1), [TOP - 1])
            self.assertEqual(self.do("CMS.INCRBY", key, "b", 1, "a", 1, "c", 2), [1, OVERFLOW, 2])
            self.assertEqual(self.do3("CMS.INCRBY", key, "a", 2**63 - 1, "a", 2**63 - 1), [OVERFLOW] * 2)
            self.assertEqual(self.do("CMS.QUERY", key, "a", "b"), [TOP, 1])
            # More than an integer of the protocol holds.
            self.assertEqual(self.do3("CMS.INFO", key)["count"], 2**63 - 1)

    def test_what_is_refused_counts_nothing(self):
        self.make("ours")
        self.make_tables("theirs")
        for key in ("ours", "theirs"):
            self.do("CMS.INCRBY", key, "a", 5)
            for wrong, text in [
                ("rose", "CMS: Cannot parse number"),
                ("1.5", "CMS: Cannot parse number"),
                ("9223372036854775808", "CMS: Cannot parse number"),
                ("", "CMS: Cannot parse number"),
                ("-1", "CMS: Number cannot be negative"),
            ]:
                self.refused(text, "CMS.INCRBY", key, "a", 1, "b", wrong, "c", 1)
        for words in (
            ("CMS.INCRBY", "none", "a", 1),
            ("CMS.QUERY", "none", "a"),
            ("CMS.INFO", "none"),
            ("CMS.MERGE", "none", 1, "ours"),
            ("CMS.MERGE", "none", "rose", "ours"),
            ("CMS.MERGE", "ours", 2, "ours", "none"),
        ):
            self.refused(NO_KEY, *words)

    def test_merging(self):
        for make in (self.make, self.make_tables):
            make("a", "b", "dest")
            self.do("CMS.INCRBY", "a", "rose", 5, "lily", 1)
            self.do("CMS.INCRBY", "b", "rose", 2, "tulip", 7)
            self.do("CMS.INCRBY", "dest", "rose", 1000)
            flowers = ("rose", "lily", "tulip")
            for merge, counts in [
                (("2", "a", "b"), [7, 1, 7]),
                (("2", "a", "b", "WEIGHTS", "2", "3"), [16, 2, 21]),
                (("2", "b", "b", "weights", "2", "0"), [4, 0, 14]),
                (("1", "a"), [5, 1, 0]),
                # Itself among the sources, and twice.
                (("3", "dest", "b", "dest"), [12, 2, 7]),
                (("1", "dest", "WEIGHTS", "0"), [0, 0, 0]),
            ]:
                self.assertEqual(self.do("CMS.MERGE", "dest", *merge), "OK", merge)
                self.assertEqual(self.do("CMS.QUERY", "dest", *flowers), counts, merge)
                self.assertEqual(self.do3("CMS.INFO", "dest")["count"], sum(counts))
            self.assertEqual(self.do3("CMS.MERGE", "dest", "1", "a"), "OK")
            self.assertEqual(*self.server.digest("a", "dest"))
            # A source that is called as the keyword.
            self.do("COPY", "b", "weights")
            self.assertEqual(self.do("CMS.MERGE", "dest", "2", "a", "weights", "WEIGHTS", "1", "1"), "OK")
            self.assertEqual(self.do("CMS.QUERY", "dest", *flowers), [7, 1, 7])
            # The key stays: it expires when it would have.
            self.do("PEXPIRE", "dest", 10**7)
            self.do("CMS.MERGE", "dest", "1", "a")
            self.assertGreater(self.do("PTTL", "dest"), 0)
            self.do("FLUSHALL")

    def test_what_cannot_be_merged_says_why(self):
        for make in (self.make, self.make_tables):
            make("a", "b", "dest")
            make("wide", width=1001)
            make("deep", depth=6)
            self.do("CMS.INCRBY", "a", "rose", 2**31)
            self.do("CMS.INCRBY", "dest", "rose", 3)
            self.do("SET", "text", "rose")
            for words, text in [
                ("rose a", "CMS: invalid numkeys"),
                ("0 a", "CMS: Number of keys must be positive"),
                ("-1 a", "CMS: Number of keys must be positive"),
                ("-9223372036854775808 a", "CMS: Number of keys must be positive"),
                ("1 a b", "CMS: wrong number of keys"),
                ("3 a b", "CMS: wrong number of keys"),
                ("9223372036854775807 a b", "CMS: wrong number of keys"),
                ("2 a b WEIGHTS 1", "CMS: wrong number of keys/weights"),
                ("1 a b WEIGHTS 1", "CMS: wrong number of keys/weights"),
                ("2 a b WEIGHTS 1 rose", "CMS: invalid weight value"),
                ("2 a b WEIGHTS 1 0.5", "CMS: invalid weight value"),
                ("2 a wide", "CMS: width/depth is not equal"),
                ("2 deep a", "CMS: width/depth is not equal"),
                ("1 wide WEIGHTS 0", "CMS: width/depth is not equal"),
                ("2 a a", "CMS: MERGE overflow"),
                ("1 a WEIGHTS 9223372036854775807", "CMS: MERGE overflow"),
                ("2 b none", NO_KEY),
                ("2 b text", WRONG_TYPE),
            ]:
                self.refused(text, "CMS.MERGE", "dest", *words.split())
            self.refused(WRONG_TYPE, "CMS.MERGE", "text", "1", "a")
            self.do("FLUSHALL")
        self.make("ours")
        self.make_tables("theirs")
        self.do("CMS.INCRBY", "theirs", "a", 3)
        self.refused(HASHES, "CMS.MERGE", "ours", "1", "theirs")
        self.refused(HASHES, "CMS.MERGE", "theirs", "2", "theirs", "ours")
        self.assertEqual(self.do("CMS.INITBYDIM", "seeded", 1000, 5, "SEED", 2**64 - 1), "OK")
        self.refused(HASHES, "CMS.MERGE", "ours", "1", "seeded")
        self.refused("CMS: invalid seed", "CMS.INITBYPROB", "new", "0.1", "0.1", "seed", "rose")
        # Differences: RedisBloom's sketches have them, ours have not.
        self.refused("CMS: invalid weight value", "CMS.MERGE", "ours", "1", "ours", "WEIGHTS", "-1")
        self.refused("CMS: MERGE overflow", "CMS.MERGE", "theirs", "1", "theirs", "WEIGHTS", "-1")
        self.assertEqual(self.do("CMS.MERGE", "theirs", "2", "theirs", "theirs", "WEIGHTS", "3", "-1"), "OK")
        self.assertEqual(self.do("CMS.QUERY", "theirs", "a"), [6])

    def test_all_keys_are_known(self):
        for words, keys in [
            (("dst", "2", "a", "b"), [b"dst", b"a", b"b"]),
            (("dst", "2", "a", "b", "WEIGHTS", "1", "2"), [b"dst", b"a", b"b"]),
            (("dst", "5", "a", "b"), [b"dst", b"a", b"b"]),
            (("dst", "9223372036854775807", "a"), [b"dst", b"a"]),
            (("dst", "-1", "a"), [b"dst"]),
            (("dst", "rose", "a"), [b"dst"]),
        ]:
            self.assertEqual(self.do("COMMAND", "GETKEYS", "CMS.MERGE", *words), keys)
        self.assertIsInstance(self.do("COMMAND", "GETKEYS", "CMS.MERGE", "dst"), Error)
        flags = self.do("COMMAND", "GETKEYSANDFLAGS", "CMS.MERGE", "dst", "1", "a")
        self.assertEqual(flags, [[b"dst", ["OW", "update"]], [b"a", ["RO", "access"]]])
        self.assertEqual(self.do("COMMAND", "GETKEYS", "CMS.INCRBY", "k", "a", "1"), [b"k"])

    def test_access_is_needed_to_every_key(self):
        self.make("mine", "mine2", "secret")
        self.do("ACL", "SETUSER", "bob", "reset", "on", "nopass", "+@all", "~mine*")
        self.do("ACL", "SETUSER", "ann", "reset", "on", "nopass", "+@all", "%W~mine", "%R~secret")
        bob, ann = Wire(self.server.port), Wire(self.server.port)
        bob.do("AUTH", "bob", "x")
        ann.do("AUTH", "ann", "x")
        self.assertEqual(bob.do("CMS.MERGE", "mine", "2", "mine2", "mine"), "OK")
        for words in (
            ("mine", "2", "mine2", "secret"),
            ("secret", "1", "mine"),
            ("mine", "1", "secret", "WEIGHTS", "3"),
            # Whatever else is wrong: nothing is told about a key.
            ("mine", "2", "secret"),
            ("secret", "rose", "mine"),
        ):
            self.assertTrue(bob.do("CMS.MERGE", *words).text.startswith("NOPERM"), words)
        self.assertTrue(bob.do("CMS.INFO", "secret").text.startswith("NOPERM"))
        self.assertEqual(ann.do("CMS.MERGE", "mine", "1", "secret"), "OK")
        for words in (("secret", "1", "secret"), ("mine", "1", "mine")):
            self.assertTrue(ann.do("CMS.MERGE", *words).text.startswith("NOPERM"), words)
        bob.close()
        ann.close()

    def test_access_can_be_given_by_category(self):
        if self.engine == "redis":
            self.skipTest("Redis 7.0 has no categories for modules")
        self.assertEqual(len(self.do("ACL", "CAT", "cms")), 6)

    def test_other_types_are_refused(self):
        self.make("k")
        self.do("SET", "text", "rose")
        self.do("BF.ADD", "filter", "rose")
        for key in ("text", "filter"):
            self.refused(WRONG_TYPE, "CMS.INCRBY", key, "a", 1)
            self.refused(WRONG_TYPE, "CMS.QUERY", key, "a")
            self.refused(WRONG_TYPE, "CMS.INFO", key)
            self.refused(WRONG_TYPE, "CMS.MERGE", key, 1, "k")
            self.refused(WRONG_TYPE, "GD.LOADCHUNK", key, 1, table(3, 3))
            self.refused(WRONG_TYPE, "GD.LOADCHUNK", key, 1, self.do("GD.SCANDUMP", "k", 0)[1])
        self.refused(WRONG_TYPE, "GET", "k")
        self.refused(WRONG_TYPE, "BF.ADD", "k", "a")
        self.refused(WRONG_TYPE, "GD.LOADCHUNK", "k", 1, table(3, 3))

    def test_wrong_numbers_of_arguments(self):
        for words in (
            "CMS.INITBYDIM", "CMS.INITBYDIM k", "CMS.INITBYDIM k 1", "CMS.INITBYDIM k 1 2 3", "CMS.INITBYDIM k 1 2 SEED",
            "CMS.INITBYDIM k 1 2 ROSE 3", "CMS.INITBYPROB k 0.1 0.1 SEED 1 2", "CMS.INITBYPROB k 0.1",
            "CMS.INITBYPROB k 0.1 0.1 1", "CMS.INCRBY k", "CMS.INCRBY k a", "CMS.INCRBY k a 1 b", "CMS.QUERY k",
            "CMS.MERGE", "CMS.MERGE k", "CMS.MERGE k 1", "CMS.INFO", "CMS.INFO k a",
        ):  # fmt: skip
            words = words.split()
            self.refused(arity(words[0].lower()), *words)

    def test_scandump_and_loadchunk(self):
        self.make("k", width=50)
        self.do("CMS.INCRBY", "k", "a", 5)
        chunks = dump(self.do, "GD.SCANDUMP", "k")
        for chunk in chunks:
            self.assertEqual(self.do("GD.LOADCHUNK", "copy", *chunk), "OK")
        self.assertEqual(*self.server.digest("k", "copy"))
        self.do("GD.LOADCHUNK", "half", *chunks[0])
        for words in (("CMS.INCRBY", "half", "a", 1), ("CMS.QUERY", "half", "a"), ("CMS.INFO", "half")):
            self.refused("CMS: the sketch is still being loaded", *words)
        self.refused("CMS: key already exists", "CMS.INITBYDIM", "half", 1, 1)
        # RedisBloom's come all in one.
        self.make_tables("theirs", width=50)
        self.do("CMS.INCRBY", "theirs", "a", 5)
        [chunk] = dump(self.do, "GD.SCANDUMP", "theirs")
        self.assertEqual(self.do("GD.LOADCHUNK", "theirs2", *chunk), "OK")
        self.assertEqual(*self.server.digest("theirs", "theirs2"))
        self.assertEqual(self.do("TYPE", "theirs2"), "CMSk-TYPE")
        at, bytes = chunk
        for wrong in (bytes[:-1], bytes + b"!", bytes[:16], bytes[:15], b"\x89RBL-CM\xff"):
            self.refused("ERR received bad data", "GD.LOADCHUNK", "new", 1, wrong)
        self.refused(WRONG_TYPE, "GD.LOADCHUNK", "theirs", 2, "a")
        self.do("CONFIG", "SET", "bf.memory-limit", "1000")
        self.refused("ERR Insufficient memory to create the key: see bf.memory-limit", "GD.LOADCHUNK", "new", *chunk)
        self.do("CONFIG", "SET", "bf.memory-limit", "128mb")

    def test_a_copy_is_a_copy(self):
        self.make("ours")
        self.make_tables("theirs")
        for key in ("ours", "theirs"):
            self.do("CMS.INCRBY", key, "a", 5)
            self.assertEqual(self.do("COPY", key, "copy", "REPLACE"), 1)
            self.assertEqual(*self.server.digest(key, "copy"))
            self.do("CMS.INCRBY", "copy", "a", 1)
            self.assertNotEqual(*self.server.digest(key, "copy"))
            self.assertEqual(self.do("CMS.QUERY", key, "a"), [5])

    def test_memory_is_counted(self):
        self.make("ours", width=100000)
        self.make_tables("theirs", width=100000)
        for key in ("ours", "theirs"):
            usage = self.do("MEMORY", "USAGE", key)
            self.assertTrue(2_000_000 <= usage < 2_100_000, usage)

    def test_events_are_told(self):
        self.do("CONFIG", "SET", "notify-keyspace-events", "KEA")
        listener = Wire(self.server.port)
        listener.do("SUBSCRIBE", "__keyspace@0__:k")
        self.make("k")
        self.do("CMS.INCRBY", "k", "a", 0)
        self.do("CMS.INCRBY", "k", "a", 1, "b", 1)
        self.do("CMS.INCRBY", "k", "a", 1, "b", "rose")
        self.do("CMS.QUERY", "k", "a")
        self.do("CMS.MERGE", "k", 1, "k")
        self.do("DEL", "k")
        self.do("CMS.INITBYPROB", "k", "0.1", "0.1")
        self.do("DEL", "k")
        events = []
        while events.count(b"del") < 2:
            events.append(listener.read()[2])
        listener.close()
        self.do("CONFIG", "SET", "notify-keyspace-events", "")
        named = [event for event in events if event.startswith(b"cms.")]
        self.assertEqual(named, [b"cms.initbydim", b"cms.incrby", b"cms.merge", b"cms.initbyprob"])

    def test_a_transaction_sees_changes_only(self):
        self.make("k")
        other = Wire(self.server.port)
        for by, changes in ((0, False), ("rose", False), (1, True)):
            other.do("WATCH", "k")
            self.do("CMS.INCRBY", "k", "a", by)
            other.do("MULTI")
            other.do("PING")
            self.assertEqual(other.do("EXEC"), None if changes else ["PONG"])
        other.close()

    def test_scripts_and_transactions_make_what_commands_make(self):
        self.make("k", width=100)
        self.assertEqual(self.do("EVAL", "return redis.call('CMS.INITBYDIM', KEYS[1], 100, 5)", 1, "script"), "OK")
        self.do("MULTI")
        self.do("CMS.INITBYDIM", "multi", 100, 5)
        self.do("CMS.INCRBY", "multi", "a", TOP)
        self.do("CMS.MERGE", "multi", 1, "k")
        self.assertEqual(self.do("EXEC"), ["OK", [OVERFLOW], "OK"])
        self.assertEqual(len(set(self.server.digest("k", "script", "multi"))), 1)
        self.assertEqual(self.do("TYPE", "script"), "gdn-count")
        got = self.do("EVAL", "return redis.call('CMS.MERGE', KEYS[1], 2, KEYS[2], KEYS[2])", 2, "k", "script")
        self.assertEqual(got, "OK")

    def test_what_redis_py_offers_works(self):
        for protocol in (2, 3):
            client = redis.Redis(port=self.server.port, protocol=protocol)
            client.flushall()
            cms = client.cms()
            self.assertTrue(cms.initbydim("a", 1000, 5) and cms.initbydim("b", 1000, 5))
            self.assertTrue(cms.initbydim("c", 1000, 5) and cms.initbyprob("p", 0.01, 0.01))
            self.assertEqual(cms.incrby("a", ["foo", "bar"], [5, 3]), [5, 3])
            self.assertEqual(cms.incrby("b", ["foo", "bar"], [2, 1]), [2, 1])
            self.assertEqual(cms.query("a", "foo", "bar", "baz"), [5, 3, 0])
            self.assertTrue(cms.merge("c", 2, ["a", "b"]))
            self.assertEqual(cms.query("c", "foo", "bar"), [7, 4])
            self.assertTrue(cms.merge("c", 2, ["a", "b"], [2, 3]))
            self.assertEqual(cms.query("c", "foo", "bar"), [16, 9])
            info = cms.info("c")
            facts = [info[fact if protocol == 2 else fact.encode()] for fact in ("width", "depth", "count")]
            self.assertEqual(facts, [1000, 5, 25])
            with self.assertRaisesRegex(redis.ResponseError, "key does not exist"):
                cms.incrby("none", ["foo"], [5])
            client.close()

    def test_a_sketch_of_redisbloom_is_taken_over(self):
        self.assertEqual(self.do("RESTORE", "k", 0, PAYLOAD), "OK")
        self.assertEqual(self.do("TYPE", "k"), "CMSk-TYPE")
        self.assertEqual(self.do("CMS.QUERY", "k", *STRINGS), INTEROP["estimates_of_keys"])
        total = sum(number % 7 + 1 for number in range(len(STRINGS)))
        self.assertEqual(self.do3("CMS.INFO", "k"), {"width": 60, "depth": 4, "count": total})
        # The last ten bytes are the engine's version, and a checksum.
        self.assertEqual(self.do("DUMP", "k")[:-10], PAYLOAD[:-10])
        # The same counts make the same bytes.
        self.assertEqual(self.do("GD.LOADCHUNK", "again", 1, table(60, 4)), "OK")
        words = [word for number, key in enumerate(STRINGS) for word in (key, number % 7 + 1)]
        self.do("CMS.INCRBY", "again", *words)
        self.assertEqual(self.do("DUMP", "again")[:-10], PAYLOAD[:-10])
        self.assertEqual(self.do("CMS.MERGE", "again", 2, "k", "again", "WEIGHTS", 1, 1), "OK")
        self.assertEqual(self.do("CMS.QUERY", "again", *STRINGS), [2 * n for n in INTEROP["estimates_of_keys"]])


class Slots(Case):
    """A cluster of one: all keys of a command must be in one slot, though this node has them all."""

    # Its bus listens 10,000 above its port.
    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.engine, "--cluster-enabled", "yes")
        cls.server.do("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        cls.server.wait(lambda: b"cluster_state:ok" in cls.server.do("CLUSTER", "INFO"))

    def test_sources_in_another_slot_are_refused(self):
        for key in ("{a}1", "{a}2", "{a}3", "b"):
            self.do("CMS.INITBYDIM", key, 100, 5)
        self.assertEqual(self.do("CMS.MERGE", "{a}1", 2, "{a}2", "{a}3"), "OK")
        for words in (("{a}1", 1, "b"), ("b", 1, "{a}1"), ("{a}1", 2, "{a}2", "b", "WEIGHTS", 1, 1)):
            reply = self.do("CMS.MERGE", *words)
            self.assertTrue(reply.text.startswith("CROSSSLOT"), reply)

    def test_a_cluster_client_sends_it_to_the_right_place(self):
        client = redis.RedisCluster(host="127.0.0.1", port=self.server.port)
        for key in ("{a}1", "{a}2"):
            client.cms().initbydim(key, 100, 5)
        client.cms().incrby("{a}2", ["rose"], [3])
        self.assertTrue(client.cms().merge("{a}1", 1, ["{a}2"]))
        self.assertEqual(client.cms().query("{a}1", "rose"), [3])
        client.close()


class Restarts(restarts.Restarts):
    def fill(self):
        self.do("CMS.INITBYDIM", "small", 20, 3)
        self.do("CMS.INITBYPROB", "middle", "0.0001", "0.01")
        # More than one chunk of 16 MiB.
        self.do("CMS.INITBYDIM", "large", 1_000_000, 5)
        # RedisBloom's, one made here and one by a server.
        self.do("GD.LOADCHUNK", "theirs", 1, table(50, 3))
        self.do("RESTORE", "restored", 0, PAYLOAD)
        keys = ("small", "middle", "large", "theirs", "restored")
        for key in keys:
            self.do("CMS.INCRBY", key, *(word for item in range(300) for word in (item, item)))
        chunks = dump(self.do, "GD.SCANDUMP", "middle")
        self.do("GD.LOADCHUNK", "half", *chunks[0])
        self.do("GD.LOADCHUNK", "half", 501, chunks[1][1][:500])
        self.rest = chunks[1]
        return (*keys, "half")

    def go_on(self):
        end, bytes = self.rest
        self.assertEqual(self.do("GD.LOADCHUNK", "half", end, bytes[500:]), "OK")
        self.assertEqual(*self.server.digest("middle", "half"))
        for key in ("middle", "half", "large", "theirs", "restored"):
            [count] = self.do("CMS.QUERY", key, 299)
            self.assertGreaterEqual(count, 299)
            self.assertEqual(self.do("CMS.INCRBY", key, 299, 1), [count + 1])
        self.assertEqual(*self.server.digest("middle", "half"))
        self.assertEqual(self.do("CMS.MERGE", "half", 2, "half", "middle"), "OK")


class Appended(restarts.Appended, Restarts):
    pass


class Foreign(Case):
    """What RedisBloom would pass on, as a file or as a primary."""

    options = restarts.Appended.options

    def test_sketches_that_redisbloom_passes_on_are_in_its_layout(self):
        self.do("RESTORE", "old", 0, PAYLOAD)
        self.do("CMS.INITBYDIM", "ours", 60, 4)
        self.do("SET", "end", 1)
        self.server.stop()
        words = [word for number, key in enumerate(STRINGS) for word in (key, number % 7 + 1)]
        commands = [
            ("CMS.INITBYDIM", "dim", 60, 4),
            ("CMS.INCRBY", "dim", *words),
            ("CMS.INITBYPROB", "prob", "0.001", "0.01"),
            ("CMS.INITBYPROB", "deep", "0.1", "1e-100"),
            ("CMS.INITBYDIM", "sum", 60, 4),
            ("CMS.MERGE", "sum", 2, "old", "dim"),
        ]
        directory = os.path.join(self.server.dir, "appendonlydir")
        [name] = [name for name in os.listdir(directory) if ".incr." in name]
        with open(os.path.join(directory, name), "ab") as file:
            file.write(encoded(*commands))
        self.server.start()
        self.assertEqual(self.do("TYPE", "ours"), "gdn-count")
        for key in ("old", "dim", "prob", "deep", "sum"):
            self.assertEqual(self.do("TYPE", key), "CMSk-TYPE", key)
        self.assertEqual(*self.server.digest("old", "dim"))
        self.assertEqual(self.do3("CMS.INFO", "prob"), {"width": 2000, "depth": 7, "count": 0})
        self.assertEqual(self.do3("CMS.INFO", "deep"), {"width": 20, "depth": 333, "count": 0})
        self.assertEqual(self.do("CMS.QUERY", "sum", *STRINGS), [2 * n for n in INTEROP["estimates_of_keys"]])


class Replicas(Case):
    def test_a_replica_has_the_same_counts(self):
        random.seed(7)
        for key in ("a", "b", "c"):
            self.do("CMS.INITBYDIM", key, 50, 4)
        for key in ("x", "y", "z"):
            self.do("RESTORE", key, 0, PAYLOAD)
        # It would end itself at the first error that it had to tell its primary.
        replica = replica_of(self.server, "--propagation-error-behavior", "panic-on-replicas")
        try:
            replica.do("CONFIG", "SET", "bf.memory-limit", "100")
            keys = ("a", "b", "c", "x", "y", "z", "new")
            commands = []
            for _ in range(10000):
                key, kind = random.choice(keys), random.random()
                increment = lambda: random.choice((0, 1, 1, 5, 1000, random.choice((-1, "rose", 2**31, 2**62))))
                if kind < 0.75:
                    pairs = [(random.randrange(200), increment()) for _ in range(random.randrange(1, 6))]
                    commands.append(("CMS.INCRBY", key, *(word for pair in pairs for word in pair)))
                elif kind < 0.9:
                    family = random.choice((keys[:3], keys[3:6], keys))
                    sources = random.choices(family, k=random.randrange(1, 4))
                    weights = [random.choice((0, 1, 1, 2, -1)) for _ in sources] if kind < 0.85 else []
                    words = ["WEIGHTS", *weights] if weights else []
                    commands.append(("CMS.MERGE", random.choice(family), len(sources), *sources, *words))
                elif kind < 0.92:
                    commands.append(("DEL", "new"))
                elif kind < 0.94:
                    commands.append(("CMS.INITBYPROB", random.choice(("new", key)), "0.01", "0.01"))
                elif kind < 0.96:
                    commands.append(("CMS.INITBYDIM", random.choice(("new", key)), 50, 4))
                elif kind < 0.98:
                    # Counts that are lost would stay so.
                    commands.append(("CMS.MERGE", key, 1, key, "WEIGHTS", 0))
                else:
                    commands.append(("COPY", random.choice("abc"), "new", "REPLACE"))
            replies = self.server.wire().pipeline(commands)
            lost = sum(isinstance(reply, list) and OVERFLOW in reply for reply in replies)
            good = sum(not isinstance(reply, Error) for reply in replies)
            self.assertTrue(lost > 100 and good > 4000, (lost, good))
            self.do("EVAL", "return redis.call('CMS.INCRBY', KEYS[1], 'a', 3)", 1, "a")
            follow(self.server, replica)
            self.assertEqual(replica.digest(*keys), self.server.digest(*keys))
            self.assertEqual(replica.digest(), self.server.digest())
        finally:
            replica.remove()

    def test_only_what_was_accepted_is_passed_on(self):
        def work():
            self.do("CMS.INITBYPROB", "k", "0.001", "0.01")
            self.do("CMS.INITBYPROB", "k", "0.001", "0.01")
            self.do("CMS.INITBYDIM", "d", "2000", "7")
            self.do("CMS.INCRBY", "k", "a", "1", "b", "2")
            self.do("CMS.INCRBY", "k", "a", "1", "b", "-2")
            self.do("CMS.INCRBY", "k", "a", "0")
            self.do("CMS.INCRBY", "k", "a", str(2**40))
            self.do("CMS.MERGE", "d", "1", "k")
            self.do("CMS.MERGE", "d", "1", "k", "WEIGHTS", "0")
            self.do("CMS.QUERY", "k", "a")

        self.assertEqual(
            restarts.passed_on(self, "CMS.", work),
            [
                "CMS.INITBYDIM k 2000 7 SEED 0",
                "CMS.INITBYDIM d 2000 7 SEED 0",
                "CMS.INCRBY k a 1 b 2",
                "CMS.INCRBY k a 1099511627776",
                "CMS.MERGE d 1 k WEIGHTS 0",
            ],
        )


USES = (
    ("CMS.INCRBY", "x", "a", 5, "b", 2**62, "", 0),
    ("CMS.QUERY", "x", *range(5)),
    ("CMS.INFO", "x"),
    ("CMS.MERGE", "x", 2, "x", "x", "WEIGHTS", 2**62, -1),
    ("CMS.MERGE", "x", 1, "x", "WEIGHTS", 0),
    ("GD.SCANDUMP", "x", "0"),
    ("MEMORY", "USAGE", "x"),
)


class Hostile(hostile.Hostile):
    family, uses = "GD", USES

    def fill(self):
        self.do("CMS.INITBYDIM", "empty", 3, 2)
        self.do("CMS.INITBYDIM", "full", 20, 3)
        self.do("CMS.INCRBY", "full", *(word for item in range(50) for word in (item, item)))
        chunks = dump(self.do, "GD.SCANDUMP", "full")
        self.do("GD.LOADCHUNK", "half", *chunks[0])
        self.do("GD.LOADCHUNK", "half", 51, chunks[1][1][:50])
        return ("full", "empty", "half")


class HostileTables(hostile.Hostile):
    family, uses = "GD", USES

    def fill(self):
        self.do("GD.LOADCHUNK", "empty", 1, table(3, 2))
        self.do("GD.LOADCHUNK", "full", 1, table(20, 3))
        self.do("CMS.INCRBY", "full", *(word for item in range(50) for word in (item, item)))
        return ("full", "empty")


on_both(globals(), Commands, Slots, Restarts, Appended, Foreign, Replicas, Hostile, HostileTables)
