#!/usr/bin/env python3
"""Writes compact.words: the canonical form of compact counters, made from its description alone.

The description is the module documentation of `cells/compact`. The counters are those of `tests/compact.rs`.
Slow and simple on purpose: strings of '0' and '1', first bit first.
"""

import pathlib
import struct

MASK = (1 << 64) - 1


def word(digest, i):
    """Output i of SplitMix64 started from `digest`."""
    z = (digest + i * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def values():
    """10,000 counters: groups of many kinds, some of them zero."""
    for at in range(10_000):
        x, kind = word(2003, at + 1), at // 512
        if kind % 4 == 0:  # half zeros, and small
            yield (x >> 8) % 8 if x & 1 else 0
        elif kind % 4 == 1:  # from tiny to the top, by length
            yield (x >> 8 & 0xFFFFFFFF) >> (x & 31)
        elif kind % 4 == 2:  # all large in some blocks, nothing in others
            yield 0xFFFFFFFF - (x & 0xFF) if at // 64 % 3 == 0 else 0
        else:  # one key in a group, or none
            yield 1000 if kind == 7 and at % 512 == 300 else 0


def number(value, bits):
    return "".join(str(value >> i & 1) for i in range(bits))


def code(v, k):
    w = v - 1 + 2**k
    b = w.bit_length()
    return "0" * (b - 1 - k) + "1", number(w, b - 1)


def group(counters):
    if not any(counters):
        return b""
    some = [v for v in counters if v]
    k = min(range(32), key=lambda k: sum(len("".join(code(v, k))) for v in some))
    planes, blocks = "", []
    for start in range(0, 512, 64):
        block = counters[start : start + 64]
        planes += "".join("1" if v else "0" for v in block)
        unary, low = "", ""
        for v in block:
            if v:
                u, l = code(v, k)
                unary, low = unary + u, l + low
        blocks.append(unary + "0" * (-len(unary + low) % 8) + low)
    lengths = [len(block) // 8 for block in blocks]
    wide = any(length > 255 for length in lengths)
    bits = planes + "".join(number(length % 256, 8) for length in lengths) + number(k, 8) + number(wide, 8)
    if wide:
        bits += "".join(number(length // 256, 8) for length in lengths)
    bits += "".join(blocks)
    bits += "0" * (-len(bits) % 64)
    return bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, len(bits), 8))


def main():
    counters = list(values())
    counters += [0] * (-len(counters) % 4096)
    directory, body = b"", b""
    for start in range(0, len(counters), 4096):
        directory += struct.pack("<Q", len(body) // 8)
        first = len(body)
        for at in range(start, start + 4096, 512):
            body += group(counters[at : at + 512])
            directory += struct.pack("<H", (len(body) - first) // 8)
    pathlib.Path(__file__).with_name("compact.words").write_bytes(directory + body)


main()
