"""The table of kinds, as `gardenia kinds --json` prints it: a kind is tested because it is listed."""

import functools
import json
import os
import subprocess


@functools.cache
def table():
    run = subprocess.run([os.environ["GARDENIA_CLI"], "kinds", "--json"], capture_output=True, check=True)
    return json.loads(run.stdout)


def reserved():
    """What GD.RESERVE makes: abilities and options by name. Kinds that have presets stand under those names."""
    out = {}
    for kind in table()["kinds"]:
        if not kind["holds_keys"] or "insert" not in kind["abilities"]:
            continue
        presets = [preset for preset in table()["presets"] if preset["kind"] == kind["name"]]
        for each in presets or [kind]:
            out[each["name"]] = {"abilities": set(each["abilities"]), "options": set(kind["options"])}
    return out


# The server holds it as the Bloom filter that it is in memory.
HELD_AS_ANOTHER = ("compressed",)

KEPT = {name: kind for name, kind in reserved().items() if name not in HELD_AS_ANOTHER}


def able(*abilities):
    """The names of those that can do all of it."""
    return tuple(name for name, kind in KEPT.items() if kind["abilities"] >= set(abilities))


def static():
    return tuple(kind["name"] for kind in table()["kinds"] if "fixed" in kind["abilities"])
