"""`gardenia build --kind X` and `GD.RESERVE key KIND X` accept the same options with the same meaning, for every kind of the table.

For each kind and preset, each value of each option and several sizes both either build the same filter, byte for byte, or refuse
with the same words. What only the server refuses, and where the two fill in different values, is listed here and in docs/redis.md.
"""

import os
import re
import subprocess
import tempfile

import table
from servers import Case, content, on_both
from test_conformance import payload
from wire import Error

# A value for each sort of option; of words all are tried.
SAMPLES = {"bits": "4096", "bytes": "8192", "share": "0.05", "number": "20", "flag": ""}
BASES = [
    [],
    [("items", "100")],
    [("items", "100"), ("fpp", "0.02")],
    [("bits", "4096"), ("hashes", "3")],
    [("cells", "512"), ("hashes", "3"), ("items", "50")],
    [("columns", "64"), ("rows", "3")],
]

# The command has all lines before it builds. Unless it is told otherwise (the options that tell it come first), it counts them,
# and lets keys choose together; the server fills in these values.
FILLED_IN = {
    "choice": ({"effort", "choices", "scheme"}, ("effort", "online")),
    "dynamic": ({"items", "bits", "cells"}, ("items", "10000")),
    "scalable": ({"items"}, ("items", "100")),
}

# What the command can do, because it counts its lines or has all of them.
LINES = re.compile(
    r"nothing says how large a filter of kind \S+ is to be: give ITEMS, the number of keys"
    r"|a filter of kind \S+ is built from all its keys at once: (leave out EFFORT, or )?hand it the keys"
)

# What would take the server more than 10 ms to plan; the command has the time.
ELSEWHERE = "planning it would stop the server: build the filter with the command line, and load it with GD\\.LOAD"
SLOW = re.compile(
    rf"FPP of kind \S+( with SCHEME)? must be \S+ or more here, because {ELSEWHERE}"
    rf"|SCHEME is given without ITEMS or HASHES: give one of them, because {ELSEWHERE}"
    r"|BITS of kind \S+ must be 1000 or more here: raise them, or give ITEMS"
    rf"|(SECONDARY-)?HASHES must be 40 at most here, because {ELSEWHERE}"
    r"|more than \d+ bits per item are given, and HASHES are not: give HASHES, 40 at most, or fewer bits"
)


def samples(option):
    if option["accepts"] == "whole":
        return [str(max(option["values"][0], min(option["values"][1], 3)))]
    if option["accepts"] == "word":
        return option["values"]
    return [SAMPLES[option["accepts"]]]


def cases(known):
    """Options to try, of a kind that has those that are `known`: others are tried once, to be refused."""
    yield from BASES
    for option in table.table()["options"]:
        name = option["name"]
        for value in samples(option) if name in known else samples(option)[:1]:
            for base in BASES if name in known else BASES[1:2]:
                yield [pair for pair in base if pair[0] != name] + [(name, value)]


class Kinds(Case):
    def built(self, kind, options, folder):
        """What the command builds from no lines, or what it says."""
        words = [word for name, value in options for word in (f"--{name}", value) if word]
        path = os.path.join(folder, "f.gdn")
        run = subprocess.run(
            [os.environ["GARDENIA_CLI"], "build", "-q", "--force", "--kind", kind, *words, "-o", path],
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

    def held(self, kind, file):
        """The file, as the server holds it."""
        if kind not in table.HELD_AS_ANOTHER:
            return file
        self.assertEqual(self.do("GD.LOAD", "held", file, "REPLACE"), "OK")
        return self.do("GD.DUMP", "held")

    def test_the_command_and_the_module_accept_the_same_options(self):
        compared = {"same": 0, "refused": 0, "slow": 0}
        kinds = {kind["name"]: set(kind["options"]) for kind in table.table()["kinds"] if kind["holds_keys"]}
        kinds = {name: kinds[name] for name in kinds if name == "spectral" or name in table.reserved()}
        presets = {name: set() for name in table.reserved() if name not in kinds}
        self.assertGreaterEqual(len(presets), 3)
        built = dict.fromkeys([*kinds, *presets], 0)
        with tempfile.TemporaryDirectory() as folder:
            for kind, known in (kinds | presets).items():
                for options in cases(known):
                    there, what = self.reserved(kind, options), (kind, options)
                    if isinstance(there, str) and LINES.fullmatch(there):
                        continue
                    if isinstance(there, str) and SLOW.fullmatch(there):
                        compared["slow"] += 1
                        continue
                    told, value = FILLED_IN.get(kind, ({name for name, _ in options} or {""}, None))
                    filled = [value] if value and not told & {name for name, _ in options} else []
                    here = self.built(kind, options + filled, folder)
                    if isinstance(there, str):
                        self.assertIsInstance(here, str, (what, there))
                        self.assertEqual(here.replace("--", "").lower(), there.lower(), what)
                        compared["refused"] += 1
                    else:
                        self.assertIsInstance(here, bytes, (what, here))
                        # Keys of BF.* do not keep the note of another plan than their own.
                        noted = kind == "scalable" and "planned-fpp" in (name for name, _ in options)
                        part = payload if noted else content
                        self.assertEqual(part(self.held(kind, here)), part(there), what)
                        compared["same"] += 1
                        built[kind] += 1
            self.spellings(folder)
            # What is filled in is not what the command would take by itself.
            for kind in FILLED_IN:
                options = [] if "items" in FILLED_IN[kind][0] else [("items", "100")]
                self.assertNotEqual(content(self.built(kind, options, folder)), content(self.reserved(kind, options)), kind)
        self.assertNotIn(0, built.values(), built)
        self.assertGreater(compared["same"], 300, compared)
        self.assertGreater(compared["refused"], 300, compared)
        self.assertLess(compared["slow"], 50, compared)

    def spellings(self, folder):
        """Numbers are read in the same spellings, and others are refused with the same words."""
        accepted = {"10M": "10000000", "0x10": "16", "1e3": "1000", "64Ki": "65536", "1_000": "1000", "2.5k": "2500"}
        for option, others in ("items", []), ("bits", [("hashes", "3")]):
            for text in [*accepted, "007", "+5", "00", "01k", "-5", "1.5", "10m", " 5", "0x+5"]:
                there = self.reserved("bloom", [(option, text), *others])
                here = self.built("bloom", [(f"{option}={text}", ""), *others], folder)
                # Sizes are not hexadecimal.
                if text in accepted and (option, text) != ("bits", "0x10"):
                    self.assertEqual(there, self.reserved("bloom", [(option, accepted[text]), *others]), text)
                    self.assertEqual(content(here), content(there), (option, text))
                else:
                    self.assertIsInstance(there, str, (option, text))
                    self.assertEqual(here.replace("--", "").lower(), there.lower(), (option, text))


on_both(globals(), Kinds)
