"""Keys from RedisBloom's RDB files, of all four families: they answer what it answered, go everywhere, and go back as they came."""

import os

import hostile
from redisbloom_files import CASES, TYPES, family, for_engine, payload
from servers import Case, Server, on_both
from test_redisbloom import Primary
from wire import Error

for name in [name for name in globals() if name.startswith(("Takeover", "HostileBloom"))]:
    del globals()[name]


def length(number):
    return bytes([number]) if number < 64 else bytes([0x40 | number >> 8, number & 255])


def rdb(payloads):
    """A database file of keys, from their DUMPs; without a checksum."""
    out = b"REDIS0010\xfe\x00"
    for key, dump in payloads.items():
        out += dump[:1] + length(len(key)) + key.encode() + dump[1:-10]
    return out + b"\xff" + b"\0" * 8


def unpadded(dump):
    """A payload without version and checksum."""
    return dump[:-10]


# A key of a type that only RedisBloom has: TDIS-TYPE, version 0, and nothing in it.
CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def empty_value(name, version):
    number = 0
    for character in name:
        number = number << 6 | CHARACTERS.index(character)
    return b"\x07\x81" + (number << 10 | version).to_bytes(8, "big") + b"\x00" + b"\0" * 10


class Files(Case):
    options = ("--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--appendfsync", "no")

    def restore(self):
        for case in CASES:
            self.assertEqual(self.do("RESTORE", case["name"], 0, for_engine(payload(case))), "OK", case["name"])

    def check(self):
        """All keys answer what RedisBloom answered."""
        for case in CASES:
            key, probes = case["name"], case["probes"]
            self.assertEqual(self.do("TYPE", key), TYPES[family(case)])
            for command, expected in case["answers"].items():
                if command.endswith(".INFO"):
                    found = self.do3(command, key)
                elif command == "TOPK.LIST":
                    found = [
                        word if isinstance(word, int) else word.decode() for word in self.do(command, key, "WITHCOUNT")
                    ]
                    # The order of equal counts is that of a heap.
                    pairs = lambda flat: sorted(zip(flat[1::2], flat[::2]))
                    found, expected = pairs(found), pairs(expected)
                elif command == "CF.COUNT":
                    found = self.do(command, key, probes[0])
                    expected = expected[0] if isinstance(expected, list) else expected
                else:
                    found = self.do3(command, key, *probes)
                if command == "TOPK.COUNT":
                    # Of an item whose cells were lost RedisBloom tells 0, and we tell what the table has.
                    listed = case["answers"]["TOPK.LIST"]
                    listed = dict(zip(listed[::2], listed[1::2]))
                    expected = [max(count, listed.get(probe, 0)) for probe, count in zip(probes, expected)]
                self.assertEqual(found, expected, (key, command))

    def test_they_answer_what_redisbloom_answered(self):
        self.restore()
        self.check()

    def test_they_go_back_as_they_came(self):
        self.restore()
        for case in CASES:
            dump = self.do("DUMP", case["name"])
            if family(case) != "topk":
                self.assertEqual(unpadded(dump), unpadded(payload(case)), case["name"])
            self.assertEqual(self.do("RESTORE", "again", 0, dump, "REPLACE"), "OK")
            self.assertEqual(*self.server.digest(case["name"], "again"))
            self.assertEqual(self.do("COPY", case["name"], "copy", "REPLACE"), 1)
            self.assertEqual(*self.server.digest(case["name"], "copy"))

    def test_they_survive_restarts(self):
        self.restore()
        self.server.restart()
        self.check()
        self.do("BGREWRITEAOF")
        self.server.wait(
            lambda: self.server.info("persistence", "aof_rewrite_in_progress") == "0"
            and self.server.info("persistence", "aof_rewrite_scheduled") == "0"
        )
        self.server.restart()
        self.check()
        self.assertEqual(self.do("DEBUG", "RELOAD"), "OK")
        self.check()

    def test_they_go_on(self):
        self.restore()
        for case in CASES:
            kind, key = family(case), case["name"]
            if kind == "cf":
                if self.do3("CF.INFO", key)["Expansion rate"]:
                    self.assertEqual(self.do("CF.INSERT", key, "ITEMS", *range(100)), [1] * 100)
                    self.assertEqual(self.do("CF.MEXISTS", key, *range(100)), [1] * 100)
                    self.assertEqual(self.do("CF.DEL", key, 7), 1)
            elif kind == "topk":
                before = self.do("TOPK.COUNT", key, case["probes"][0] if case["probes"] else "a")[0]
                item = case["probes"][0] if case["probes"] else "a"
                self.do("TOPK.INCRBY", key, item, 5000)
                self.assertGreaterEqual(self.do("TOPK.COUNT", key, item)[0], before + 4000)
                self.assertEqual(self.do("TOPK.QUERY", key, item), [1])

    def test_a_replica_gets_them_from_its_primary(self):
        primary = Primary(rdb({case["name"]: payload(case) for case in CASES}))
        try:
            self.do("REPLICAOF", "127.0.0.1", primary.port)
            primary.feed(("SELECT", 0), ("CF.ADD", "cf-1", "more"), ("TOPK.ADD", "topk-0", "more"), ("SET", "end", "1"))
            self.server.wait(lambda: self.do("GET", "end") == b"1")
            self.assertEqual(self.do("CF.EXISTS", "cf-1", "more"), 1)
            self.assertEqual(self.do("TOPK.LIST", "topk-0"), [b"more"])
            self.do("REPLICAOF", "NO", "ONE")
            self.restore_changed()
            self.check()
        finally:
            self.do("REPLICAOF", "NO", "ONE")
            primary.close()

    def restore_changed(self):
        for case in CASES:
            if case["name"] in ("cf-1", "topk-0"):
                self.assertEqual(self.do("RESTORE", case["name"], 0, for_engine(payload(case)), "REPLACE"), "OK")

    def refuse(self, file, text, *options):
        """The server ends when a primary sends this file, tells why, and has its own data when it is started again."""
        primary = Primary(file)
        server = Server(self.engine, *options)
        try:
            server.do("BF.ADD", "old", "a")
            self.assertEqual(server.do("SAVE"), "OK")
            server.do("REPLICAOF", "127.0.0.1", primary.port)
            self.assertEqual(server.process.wait(60), 1)
            self.assertIn(text, server.log())
            primary.close()
            server.close()
            server.start()
            self.assertEqual(server.do("BF.EXISTS", "old", "a"), 1)
            self.assertEqual(server.do("KEYS", "*"), [b"old"])
            self.assertEqual([name for name in os.listdir(server.dir) if name.startswith("temp-")], [])
        finally:
            primary.close()
            server.remove()

    def test_a_primary_with_a_t_digest_is_refused_and_old_data_stays(self):
        """The engine ends at a value that no module can load. What it had is still in its own file."""
        digest = empty_value("TDIS-TYPE", 0)
        self.refuse(rdb({"cf-1": payload(CASES[1]), "digest": digest}), "refused: a t-digest", "--repl-diskless-load", "swapdb")

    def test_a_t_digest_behind_values_of_all_kinds_is_found_before_data_are_flushed(self):
        """By default the file that arrives replaces the server's own before it is read: so it is looked through before."""
        long = "rose " * 5000  # stored in compressed form
        self.restore()
        for words in (
            ("SET", "text", "x"), ("SET", "number", "12345"), ("SET", "long", long), ("SETEX", "brief", "1000", "x"),
            ("RPUSH", "list", *range(10)), ("RPUSH", "long list", *(long[:9000] for _ in range(5))),
            ("SADD", "integers", *range(9)), ("SADD", "small", *"abc"), ("SADD", "set", *(f"member {n}" for n in range(900))),
            ("ZADD", "small sorted", 1, "a", "-inf", "b"), ("ZADD", "sorted", *(w for n in range(300) for w in (n / 7, f"m{n}"))),
            ("HSET", "small hash", "a", "b"), ("HSET", "hash", *range(2000)),
            ("XADD", "stream", "1-1", "a", "b"), ("XADD", "stream", "2-1", "a", "b"), ("XGROUP", "CREATE", "stream", "g", "0"),
            ("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "stream", ">"), ("PFADD", "hll", *range(100)),
            ("FUNCTION", "LOAD", "REPLACE", "#!lua name=f\nredis.register_function('f', function() return 1 end)"),
            ("BF.ADD", "bf", "a"), ("CF.ADD", "cf", "a"), ("CMS.INITBYDIM", "cms", 9, 9), ("TOPK.RESERVE", "top", 3),
        ):  # fmt: skip
            self.assertNotIsInstance(self.do(*words), Error, words[:2])
        if self.engine == "valkey":
            # Fields that expire make another form of hash.
            self.assertEqual(self.do("HSETEX", "expiring", "EX", "1000", "FIELDS", "2", "a", "b", "c", "d"), 1)
            self.assertEqual(self.do("HSET", "expiring", "e", "f"), 1)
        self.assertEqual(self.do("SAVE"), "OK")
        with open(os.path.join(self.server.dir, "dump.rdb"), "rb") as file:
            written = file.read()
        os.remove(os.path.join(self.server.dir, "dump.rdb"))
        self.assertEqual(written[-9], 255)
        dump = empty_value("TDIS-TYPE", 0)
        digest = dump[:1] + length(6) + b"digest" + dump[1:-10]
        self.refuse(written[:-9] + digest + b"\xff" + b"\0" * 8, "synchronisation refused: the primary has a t-digest")
        # Without it the same file is loaded, and so is one with the name in a string.
        for file in (written, rdb({"text": b"\x00" + length(len(digest)) + digest + b"\0" * 10})):
            primary = Primary(file)
            server = Server(self.engine)
            try:
                server.do("REPLICAOF", "127.0.0.1", primary.port)
                server.wait(lambda: server.info("replication", "master_link_status") == "up")
                self.assertEqual(server.do("DBSIZE"), self.do("DBSIZE") if file is written else 1)
            finally:
                primary.close()
                server.remove()


class HostileCuckooFiles(hostile.Hostile):
    family = "CF"

    def fill(self):
        cases = [case for case in CASES if case["name"].startswith("cf-") and case["name"] != "cf-0"]
        for case in cases:
            self.do("RESTORE", case["name"], 0, for_engine(payload(case)))
        return [case["name"] for case in cases]

    uses = (
        ("CF.ADD", "x", "a"),
        ("CF.INSERT", "x", "ITEMS", *range(200)),
        ("CF.MEXISTS", "x", *range(20)),
        ("CF.DEL", "x", "a"),
        ("CF.COMPACT", "x"),
        ("CF.INFO", "x"),
        ("CF.SCANDUMP", "x", "1"),
    )


class HostileTopFiles(hostile.Hostile):
    family = "GD"

    def fill(self):
        cases = [case for case in CASES if case["name"].startswith("topk-") and len(payload(case)) < 3000]
        for case in cases:
            self.do("RESTORE", case["name"], 0, for_engine(payload(case)))
        return [case["name"] for case in cases]

    uses = (
        ("TOPK.ADD", "x", *range(200)),
        ("TOPK.LIST", "x", "WITHCOUNT"),
        ("TOPK.COUNT", "x", *range(20)),
        ("TOPK.INFO", "x"),
    )


on_both(globals(), Files, HostileCuckooFiles, HostileTopFiles)
