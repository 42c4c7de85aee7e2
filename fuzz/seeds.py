#!/usr/bin/env python3
"""Writes what RedisBloom stored (crates/gardenia/tests/data/interop) as first inputs of the target `redisbloom`.

    fuzz/seeds.py DIRECTORY
"""

import base64
import json
import pathlib
import sys

DATA = pathlib.Path(__file__).resolve().parent.parent / "crates" / "gardenia" / "tests" / "data" / "interop"
# The first byte of an input: how the target reads the rest.
BLOOM_CHUNKS, CUCKOO_CHUNKS, BLOOM_FIELDS, CUCKOO_FIELDS = 0, 1, 2, 4


def chunks():
    """Dumps by SCANDUMP: a header, its length before it, and the chunks."""
    for name, case in json.loads((DATA / "redisbloom.json").read_text()).items():
        if name.startswith(("bf", "cf")):
            header, *rest = (base64.b64decode(chunk) for _, chunk in case["chunks"])
            how = BLOOM_CHUNKS if name.startswith("bf") else CUCKOO_CHUNKS
            yield name, bytes([how, len(header)]) + header + b"".join(rest)


def length(dump, at):
    """A length of an RDB file, whether it stands for an encoding, and where the next byte is."""
    first = dump[at]
    at += 1
    match first >> 6:
        case 0:
            return first, False, at
        case 1:
            return (first & 63) << 8 | dump[at], False, at + 1
        case 2:
            size = 4 if first == 0x80 else 8
            return int.from_bytes(dump[at : at + size]), False, at + size
    return first & 63, True, at


def lzf(packed):
    out, at = bytearray(), 0
    while at < len(packed):
        control = packed[at]
        at += 1
        if control < 32:
            out += packed[at : at + control + 1]
            at += control + 1
            continue
        size = control >> 5
        if size == 7:
            size += packed[at]
            at += 1
        back = (control & 31) << 8 | packed[at]
        at += 1
        for _ in range(size + 2):
            out.append(out[-back - 1])
    return bytes(out)


def fields():
    """Payloads of DUMP: their fields as 8 bytes little-endian, and strings behind their length."""
    for case in json.loads((DATA / "redisbloom_rdb.json").read_text())["cases"]:
        if not case["name"].startswith(("bf", "cf")) or not case.get("dump"):
            continue
        dump = base64.b64decode(case["dump"])
        out = bytearray([BLOOM_FIELDS if case["name"].startswith("bf") else CUCKOO_FIELDS])
        _, _, at = length(dump, 1)
        while True:
            kind, _, at = length(dump, at)
            if kind == 0:
                break
            if kind == 4:
                out += dump[at : at + 8]
                at += 8
                continue
            number, encoded, at = length(dump, at)
            if kind == 2:
                out += number.to_bytes(8, "little")
                continue
            if encoded:
                packed, _, at = length(dump, at)
                size, _, at = length(dump, at)
                text = lzf(dump[at : at + packed])
                assert len(text) == size
                at += packed
            else:
                text = dump[at : at + number]
                at += number
            out += len(text).to_bytes(8, "little") + text
        yield case["name"], bytes(out)


def main():
    there = pathlib.Path(sys.argv[1])
    for kind, seeds in (("chunks", chunks()), ("fields", fields())):
        for name, seed in seeds:
            (there / f"{kind}-{name}").write_bytes(seed)


if __name__ == "__main__":
    main()
