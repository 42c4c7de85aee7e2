#!/usr/bin/env python3
"""Writes the conformance vectors as C tables: make_vectors.py CONFORMANCE_DIRECTORY > vectors.h"""

import json
import pathlib
import sys


def text(value):
    return json.dumps(value)


def array(name, kind, values):
    return f"static const {kind} {name}[] = {{{', '.join(values)}}};"


def rules(name, found):
    rows = [f"{{{text(rule['text'].replace('{i}', '%d'))}, {rule['from']}, {rule['to']}}}" for rule in found]
    return array(name, "struct rule", rows + ["{NULL, 0, 0}"])


def main():
    root = pathlib.Path(sys.argv[1])
    print("struct rule { const char *format; int from, to; };")
    print("struct vector { const char *kind, *asked, *filled, *file_sha256, *found;")
    print("  const struct rule *keys, *probes, *excluded; const uint64_t *counts; const int64_t *values;")
    print("  int times, modulo; double estimated_items, fpp; uint64_t bytes, file_bytes; };")
    rows = []
    for at, path in enumerate(sorted(root.glob("*.json"))):
        if path.name == "keys.json":
            continue
        file = json.loads(path.read_text())
        print(rules(f"keys_{at}", file["keys"]))
        print(rules(f"probes_{at}", file["probes"]))
        print(rules(f"excluded_{at}", file.get("spared", [])))
        values = file.get("values", {"times": 0, "modulo": 0})
        for number, case in enumerate(file["cases"]):
            counts = answers = "NULL"
            if "counts" in case:
                counts = f"counts_{at}_{number}"
                print(array(counts, "uint64_t", [f"{count}u" for count in case["counts"]]))
            if "values" in case:
                answers = f"values_{at}_{number}"
                print(array(answers, "int64_t", ["-1" if value is None else str(value) for value in case["values"]]))
            size = case.get("size") or {"bytes": 0, "file_bytes": 0, "fpp": None}
            words = [text(file["kind"])] + [text(case[field]) for field in ["asked", "filled", "file_sha256", "found"]]
            words += [f"keys_{at}", f"probes_{at}", f"excluded_{at}", counts, answers, str(values["times"]), str(values["modulo"])]
            words += [repr(case.get("estimated_items") or -1.0), repr(-1.0 if size["fpp"] is None else size["fpp"])]
            words += [f"{size['bytes']}u", f"{size['file_bytes']}u"]
            rows.append("{" + ", ".join(words) + "}")
    print(array("vectors", "struct vector", rows))

    keys = json.loads((root / "keys.json").read_text())
    print("struct key { const char *type; const unsigned char *bytes; size_t len; int is_integer; uint64_t integer; const uint64_t *digests; };")
    seeds, secrets = [], []
    for hasher in keys["hashers"]:
        seeds.append(text(f"bloom items=10 seed={hasher['seed']}" if "seed" in hasher else "bloom items=10"))
        secrets.append(text(hasher.get("secret", "")))
    print(array("hasher_specs", "char *const", seeds))
    print(array("hasher_secrets", "char *const", secrets))
    rows = []
    for at, key in enumerate(keys["keys"]):
        found = bytes.fromhex(key["bytes"])
        print(array(f"key_{at}", "unsigned char", [str(byte) for byte in found] or ["0"]))
        print(array(f"digests_{at}", "uint64_t", [f"0x{digest}u" for digest in key["digests"]]))
        narrow = key["type"][0] in "iu" and key["type"][1:].isdigit() and int(key["type"][1:]) <= 64
        integer = int(key["value"]) % 2**64 if narrow else 0
        rows.append(f"{{{text(key['type'])}, key_{at}, {len(found)}, {int(narrow)}, 0x{integer:x}u, digests_{at}}}")
    print(array("key_vectors", "struct key", rows))


main()
