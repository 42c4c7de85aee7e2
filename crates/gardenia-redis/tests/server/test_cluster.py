"""A cluster of three: a cluster client's commands go where the keys are, and a slot moves with its filters."""

import unittest

import redis

import every
from servers import BINARIES, Server


class Cluster(unittest.TestCase):
    engine = None

    def setUp(self):
        self.nodes = []
        while len(self.nodes) < 3:
            node = Server(self.engine, "--cluster-enabled", "yes", "--cluster-node-timeout", "5000")
            self.addCleanup(node.remove)
            self.nodes.append(node)
        for number, node in enumerate(self.nodes):
            node.do("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            first, last = 16384 * number // 3, 16384 * (number + 1) // 3 - 1
            self.assertEqual(node.do("CLUSTER", "ADDSLOTSRANGE", first, last), "OK")
            self.assertEqual(node.do("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port), "OK")
        for node in self.nodes:
            node.wait(lambda: b"cluster_state:ok" in node.do("CLUSTER", "INFO"))
            node.wait(lambda: b"cluster_known_nodes:3" in node.do("CLUSTER", "INFO"))

    def test_values_of_every_type_go_where_their_slots_go(self):
        client = redis.RedisCluster(host="127.0.0.1", port=self.nodes[0].port)
        self.addCleanup(client.close)
        keys = [f"filter:{number}" for number in range(30)]
        for key in keys:
            client.bf().madd(key, *range(200))
        counts = [node.do("DBSIZE") for node in self.nodes]
        self.assertTrue(sum(counts) == 30 and min(counts) > 0, counts)
        # A slot of the first node, with a value of every type, moves to the last.
        source, target = self.nodes[0], self.nodes[2]
        tag = next(f"{{{number}}}" for number in range(100) if client.keyslot(f"{{{number}}}") < 16384 // 3)
        slot = client.keyslot(tag)
        keys = every.fill(source.do, tag)
        digests, answers = source.digest(*keys), every.ask(source.do, keys)
        here, there = (node.do("CLUSTER", "MYID") for node in (source, target))
        # What it refuses to make itself, it takes from another node.
        target.do("CONFIG", "SET", "bf.memory-limit", "100")
        if self.engine == "valkey":
            self.assertEqual(source.do("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", there), "OK")
            target.wait(lambda: target.do("CLUSTER", "COUNTKEYSINSLOT", slot) == len(keys))
            target.wait(lambda: target.do("EXISTS", keys[0]) == 1)
        else:
            target.do("CLUSTER", "SETSLOT", slot, "IMPORTING", here)
            source.do("CLUSTER", "SETSLOT", slot, "MIGRATING", there)
            moved = source.do("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
            self.assertEqual(moved, "OK")
            for node in (target, source, self.nodes[1]):
                node.do("CLUSTER", "SETSLOT", slot, "NODE", there)
        self.assertEqual(target.digest(*keys), digests)
        target.do("CONFIG", "SET", "bf.memory-limit", "128mb")
        self.assertEqual(every.ask(target.do, keys), answers)
        # The client finds them at their new place.
        self.assertEqual(client.bf().mexists(f"{tag}grown", *range(2000)), [1] * 2000)
        client.bf().madd(f"{tag}grown", *range(2000, 3000))
        self.assertEqual(target.do("BF.MEXISTS", f"{tag}grown", *range(3000)), [1] * 3000)
        self.assertEqual(client.cms().query(f"{tag}sketch", "a", "b"), [5, 7])
        self.assertEqual(client.cf().count(f"{tag}cuckoo-fixed", "8"), 2)

    def test_commands_of_several_keys_keep_to_one_slot(self):
        node = self.nodes[0]
        for command in (("CMS.MERGE", "{a}x", 2, "{a}y", "{b}z"), ("GD.MERGE", "{a}x", "{b}y")):
            reply = node.do(*command)
            self.assertTrue(reply.text.startswith("CROSSSLOT"), (command, reply))


for engine in BINARIES:
    name = f"ClusterOn{engine.capitalize()}"
    globals()[name] = type(name, (Cluster,), {"engine": engine, "__module__": __name__})
del Cluster
