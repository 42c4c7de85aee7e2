"""`gardenia build --kind X` and `GD.RESERVE key KIND X` accept the same options with the same meaning, for every kind of the table.

For each kind, each option and several sizes both either build the same filter, byte for byte, or refuse with the same words.
"""

import json
import os
import subprocess
import tempfile

from servers import Case, content, on_both
from wire import Error

# A value for each sort of option.
SAMPLES = {"bits": "4096", "bytes": "8192", "share": "0.05", "number": "20", "flag": ""}
BASES = [
    [],
    [("items", "100")],
    [("items", "100"), ("fpp", "0.02")],
    [("bits", "4096"), ("hashes", "3")],
    [("cells", "512"), ("hashes", "3"), ("items", "50")],
    [("columns", "64"), ("rows", "3")],
]


def sample(option):
    if option["accepts"] == "whole":
        return str(max(option["values"][0], min(option["values"][1], 3)))
    if option["accepts"] == "word":
        return option["values"][-1]
    return SAMPLES[option["accepts"]]


class Kinds(Case):
    def setUp(self):
        super().setUp()
        self.program = os.environ["GARDENIA_CLI"]
        table = json.loads(subprocess.run([self.program, "kinds", "--json"], capture_output=True, check=True).stdout)
        self.options = {option["name"]: option for option in table["options"]}
        self.kinds = [kind for kind in table["kinds"] if "insert" in kind["abilities"]]

    def built(self, kind, options, folder):
        """What the command builds from no lines, or what it says."""
        words = [word for name, value in options for word in (f"--{name}", value) if word]
        path = os.path.join(folder, "f.gdn")
        run = subprocess.run(
            [self.program, "build", "-q", "--force", "--kind", kind, *words, "-o", path],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if run.returncode:
            lines = run.stderr.strip().split("\n")
            return ": ".join([lines[0].removeprefix("gardenia: ")] + [line.removeprefix("hint: ") for line in lines[1:]])
        with open(path, "rb") as file:
            return file.read()

    def reserved(self, kind, options):
        """What the server builds, or what it says."""
        words = [word for name, value in options for word in (name.upper(), value) if word]
        self.do("DEL", "k")
        reply = self.do("GD.RESERVE", "k", "KIND", kind, *words)
        return reply.text.removeprefix("ERR ") if isinstance(reply, Error) else self.do("GD.DUMP", "k")

    def test_the_command_and_the_module_accept_the_same_options(self):
        compared = {"same": 0, "refused": 0, "slow": 0}
        with tempfile.TemporaryDirectory() as folder:
            for kind in self.kinds:
                # Not of keys; and what the server holds as another value.
                if not kind["holds_keys"]:
                    continue
                other = kind["name"] in ("scalable", "compressed")
                for base in BASES:
                    for name in self.options:
                        options = [pair for pair in base if pair[0] != name] + [(name, sample(self.options[name]))]
                        there = self.reserved(kind["name"], options)
                        # The command counts the lines, and builds from all keys at once.
                        if isinstance(there, str) and ("nothing says how large" in there or "keys at once" in there):
                            continue
                        # Of a dynamic filter, too, where its layers have a default size on the server.
                        if kind["name"] == "dynamic" and not {"items", "bits", "cells"} & {name for name, _ in options}:
                            continue
                        # The command has all lines before it builds, and lets keys choose together unless it is told otherwise.
                        if kind["name"] == "choice" and not {"effort", "choices", "scheme"} & {name for name, _ in options}:
                            continue
                        # The server refuses what would take it more than 10 ms to plan; the command has the time.
                        if isinstance(there, str) and ("stop the server" in there or "HASHES are not" in there or "or more here:" in there):
                            compared["slow"] += 1
                            continue
                        here = self.built(kind["name"], options, folder)
                        what = (kind["name"], options)
                        if isinstance(there, str):
                            self.assertIsInstance(here, str, (what, there))
                            self.assertEqual(here.replace("--", "").lower(), there.lower(), what)
                            compared["refused"] += 1
                        else:
                            self.assertIsInstance(here, bytes, (what, here))
                            if not other:
                                self.assertEqual(content(here), content(there), what)
                            compared["same"] += 1
        self.assertGreater(compared["same"], 200, compared)
        self.assertGreater(compared["refused"], 200, compared)
        self.assertLess(compared["slow"], 50, compared)


on_both(globals(), Kinds)
