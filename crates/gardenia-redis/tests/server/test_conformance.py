"""The vectors in conformance/: GD.RESERVE and GD.ADD make the same filters of the same keys, with the same answers."""

import hashlib
import json
import os
import pathlib
import struct
import subprocess

from servers import Case, on_both
from wire import Error

VECTORS = pathlib.Path(__file__).resolve().parents[4] / "conformance"


def expand(rules):
    return [rule["text"].replace("{i}", str(i)) for rule in rules for i in range(rule["from"], rule["to"])]


def payload(file):
    header, length = struct.unpack_from("<I", file, 12)[0], struct.unpack_from("<Q", file, 48)[0]
    start = -(-header // 64) * 64
    return file[start : start + length]


class Conformance(Case):
    def reserve(self, spec):
        """The reply to GD.RESERVE with the options of a spec: NAME value for name=value."""
        kind, *options = spec.split()
        words = [part for option in options for part in option.split("=")]
        self.do("DEL", "k")
        return self.do("GD.RESERVE", "k", "KIND", kind, *words)

    def check(self, file, case, number):
        """Whether the file is the same, too: the server holds some kinds as another."""
        added = self.do("GD.ADD", "k", *expand(file["keys"]))
        self.assertNotIsInstance(added, Error, case["asked"])
        probes = expand(file["probes"])
        found = "".join(str(int(bit)) for bit in self.do("GD.EXISTS", "k", *probes))
        self.assertEqual(found, case["found"], case["asked"])
        if "counts" in case:
            self.assertEqual(self.do("GD.COUNT", "k", *probes), case["counts"], case["asked"])
        dumped = self.do("GD.DUMP", "k")
        if struct.unpack_from("<H", dumped, 10)[0] != number:
            return False
        self.assertEqual(hashlib.sha256(payload(dumped)).hexdigest(), case["payload_sha256"], case["asked"])
        self.assertEqual(hashlib.sha256(dumped).hexdigest(), case["file_sha256"], case["asked"])
        return True

    def test_the_module_makes_the_filters_of_the_conformance_vectors(self):
        table = subprocess.run([os.environ["GARDENIA_CLI"], "kinds", "--json"], capture_output=True, check=True)
        kinds = {kind["name"]: kind for kind in json.loads(table.stdout)["kinds"]}
        ran, same, at_once = 0, 0, 0
        for path in sorted(VECTORS.glob("*.json")):
            # Kinds that are not made here.
            if "insert" not in kinds.get(path.stem, {"abilities": []})["abilities"]:
                continue
            file = json.loads(path.read_text())
            for case in file["cases"]:
                # With how many keys a scalable filter begins is a setting of the server's.
                open_ = file["kind"] == "scalable" and "items=" not in case["asked"]
                reply = self.reserve(case["filled" if open_ else "asked"])
                if isinstance(reply, Error) and "keys at once" in reply.text:
                    at_once += 1
                    continue
                self.assertEqual(reply, "OK", case["asked"])
                same += self.check(file, case, kinds[path.stem]["number"])
                ran += 1
        self.assertGreater(same, 110, (ran, same, at_once))
        # Filters with choices at an effort that sees all keys.
        self.assertLess(at_once, 5)


on_both(globals(), Conformance)
