#!/usr/bin/env python3
"""Makes the golden values that tests/golden.rs compares with: an implementation of the specification
(docs/formats.md) that shares no code with the library. Needs the packages xxhash and siphash24.

    python3 make_golden.py            # rewrites the files beside it
"""
import math
import pathlib
import struct

import siphash24
import xxhash

HERE = pathlib.Path(__file__).parent
WORD = 2**64
MASK = WORD - 1
SECRET = bytes(range(16))


def xxh3(data, seed=0):
    return xxhash.xxh3_64_intdigest(data, seed)


def sip13(data):
    # The digest's bytes are the 64-bit value in little-endian order.
    return int.from_bytes(siphash24.siphash13(data, key=SECRET).digest(), "little")


def word(digest, i):
    """Word i of a digest: itself, then SplitMix64."""
    if i == 0:
        return digest
    z = (digest + i * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def scale(value, m):
    return value * m >> 64


def positions(scheme, digest, m, k):
    h = lambda i, r: scale(word(digest, i), r)
    if scheme == 1:
        return [h(i, m) for i in range(k)]
    if scheme in (2, 3):
        s = m // k
        return [i * s + (h(0, s) + i * h(1, s)) % s for i in range(k)]
    if scheme == 4:
        step = 1 + h(1, m - 1) if m > 1 else 0
        return [(h(0, m) + i * step) % m for i in range(k)]
    if scheme == 5:
        return [(h(0, m) + i * h(1, m) + i * i) % m for i in range(k)]
    if scheme == 6:
        return [(h(0, m) + i * h(1, m) + i**3) % m for i in range(k)]
    if scheme == 7:
        return [(h(0, m) + i * h(1, m) + (i**3 - i) // 6) % m for i in range(k)]
    if scheme == 8:
        return [(h(0, m) + i * h(1, m) + i * (i - 1) // 2 * h(2, m)) % m for i in range(k)]
    if scheme == 9:
        s = m // k
        return [i * s + h(i, s) for i in range(k)]
    if scheme == 10:
        fold = lambda multiplier: (digest * multiplier >> 64) ^ (digest * multiplier & MASK)
        step, bend = fold(0xBF58476D1CE4E5B9), fold(0x94D049BB133111EB)
        return [scale((digest + i * step + i * (i - 1) // 2 * bend) & MASK, m) for i in range(k)]
    raise ValueError(scheme)


def blocked_positions(digest, blocks, k):
    """The bits of a key in a blocked filter, in the order of their lanes in the run."""
    base = scale(digest, blocks) * 512
    first = digest * 0xBF58476D1CE4E5B9 & MASK
    second = digest * 0x94D049BB133111EB & MASK
    rotation = first >> 61
    bits = []
    for word, lanes in ((first, min(k, 8)), (second, max(k - 8, 0))):
        for i in range(lanes):
            lane = (rotation + i) % 8
            bits.append(base + 64 * lane + (word >> (13 + 6 * lane) & 63))
    return bits


def hashes():
    keys = [b"", b"a", b"rose", b"\0", b"rose\0", "Gänseblümchen".encode(), bytes(range(256)), b"x" * 1000]
    keys += [struct.pack("<q", n) for n in (0, 1, -1, 5, 2**63 - 1)]
    yield "# key (hex)\txxh3 seed 0\txxh3 seed 1\txxh3 seed 2^64-1\tsip13 key 00..0f"
    for key in keys:
        values = [xxh3(key), xxh3(key, 1), xxh3(key, MASK), sip13(key)]
        yield "\t".join([key.hex() or "-"] + [f"{v:016x}" for v in values])


def all_positions():
    yield "# scheme\tdigest\tm\tk\tpositions"
    for scheme in range(1, 11):
        for digest in (0, 1, MASK, 0x0123456789ABCDEF, 0xD6EA2B8B8A72ACA7):
            for m, k in ((1, 1), (1, 5), (2, 3), (7, 7), (64, 6), (1000, 7), (99991, 3), (2**32 + 15, 13), (2**40, 40)):
                if scheme in (2, 3, 9):
                    m = -(-m // k) * k
                if scheme == 3:
                    slice_ = m // k
                    while slice_ < 2 or any(slice_ % d == 0 for d in range(2, math.isqrt(slice_) + 1)):
                        slice_ += 1
                    m = slice_ * k
                if m > 2**40:
                    continue
                row = positions(scheme, digest, m, k)
                yield f"{scheme}\t{digest:016x}\t{m}\t{k}\t" + ",".join(map(str, row))


def file(kind, keys, scheme, m, k, hasher, mark, flags, secret, planned, fpp, metadata):
    digest = (lambda key: xxh3(key, mark)) if hasher == 1 else sip13
    words = [0] * -(-m // 64)
    for key in keys:
        d = digest(key)
        for at in positions(scheme, d, m, k) if kind == 1 else blocked_positions(d, m // 512, k):
            words[at // 64] |= 1 << at % 64
    payload = b"".join(struct.pack("<Q", w) for w in words)
    header = b"\x89GDN\r\n\x1a\n" + struct.pack(
        "<HHIBBHIQQIIQQdQII16s",
        1, kind, 104 + len(metadata) + 8, hasher, scheme, flags, k, mark, m, 1, 0, len(payload),
        planned, fpp, MASK, 0, len(metadata), secret,
    ) + metadata
    header += struct.pack("<Q", xxh3(header))
    header += bytes(-len(header) % 64)
    chunks = [payload[i : i + 2**20] for i in range(0, len(payload), 2**20)]
    sums = b"".join(struct.pack("<Q", xxh3(c)) for c in chunks)
    return header + payload + sums + struct.pack("<Q", xxh3(sums)) + b"GDN.END\n"


def main():
    (HERE / "hashes.tsv").write_text("\n".join(hashes()) + "\n")
    (HERE / "positions.tsv").write_text("\n".join(all_positions()) + "\n")
    flowers = [b"rose", b"tulip", b"", b"\0", "Gänseblümchen".encode(), struct.pack("<q", -1)]
    secret_id = sip13(b"gardenia secret id")
    none = bytes(16)
    many = flowers + [struct.pack("<q", n) for n in range(990)]
    files = {
        "bloom.gdn": (1, flowers, 10, 1000, 7, 1, 0, 0, none, 100, 0.01, b"made elsewhere"),
        "bloom-double.gdn": (1, flowers, 4, 999, 5, 1, 7, 0, none, 0, 0.0, b""),
        "bloom-keyed.gdn": (1, flowers, 10, 1000, 7, 2, secret_id, 0, none, 100, 0.01, b""),
        "bloom-keyed-stored.gdn": (1, flowers, 7, 1000, 7, 2, secret_id, 1, SECRET, 100, 0.01, b""),
        "blocked.gdn": (2, many, 0, 20 * 512, 6, 1, 0, 0, none, 1000, 0.01, b""),
        "blocked-two-bits.gdn": (2, many, 0, 70 * 512, 13, 1, 3, 0, none, 0, 0.0, b""),
    }
    for name, parts in files.items():
        (HERE / name).write_bytes(file(*parts))


main()
