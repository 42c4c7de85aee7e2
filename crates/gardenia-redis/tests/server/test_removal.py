"""The law of removal, for every family and kind that removes: whatever was added more often than removed is found.

At a high error rate many items resemble each other. A filter that passes over an item because it seems to be in loses
it when the other one goes.
"""

import random

from servers import Case, on_both
from wire import Error


class Law(Case):
    def kinds(self):
        """The kinds of GD.RESERVE whose filters remove, as the server tells."""
        known = self.do("GD.RESERVE", "k", "KIND", "?").text
        kinds = known.split(": ", 1)[1].removesuffix(" are known").split(", ") + ["spectral-rm"]
        removing = []
        for kind in kinds:
            size = ("COLUMNS", "300", "ROWS", "3") if kind == "count-min" else ("ITEMS", "100")
            self.assertEqual(self.do("GD.RESERVE", kind, "KIND", kind, *size), "OK", kind)
            flat = self.do("GD.INFO", kind)
            if b"del" in dict(zip(flat[::2], flat[1::2])).get("Takes", []):
                removing.append(kind)
        self.assertGreaterEqual(len(removing), 5, removing)
        self.do("FLUSHALL")
        return removing

    def check(self, key, add, remove, exists, store):
        """Random additions, with repeats, and removals of what is in; between them the filter is stored and loaded."""
        counts = {}
        for round in range(12):
            items = [random.randrange(300) for _ in range(80)]
            replies = self.do(*add, *items)
            for item, reply in zip(items, replies):
                if not isinstance(reply, Error) and reply != -1:
                    counts[item] = counts.get(item, 0) + 1
            gone = [item for item, count in counts.items() for _ in range(random.randrange(count + 1))]
            random.shuffle(gone)
            for item, reply in zip(gone, remove(gone)):
                # What cannot be removed for certain stays; what was added is never called absent.
                self.assertNotEqual(reply, 0, (key, item))
                counts[item] -= reply == 1
            if round % 3 == 2:
                store()
            present = [item for item, count in counts.items() if count > 0]
            lost = [item for item, found in zip(present, self.do(exists, key, *present)) if not found]
            self.assertEqual(lost, [], (key, round))

    def reload(self):
        self.assertEqual(self.do("DEBUG", "RELOAD"), "OK")

    def test_every_kind_of_gd(self):
        for kind, seed in ((kind, seed) for kind in self.kinds() for seed in range(3)):
            with self.subTest(kind=kind, seed=seed):
                random.seed(seed)
                items = "60" if kind == "dynamic" else "900"
                self.do("DEL", kind)
                words = ("GD.RESERVE", kind, "KIND", kind, "ITEMS", items, "FPP", "0.05", "SEED", seed)
                self.assertEqual(self.do(*words), "OK", kind)

                def store():
                    bytes = self.do("GD.DUMP", kind)
                    self.assertEqual(self.do("GD.LOAD", kind, bytes, "REPLACE"), "OK")
                    self.reload()

                remove = lambda items: self.do("GD.DEL", kind, *items) if items else []
                self.check(kind, ("GD.ADD", kind), remove, "GD.EXISTS", store)

    def test_cf(self):
        for size in ("1", "4", "8"):
            for seed in range(3):
                random.seed(seed)
                self.do("DEL", "k")
                self.assertEqual(self.do("CF.RESERVE", "k", "100", "BUCKETSIZE", size, "EXPANSION", "2"), "OK")
                remove = lambda items: [self.do("CF.DEL", "k", item) for item in items]
                self.check("k", ("CF.INSERT", "k", "ITEMS"), remove, "CF.MEXISTS", self.reload)


on_both(globals(), Law)
