"""Filters that come from RedisBloom: its dumps, its append-only files, and its primaries, taken over bit by bit."""

import os
import socket
import threading

import hostile
from redisbloom_data import KEYS, PROBES, WRITTEN, chunks
from servers import Case, dump, on_both, replica_of
from wire import encoded

def commands(name, key):
    """The commands by which RedisBloom came to this filter."""
    reserve, _, *options = WRITTEN[name]["command"].split()
    return [(reserve, key, *options)] + [(reserve.replace("RESERVE", "ADD"), key, item) for item in KEYS]


def facts(name):
    """What RedisBloom's BF.INFO gave, as a reply of RESP2."""
    out = []
    for fact, value in WRITTEN[name]["info"].items():
        out += [fact[2:-1], value]
    return out


BLOOM = ("bf_scaling", "bf_nonscaling")


class Takeover(Case):
    options = ("--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--appendfsync", "no")

    def check(self, do):
        """The filters are what they are on RedisBloom's server."""
        for name in BLOOM:
            self.assertEqual(do("TYPE", name), "MBbloom--")
            self.assertEqual(do("BF.MEXISTS", name, *KEYS), [1] * len(KEYS))
            found = [at for at, yes in enumerate(do("BF.MEXISTS", name, *PROBES)) if yes]
            self.assertEqual(found, WRITTEN[name]["positive_probe_indices"])
            self.assertEqual([do("BF.EXISTS", name, probe) for probe in PROBES[:50]], [
                int(at in found) for at in range(50)
            ])
            self.assertEqual(do("BF.INFO", name), facts(name))
            self.assertEqual(do("BF.CARD", name), facts(name)[7])
            self.assertEqual(dump(do, "BF.SCANDUMP", name), chunks(name))
            lines = do("BF.DEBUG", name)
            self.assertEqual(lines[0], b"size:%d" % facts(name)[7])
            self.assertEqual(len(lines), 1 + facts(name)[5])

    def check_cuckoo(self, do):
        """The cuckoo filter is what it is on RedisBloom's server."""
        self.assertEqual(do("TYPE", "cf"), "MBbloomCF")
        self.assertEqual(do("CF.MEXISTS", "cf", *KEYS), [1] * len(KEYS))
        found = [at for at, yes in enumerate(do("CF.MEXISTS", "cf", *PROBES)) if yes]
        self.assertEqual(found, WRITTEN["cf"]["positive_probe_indices"])
        self.assertEqual(dump(do, "CF.SCANDUMP", "cf"), chunks("cf"))

    def load(self):
        for name in BLOOM:
            for chunk in chunks(name):
                self.assertEqual(self.do("BF.LOADCHUNK", name, *chunk), "OK")

    def test_dumps_are_taken_over(self):
        self.load()
        self.check(self.do)
        for name in BLOOM:
            bytes = self.do("DUMP", name)
            self.assertEqual(self.do("RESTORE", "again", 0, bytes), "OK")
            self.assertEqual(self.do("DUMP", "again"), bytes)
            self.assertEqual(*self.server.digest(name, "again"))
            self.do("COPY", name, "copy")
            self.do("BF.ADD", "copy", "one more")
            self.do("BF.ADD", "again", "one more")
            self.assertEqual(*self.server.digest("again", "copy"))
            self.do("DEL", "again", "copy")
        self.assertGreater(self.do("MEMORY", "USAGE", "bf_scaling"), 400)
        self.check(self.do)

    def test_dumps_are_taken_over_in_the_third_protocol(self):
        for chunk in chunks("bf_scaling"):
            self.assertEqual(self.do3("BF.LOADCHUNK", "bf_scaling", *chunk), "OK")
        self.assertEqual(self.do3("BF.MEXISTS", "bf_scaling", *KEYS), [True] * len(KEYS))
        self.assertIs(self.do3("BF.EXISTS", "bf_scaling", PROBES[0]), False)
        self.assertEqual(self.do3("BF.INFO", "bf_scaling"), dict(zip(facts("bf_scaling")[::2], facts("bf_scaling")[1::2])))
        self.assertIs(self.do3("BF.ADD", "bf_scaling", "new"), True)

    def test_they_survive_restarts(self):
        self.load()
        self.server.restart()
        self.check(self.do)
        self.do("BGREWRITEAOF")
        self.server.wait(
            lambda: self.server.info("persistence", "aof_rewrite_in_progress") == "0"
            and self.server.info("persistence", "aof_rewrite_scheduled") == "0"
        )
        self.server.restart()
        self.check(self.do)
        self.assertEqual(self.do("DEBUG", "RELOAD"), "OK")
        self.check(self.do)

    def test_they_go_on_where_they_were(self):
        self.load()
        # The fixed one has taken 199 of 200 items.
        self.assertEqual(self.do("BF.ADD", "bf_nonscaling", KEYS[0]), 0)
        self.assertEqual(self.do("BF.ADD", "bf_nonscaling", "one more"), 1)
        self.refused("ERR non scaling filter is full", "BF.ADD", "bf_nonscaling", "too much")
        new = self.do("BF.MADD", "bf_scaling", *range(5000))
        self.assertEqual(self.do("BF.MEXISTS", "bf_scaling", *range(5000)), [1] * 5000)
        self.assertEqual(self.do("BF.CARD", "bf_scaling"), 198 + sum(new))
        # 100, 200, ... and so on: each twice as large as the one before.
        self.assertEqual(self.do("BF.INFO", "bf_scaling", "CAPACITY"), [100 * (2**6 - 1)])
        self.assertEqual(self.do("BF.INFO", "bf_scaling", "FILTERS"), [6])
        self.refused("ERR item exists", "BF.RESERVE", "bf_scaling", "0.1", "10")

    def test_what_is_wrong_is_said(self):
        (_, header), (end, bytes), *_ = chunks("bf_scaling")
        for wrong in (b"", header[:-1], header + b"!", header[:8] + b"\0" * (len(header) - 8)):
            self.refused("ERR received bad data", "BF.LOADCHUNK", "new", "1", wrong)
        self.do("BF.LOADCHUNK", "k", "1", header)
        self.refused("ERR invalid offset - no link found", "BF.LOADCHUNK", "k", 10**6, bytes)
        self.refused("ERR invalid offset - no link found", "BF.LOADCHUNK", "k", end - 1, bytes)
        self.refused("ERR invalid chunk - Too big for current filter", "BF.LOADCHUNK", "k", end + 1, bytes + b"!")
        self.refused("ERR received bad data", "BF.LOADCHUNK", "k", -1, bytes)
        self.do("CONFIG", "SET", "bf.memory-limit", "400")
        try:
            self.refused("ERR Insufficient memory to create filter: see bf.memory-limit", "BF.LOADCHUNK", "new", "1", header)
        finally:
            self.do("CONFIG", "SET", "bf.memory-limit", "128mb")
        self.do("SET", "text", "rose")
        self.refused("WRONGTYPE Operation against a key holding the wrong kind of value", "BF.LOADCHUNK", "text", "1", header)
        # Each layout takes the other's place whole.
        self.do("BF.ADD", "ours", "a")
        self.assertEqual(self.do("BF.LOADCHUNK", "ours", "1", header), "OK")
        self.assertEqual(self.do("TYPE", "ours"), "MBbloom--")

    def test_a_replica_of_our_own_has_the_same(self):
        replica = replica_of(self.server, "--propagation-error-behavior", "panic-on-replicas")
        try:
            self.load()
            self.do("BF.MADD", "bf_nonscaling", *range(10))
            self.do("BF.MADD", "bf_scaling", *range(1000))
            self.do("BF.ADD", "ours", "a")
            self.assertEqual(self.do("WAIT", 1, 10000), 1)
            self.assertEqual(replica.digest(), self.server.digest())
        finally:
            replica.remove()

    def test_commands_in_its_append_only_file_make_its_filters(self):
        self.server.stop()
        folder = os.path.join(self.server.dir, "appendonlydir")
        name = next(name for name in os.listdir(folder) if name.endswith(".incr.aof"))
        with open(os.path.join(folder, name), "wb") as file:
            file.write(encoded(("SELECT", 0), ("FLUSHALL",)))
            for layout in BLOOM:
                file.write(encoded(*commands(layout, layout)))
            file.write(encoded(*commands("cf", "cf")))
            file.write(encoded(("BF.MADD", "plain", "a", "b"), ("CF.INSERT", "plain-cuckoo", "ITEMS", "a")))
        self.server.start()
        self.check(self.do)
        self.check_cuckoo(self.do)
        self.assertEqual(self.do("TYPE", "plain"), "MBbloom--")
        self.assertEqual(self.do("TYPE", "plain-cuckoo"), "MBbloomCF")
        self.server.restart()
        self.check(self.do)
        self.check_cuckoo(self.do)
        self.assertEqual(self.do("TYPE", "plain"), "MBbloom--")
        # What is made from now on is ours.
        self.do("BF.ADD", "new", "a")
        self.do("CF.ADD", "new-cuckoo", "a")
        self.assertEqual([self.do("TYPE", key) for key in ("new", "new-cuckoo")], ["gdn-bloom", "gdn-cucko"])

    def test_a_primary_with_redisbloom_is_followed_and_taken_over(self):
        self.load()
        payload = self.do("DUMP", "bf_scaling")
        self.do("FLUSHALL")
        primary = Primary(rdb(b"bf_scaling", payload))
        try:
            self.do("REPLICAOF", "127.0.0.1", primary.port)
            primary.feed(("SELECT", 0), *commands("bf_nonscaling", "bf_nonscaling"), *commands("cf", "cf"))
            primary.feed(("CF.ADD", "plain-cuckoo", "a"), ("CF.INSERTNX", "plain-too", "ITEMS", "a"))
            primary.feed(("BF.MADD", "plain", "a", "b"), ("SET", "end", "1"))
            self.server.wait(lambda: self.do("GET", "end") == b"1")
            self.check(self.do)
            self.check_cuckoo(self.do)
            cuckoos = [self.do("TYPE", key) for key in ("plain-cuckoo", "plain-too")]
            self.assertEqual(cuckoos, ["MBbloomCF"] * 2)
            self.assertEqual(self.do("TYPE", "plain"), "MBbloom--")
            self.assertEqual(self.do("BF.INFO", "plain", "CAPACITY"), [100])
            self.do("REPLICAOF", "NO", "ONE")
            self.assertEqual(self.do("BF.ADD", "bf_scaling", "after"), 1)
            self.assertEqual(self.do("BF.ADD", "new", "after"), 1)
            self.assertEqual(self.do("TYPE", "new"), "gdn-bloom")
        finally:
            self.do("REPLICAOF", "NO", "ONE")
            primary.close()


def rdb(key, payload):
    """A database file of one key, from its DUMP; without a checksum."""
    return b"REDIS0010\xfe\x00" + payload[:1] + bytes([len(key)]) + key + payload[1:-10] + b"\xff" + b"\0" * 8


class Primary:
    """A primary as far as a replica sees it: a database file, and commands."""

    def __init__(self, file):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.file, self.replica, self.synced = file, None, threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        try:
            while True:
                self.replica, _ = self.listener.accept()
                self.answer(self.replica.makefile("rb"))
        except (OSError, ValueError):
            pass  # closed

    def answer(self, requests):
        while line := requests.readline():
            if not line.startswith(b"*"):
                continue
            words = []
            for _ in range(int(line[1:])):
                length = int(requests.readline()[1:])
                words.append(requests.read(length + 2)[:-2].upper())
            if words[0] == b"PING":
                self.replica.sendall(b"+PONG\r\n")
            elif words[0] == b"PSYNC":
                self.replica.sendall(b"+FULLRESYNC " + b"a" * 40 + b" 0\r\n$%d\r\n" % len(self.file) + self.file)
                self.synced.set()
            elif words[:2] != [b"REPLCONF", b"ACK"]:
                self.replica.sendall(b"+OK\r\n")

    def feed(self, *commands):
        assert self.synced.wait(20)
        self.replica.sendall(encoded(*commands))

    def close(self):
        self.listener.close()
        if self.replica:
            self.replica.close()


class HostileBloom(hostile.Hostile):
    family = "BF"

    def fill(self):
        self.do("BF.LOADCHUNK", "x", 1, chunks("bf_nonscaling")[0][1])
        for name in BLOOM:
            for chunk in chunks(name):
                self.do("BF.LOADCHUNK", name, *chunk)
        return BLOOM

    uses = (
        ("BF.ADD", "x", "a"),
        ("BF.MADD", "x", *range(200)),
        ("BF.MEXISTS", "x", *range(20)),
        ("BF.INFO", "x"),
        ("BF.DEBUG", "x"),
        ("BF.SCANDUMP", "x", "1"),
    )


on_both(globals(), Takeover, HostileBloom)
