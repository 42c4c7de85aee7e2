"""Files of a server whose module was built before kinds became a table: its RDB and its AOF load, and every key answers as it did.

tests/data/earlier.{rdb,aof,json} were written by the module of commit 759450d, with keys of every kind and family.
"""

import hashlib
import json
import os
import shutil

from servers import Case, Server, on_both

DATA = os.path.join(os.path.dirname(__file__), "..", "data")


class Earlier(Case):
    def check(self, server):
        with open(os.path.join(DATA, "earlier.json")) as file:
            expected = json.load(file)["keys"]
        asked = [f"item {number}" for number in range(40, 140)]
        flags = lambda answers: "".join(str(int(answer)) for answer in answers)
        for key, was in expected.items():
            if was["kind"] == "gd":
                answers = flags(server.do("GD.EXISTS", key, *asked))
            elif was["kind"] == "bf":
                answers = flags(server.do("BF.MEXISTS", key, *asked))
            elif was["kind"] == "cf":
                answers = flags(server.do("CF.MEXISTS", key, *asked))
            elif was["kind"] == "cms":
                answers = " ".join(str(count) for count in server.do("CMS.QUERY", key, *asked))
            else:
                answers = " ".join(item.decode() for item in server.do("TOPK.LIST", key))
            self.assertEqual(answers, was["answers"], key)
            if "file_sha256" in was:
                self.assertEqual(hashlib.sha256(server.do("GD.DUMP", key)).hexdigest(), was["file_sha256"], key)
        self.assertEqual(server.do("DBSIZE"), len(expected))

    def test_the_rdb_of_version_0_1_0_loads(self):
        """Written before cuckoo filters of RedisBloom had its own type; every key has the digest that it had."""
        with open(os.path.join(DATA, "0.1.0.json")) as file:
            digests = json.load(file)["digests"]
        server = Server(self.engine)
        try:
            server.stop()
            shutil.copy(os.path.join(DATA, "0.1.0.rdb"), os.path.join(server.dir, "dump.rdb"))
            server.start()
            found = dict(zip(digests, server.digest(*digests)))
            self.assertEqual({key: str(digest) for key, digest in found.items()}, digests)
            self.assertEqual(server.do("TYPE", "cf"), "gdn-rb-cf")
            self.assertEqual(server.do("CF.ADD", "cf", "one more"), 1)
            self.assertEqual(server.do("CF.EXISTS", "cf", "one more"), 1)
            self.assertEqual(server.do("DEBUG", "RELOAD"), "OK")
            self.assertEqual(server.do("CF.EXISTS", "cf", "one more"), 1)
        finally:
            server.remove()

    def load(self, name, *options):
        server = Server(self.engine, *options)
        try:
            server.stop()
            shutil.rmtree(os.path.join(server.dir, "appendonlydir"), ignore_errors=True)
            for old in ("dump.rdb", "appendonly.aof"):
                path = os.path.join(server.dir, old)
                if os.path.exists(path):
                    os.remove(path)
            source = os.path.join(DATA, "earlier.rdb" if name == "dump.rdb" else "earlier.aof")
            shutil.copy(source, os.path.join(server.dir, name))
            server.start()
            self.check(server)
        finally:
            server.remove()

    def test_the_rdb_loads(self):
        self.load("dump.rdb")

    def test_the_aof_loads(self):
        self.load("appendonly.aof", "--appendonly", "yes", "--aof-use-rdb-preamble", "no")


on_both(globals(), Earlier)
