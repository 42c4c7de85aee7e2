#!/usr/bin/env python3
"""Makes the golden values that tests/golden.rs compares with: an implementation of the specification
(docs/formats.md) that shares no code with the library. conformance/check.py uses it too.

    python3 make_golden.py            # rewrites the files beside it
"""
import functools
import math
import pathlib
import struct

import hashing

HERE = pathlib.Path(__file__).parent
WORD = 2**64
MASK = WORD - 1
SECRET = bytes(range(16))


xxh3 = functools.cache(hashing.xxh3)


def sip13(data):
    return hashing.sip13(data, SECRET)


def fnv1(data):
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = (digest * 0x100000001B3 & MASK) ^ byte
    return digest


def xxh64(data, seed=0):
    return hashing.xxh64(data, seed)


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
    if scheme == 11:
        prime, x, row = WORD - 59, digest % (WORD - 59), []
        for _ in range(k):
            x = (x * (WORD - 1469) & MASK) % prime
            row.append(x % m)
        return row
    if scheme == 12:
        return [(h(0, m) + i * (1 + 2 * h(1, m // 2))) % m for i in range(k)]
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


def split_block_positions(digest, blocks):
    """The bits of a key in a split-block filter, one in each word."""
    salts = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)
    high, low = digest >> 32, digest & 0xFFFFFFFF
    base = (high * blocks >> 32) * 256
    return [base + 32 * i + ((low * salt & 0xFFFFFFFF) >> 27) for i, salt in enumerate(salts)]


def hashes():
    keys = [b"", b"a", b"rose", b"\0", b"rose\0", "Gänseblümchen".encode(), bytes(range(256)), b"x" * 1000]
    keys += [struct.pack("<q", n) for n in (0, 1, -1, 5, 2**63 - 1)]
    yield "# key (hex)\txxh3 seed 0\txxh3 seed 1\txxh3 seed 2^64-1\tsip13 key 00..0f\tfnv1\txxh64 seed 0\txxh64 seed 1"
    for key in keys:
        values = [xxh3(key), xxh3(key, 1), xxh3(key, MASK), sip13(key), fnv1(key)]
        values += [xxh64(key), xxh64(key, 1)]
        yield "\t".join([key.hex() or "-"] + [f"{v:016x}" for v in values])


def all_positions():
    yield "# scheme\tdigest\tm\tk\tpositions"
    for scheme in range(1, 13):
        for digest in (0, 1, MASK, 0x0123456789ABCDEF, 0xD6EA2B8B8A72ACA7):
            for m, k in ((1, 1), (1, 5), (2, 3), (7, 7), (64, 6), (1000, 7), (99991, 3), (2**32 + 15, 13), (2**40, 40)):
                if scheme in (2, 3, 9):
                    m = -(-m // k) * k
                if scheme == 3:
                    slice_ = m // k
                    while slice_ < 2 or any(slice_ % d == 0 for d in range(2, math.isqrt(slice_) + 1)):
                        slice_ += 1
                    m = slice_ * k
                if scheme == 12:
                    power = max(2, 2 ** (k - 1).bit_length())
                    m = -(-m // power) * power
                if m > 2**40:
                    continue
                row = positions(scheme, digest, m, k)
                yield f"{scheme}\t{digest:016x}\t{m}\t{k}\t" + ",".join(map(str, row))


def words_bytes(words):
    return b"".join(struct.pack("<Q", w) for w in words)


def container(
    payload, kind, m, k, scheme=0, width=1, hasher=1, mark=0, flags=0, secret=bytes(16),
    planned=0, fpp=0.0, items=MASK, params=b"", metadata=b"",
):
    """Header, payload, checksums, end mark."""
    header = b"\x89GDN\r\n\x1a\n" + struct.pack(
        "<HHIBBHIQQIIQQdQII16s",
        1, kind, 104 + len(params) + len(metadata) + 8, hasher, scheme, flags, k, mark, m, width, 0, len(payload),
        planned, fpp, items, len(params), len(metadata), secret,
    ) + params + metadata
    header += struct.pack("<Q", xxh3(header))
    header += bytes(-len(header) % 64)
    chunks = [payload[i : i + 2**20] for i in range(0, len(payload), 2**20)]
    sums = b"".join(struct.pack("<Q", xxh3(c)) for c in chunks)
    return header + payload + sums + struct.pack("<Q", xxh3(sums)) + b"GDN.END\n"


def pack_bits(bits, m):
    """Bit i is bit i mod 64 of word i / 64."""
    words = [0] * -(-m // 64)
    for at in bits:
        words[at // 64] |= 1 << at % 64
    return words_bytes(words)


def pack_counters(values, width):
    """As many whole counters as fit each word, the first at its low end."""
    per_word = 64 // width
    words = [0] * -(-len(values) // per_word)
    for at, value in enumerate(values):
        words[at // per_word] |= value << at % per_word * width
    return words_bytes(words)


def digester(hasher=1, mark=0, **_):
    return {1: lambda key: xxh3(key, mark), 2: sip13, 3: fnv1, 4: lambda key: xxh64(key, mark)}[hasher]


def bloom(keys, scheme, m, k, **options):
    digest = digester(**options)
    bits = [at for key in keys for at in positions(scheme, digest(key), m, k)]
    return container(pack_bits(bits, m), 1, m, k, scheme, **options)


def blocked(keys, blocks, k, **options):
    digest = digester(**options)
    bits = [at for key in keys for at in blocked_positions(digest(key), blocks, k)]
    return container(pack_bits(bits, blocks * 512), 2, blocks * 512, k, **options)


def split_block(keys, blocks, **options):
    digest = digester(**options)
    bits = [at for key in keys for at in split_block_positions(digest(key), blocks)]
    return container(pack_bits(bits, blocks * 256), 25, blocks * 256, 8, **options)


def counting(keys, scheme, m, k, width, **options):
    digest = digester(**options)
    cells = [0] * m
    for key in keys:
        for at in set(positions(scheme, digest(key), m, k)):
            cells[at] = min(cells[at] + 1, 2**width - 1)
    return container(pack_counters(cells, width), 3, m, k, scheme, width, **options)


def bitwise(keys, levels, scheme, seed, share, max_levels, grow):
    """A bitwise filter (kind 4). With `grow` keys go in one by one and carry, and levels are added after the last;
    without, keys come with their counts, whose digits are placed. A level is (cells, hashes, digit, width)."""
    levels = list(levels)
    cells = [[0] * level[0] for level in levels]

    def places(d, i):
        return set(positions(scheme, word(d, 256 * i), levels[i][0], levels[i][1]))

    for key in keys:
        if not grow:
            key, count = key
        d = xxh3(key, seed)
        if not grow:
            for i, (_, _, digit, _) in enumerate(levels):
                for at in places(d, i):
                    cells[i][at] += count % 2**digit
                count >>= digit
            assert count == 0
            continue
        i = 0
        while True:
            if i == len(levels):
                m, k, digit, width = levels[-1]
                levels.append((max(math.ceil(m * share), min(1024, levels[0][0])), k, digit, width))
                cells.append([0] * levels[-1][0])
            full = 2 ** levels[i][2] - 1
            carry = min(cells[i][at] for at in places(d, i)) >= full
            for at in places(d, i):
                cells[i][at] += -full if carry else 1
            if not carry:
                break
            i += 1
    params = struct.pack("<IId", max_levels, 0, share)
    params += b"".join(struct.pack("<QIHH", *level) for level in levels)
    payload = b"".join(pack_counters([min(v, 2 ** level[3] - 1) for v in values], level[3]) for values, level in zip(cells, levels))
    m, k, _, width = levels[0]
    return container(payload, 4, m, k, scheme, width, mark=seed, params=params)


def stable(keys, scheme, m, k, width, decrements, aging_seed, mark, drawn=False):
    """Kind 6: lower a run of cells from a random place, or cells that are drawn, then set the key's cells to the maximum."""
    cells = [0] * m
    for number, key in enumerate(keys, 1):
        place = word(aging_seed, number)
        lowered = {(scale(place, m) + i) % m for i in range(decrements)}
        if drawn:
            lowered = set()
            for i, last in enumerate(range(m - decrements, m), 1):
                at = scale(word(place, i), last + 1)
                lowered.add(last if at in lowered else at)
        for at in lowered:
            cells[at] = max(cells[at] - 1, 0)
        for at in positions(scheme, xxh3(key, mark), m, k):
            cells[at] = 2**width - 1
    params = struct.pack("<QQQ", decrements, aging_seed, len(keys)) + struct.pack("<Q", 1) * drawn
    return container(pack_counters(cells, width), 6, m, k, scheme, width, mark=mark, params=params)


def a2(keys, scheme, m, k, window, mark):
    """Kind 7: two sets of positions, of which the active one takes up to `window` keys."""
    buffers, active, count = [set(), set()], 0, 0
    for key in keys:
        at = set(positions(scheme, xxh3(key, mark), m, k))
        if at <= buffers[active]:
            continue
        if count == window:
            active, count = 1 - active, 0
            buffers[active] = set()
        buffers[active] |= at
        count += 1
    cells = [(i in buffers[0]) + 2 * (i in buffers[1]) for i in range(m)]
    params = struct.pack("<QQQ", window, count, active)
    return container(pack_counters(cells, 2), 7, m, k, scheme, 2, mark=mark, planned=window, fpp=0.01, params=params)


def choice(keys, scheme, m, k, c, mark):
    """Kind 8 with groups: each key, in turn, takes the first of the groups that set the fewest new bits."""
    bits, items = set(), 0
    for key in keys:
        d = xxh3(key, mark)
        groups = [set(positions(scheme, word(d, 255 + g) if g else d, m, k)) for g in range(c)]
        best = min(groups, key=lambda group: len(group - bits))
        items += not best <= bits
        bits |= best
    return container(pack_bits(bits, m), 8, m, k, scheme, mark=mark, items=items, params=bytes([0, c]))


def turned(scheme, d, cells, k, byte):
    """The bits of a key whose partition has this byte."""
    turn = [byte + max(i - 2, 0) * 17 * (byte // 64) for i in range(k)]
    return {at // 64 * 64 + (at + by) % 64 for at, by in zip(positions(scheme, d, cells, k), turn)}


def choice_partitioned(keys, scheme, m, k, partitions, passes, mark):
    """Kind 8 with partitions: in turn each takes the byte with which its keys set the fewest bits, the first of several."""
    cells, table = m - 8 * partitions, [0] * partitions
    members = [[] for _ in table]
    for key in keys:
        d = xxh3(key, mark)
        half = (d << 32 | d >> 32) & MASK
        members[8 * scale(half, partitions // 8) + d % 8].append(d)
    own = [set() for _ in table]
    for _ in range(passes):
        for p, digests in enumerate(members):
            uses = [0] * cells
            for at in (at for other, bits in enumerate(own) if other != p for at in bits):
                uses[at] = 1
            sets = [set().union(*(turned(scheme, d, cells, k, byte) for d in digests)) for byte in range(256)]
            table[p] = min(range(256), key=lambda byte: sum(not uses[at] for at in sets[byte]))
            own[p] = sets[table[p]]
    payload = pack_bits(set().union(*own), cells) + bytes(table)
    params = struct.pack("<BQ", 1, partitions)
    return container(payload, 8, m, k, scheme, mark=mark, items=len(keys), params=params)


def code_length(value, order):
    return 2 * (value - 1 + 2**order).bit_length() - 1 - order


def compact_group(values):
    """512 counters: planes, lengths of blocks, order, and the blocks."""
    if not any(values):
        return b""
    order = min(range(32), key=lambda k: (sum(code_length(v, k) for v in values if v), k))
    blocks, planes = [], b""
    for start in range(0, 512, 64):
        block = values[start : start + 64]
        planes += struct.pack("<Q", sum(1 << i for i, v in enumerate(block) if v))
        unary, low = "", ""  # from the lowest bit on; `low` from the highest bit down
        for value in filter(None, block):
            number = value - 1 + 2**order
            width = number.bit_length() - 1
            unary += "0" * (width - order) + "1"
            low += format(number - 2**width, f"0{width}b") if width else ""
        size = -(-(len(unary) + len(low)) // 8)
        bits = unary.ljust(8 * size - len(low), "0") + low[::-1]
        blocks.append(bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, 8 * size, 8)))
    lengths = [len(block) for block in blocks]
    wide = max(lengths) > 255
    head = bytes(length % 256 for length in lengths) + bytes([order, wide])
    head += bytes(length // 256 for length in lengths) if wide else b""
    group = planes + head + b"".join(blocks)
    return group + bytes(-len(group) % 8)


def compact(values):
    """The canonical form of compact counters."""
    values = values + [0] * (-len(values) % 4096)
    directory, body = b"", b""
    for start in range(0, len(values), 4096):
        groups = [compact_group(values[i : i + 512]) for i in range(start, start + 4096, 512)]
        ends = [sum(map(len, groups[: i + 1])) // 8 for i in range(8)]
        directory += struct.pack("<Q8H", len(body) // 8, *ends)
        body += b"".join(groups)
    return directory + body


def spectral(policy, entries, scheme, m, k, width, seed, secondary=(0, 0), marker=False, packed=False, printed=False):
    """Kind 5 by minimum selection (1), minimum increase (2) or recurring minimum (3)."""
    m2, k2 = secondary
    cells, second, marks, top = [0] * m, [0] * m2, [0] * m, 2**width - 1
    for key, times in entries:
        d = xxh3(key, seed)
        at = set(positions(scheme, d, m, k))
        least = min(cells[i] for i in at)
        for i in at:
            cells[i] = min(max(cells[i], least + times) if policy == 2 else cells[i] + times, top)
        if policy != 3:
            continue
        least = min(cells[i] for i in at)
        recurs = sum(cells[i] == least for i in at) >= 2
        at2 = set(positions(scheme, word(d, 256), m2, k2))
        at3 = set(positions(scheme, word(d, 257), m, k))
        if marker and all(marks[i] for i in at3):
            share = times
        elif recurs:
            share = 0
        elif not marker and all(second[i] for i in at2):
            share = times
        else:
            share = least
        for i in at2:
            second[i] = min(second[i] + share, top)
        if share:
            for i in at3:
                marks[i] = 1
    params = struct.pack("<BBBBIQ", policy, packed, marker, printed, k2, m2)
    if packed:
        first = compact(cells)
        payload = struct.pack("<Q", len(first) // 8) + first + (compact(second) if policy == 3 else b"")
    else:
        payload = pack_counters(cells, width) + pack_counters(second, width)
    if marker:
        payload += pack_counters(marks, 1)
    return container(payload, 5, m, k, scheme, width, mark=seed, params=params)


def retouched(elements, trouble, scheme, m, k, seed):
    """Kind 19: for each troublesome key that is still found, clear the bit with the fewest elements per troublesome key.
    Keys are chosen so that no two bits tie: then the random choice among equals does not matter."""
    at = lambda key: list(dict.fromkeys(positions(scheme, xxh3(key, seed), m, k)))
    bits = {i for key in elements for i in at(key)}
    count = lambda keys, i: sum(i in at(key) for key in keys)
    cleared = 0
    for key in trouble:
        if all(i in bits for i in at(key)):
            prices = sorted((count(elements, i) / count(trouble, i), i) for i in at(key))
            assert len(prices) == 1 or prices[0][0] < prices[1][0], "a tie"
            bits.remove(prices[0][1])
            cleared += 1
    lost = sum(not all(i in bits for i in at(key)) for key in elements)
    assert cleared and lost
    params = struct.pack("<QQQ", cleared, len(elements), lost)
    return container(pack_counters([i in bits for i in range(m)], 1), 19, m, k, scheme, 1, mark=seed, params=params)


def near_tokens(sets, functions, samples, array, threshold, seed):
    """Kind 20 in Jaccard space: least values of a word of each token, and a bit of their digest in each array."""
    bits = [0] * (functions * array)
    for tokens in sets:
        digests = [xxh3(token, seed) for token in tokens]
        for f in range(functions):
            least = [min(word(d, 1 + f * samples + i) for d in digests) for i in range(samples)]
            value = xxh3(struct.pack(f"<{samples}Q", *least), seed)
            bits[f * array + scale(word(value, 1 + f), array)] = 1
    params = struct.pack("<QQQQdd", 2, 0, samples, threshold, 0.0, 1.0)
    return container(pack_counters(bits, 1), 20, functions * array, functions, 0, 1, mark=seed, params=params)


def near_bits(points, dimension, functions, samples, array, threshold, seed=None):
    """Kind 20 in Hamming space: coordinates from words of the seed, or from the secret if there is none."""
    bits = [0] * (functions * array)
    keyed = seed is None
    drawn = lambda i: sip13(b"gardenia sample " + struct.pack("<Q", i)) if keyed else word(seed, i)
    for point in points:
        number = int.from_bytes(point, "little")
        for f in range(functions):
            sampled = 0
            for i in range(samples):
                sampled |= (number >> scale(drawn(1 + f * samples + i), dimension) & 1) << i
            sampled = sampled.to_bytes(-(-samples // 8), "little")
            value = sip13(sampled) if keyed else xxh3(sampled, seed)
            bits[f * array + scale(word(value, 1 + f), array)] = 1
    space, hasher, mark = (3, 2, sip13(b"gardenia secret id")) if keyed else (1, 1, seed)
    params = struct.pack("<QQQQdd", space, dimension, samples, threshold, 0.0, 1.0)
    return container(pack_counters(bits, 1), 20, functions * array, functions, 0, 1, hasher, mark, params=params)


P61 = 2**61 - 1


def drawn(seed, i):
    """A number below P61: 61 bits of word i of the seed."""
    return (word(seed, i) >> 3) % P61


def columns_of(digest, seed, form, rows, copies, w):
    """The column of a key in each row of a Count-Min sketch."""
    linear = lambda i: (drawn(seed, 2 * i + 1) * digest + drawn(seed, 2 * i + 2)) % P61 % w
    if form == 1:
        return [linear(row) for row in range(rows)]
    depth = rows // copies
    return [(linear(2 * copy) + j * linear(2 * copy + 1)) % w for copy in range(copies) for j in range(depth)]


class Cells:
    """A row of counters [first cell, cells, value], which merge if their width is below 32."""

    def __init__(self, w, width):
        self.width, self.most = width, 8 if width < 32 else 1
        self.stride = -(-w // 64) * 64 if width < 32 else -(-w // (64 // width)) * (64 // width)
        self.counters = {at: [at, 1, 0] for at in range(self.stride)}

    def get(self, at):
        return self.counters[at][2]

    def put(self, at, value, join):
        first, cells, _ = self.counters[at]
        while value >= 2 ** (self.width * cells):
            if cells == self.most:
                value = 2 ** (self.width * cells) - 1
                break
            cells *= 2
            buddy = (first // (cells // 2)) ^ 1
            start = buddy * (cells // 2)
            theirs = {id(self.counters[i]): self.counters[i][2] for i in range(start, start + cells // 2)}.values()
            value = join([value, *theirs])
            first = first // cells * cells
        counter = [first, cells, value]
        for i in range(first, first + cells):
            self.counters[i] = counter

    def bits(self):
        """All cells as one number, the first at its low end, and all marks as another."""
        cells = marks = 0
        for at, (first, count, value) in self.counters.items():
            if at == first and value:
                cells |= value << at * self.width
            if at % 2 == 0 and count > 1:
                marks |= (count.bit_length() - 1) << at
        return cells, marks


def number_words(number, count):
    return [number >> 64 * i & MASK for i in range(count)]


class CountMin:
    def __init__(self, form, policy, rows, copies, w, width, **options):
        self.shape, self.policy, self.width, self.options = (form, rows, copies, w), policy, width, options
        self.digest, self.seed = digester(**options), options.get("mark", 0)
        self.table, self.total = [Cells(w, width) for _ in range(rows)], 0

    def add(self, key, weight):
        """Counts more of a key; its estimate afterwards."""
        self.total += weight
        at = list(zip(self.table, columns_of(self.digest(key) % P61, self.seed, *self.shape)))
        least = min(row.get(column) for row, column in at)
        for row, column in at:
            if self.policy == 1:
                row.put(column, row.get(column) + weight, sum)
            else:
                row.put(column, max(row.get(column), least + weight), max)
        return min(row.get(column) for row, column in at)

    def words(self):
        stride = self.table[0].stride
        words = [word for row in self.table for word in number_words(row.bits()[0], stride * self.width // 64)]
        if self.width < 32:
            words += [word for row in self.table for word in number_words(row.bits()[1], stride // 64)]
        return words

    def stored(self, kind, payload, params=b""):
        form, rows, copies, w = self.shape
        params = struct.pack("<BBHIQ", form, self.policy, copies, 0, self.total) + params
        return container(payload, kind, rows * w, rows, width=self.width, params=params, **self.options)


def count_min(weights, *shape, **options):
    sketch = CountMin(*shape, **options)
    for key, weight in weights:
        sketch.add(key, weight)
    return sketch.stored(9, words_bytes(sketch.words()))


def top(weights, slots, *shape, **options):
    """Kind 22: candidates are counted beside the sketch, and all other keys in it."""
    sketch, candidates, floor, total = CountMin(*shape, **options), [], 0, 0
    for key, weight in weights:
        total += weight
        known = [candidate for candidate in candidates if candidate["key"] == key]
        if known:
            for bound in ("lower", "upper", "owed"):
                known[0][bound] += weight
            continue
        new = {"key": key, "lower": weight, "upper": sketch.add(key, weight), "owed": 0}
        if len(candidates) < slots:
            candidates.append(new)
            continue
        place = min(range(slots), key=lambda place: (candidates[place]["upper"], place))
        if new["upper"] > candidates[place]["upper"]:
            new, candidates[place] = candidates[place], new
            sketch.add(new["key"], new["owed"])
        floor = max(floor, new["upper"])
    keys = b"".join(candidate["key"] for candidate in candidates)
    table = b"".join(struct.pack("<4Q", c["lower"], c["upper"], c["owed"], len(c["key"])) for c in candidates)
    params = struct.pack("<4Q", slots, len(candidates), floor, total)
    return sketch.stored(22, words_bytes(sketch.words()) + table + keys + bytes(-len(keys) % 8), params)


def range_count_min(weights, bits, epsilon, delta, seed):
    """Kind 23: a sketch for each length of a common prefix, or an array where that is no larger than a row."""
    w, rows = math.ceil(math.e / (epsilon / (2 * bits))), math.ceil(-math.log(delta))
    payload = b""
    for level in range(bits):
        if 2 ** (bits - level) <= w:
            counts = [0] * 2 ** (bits - level)
            for number, weight in weights:
                counts[number >> level] += weight
            payload += words_bytes(counts)
        else:
            sketch = CountMin(1, 1, rows, 1, w, 32, mark=word(seed, level + 1))
            for number, weight in weights:
                sketch.add(struct.pack("<Q", number >> level), weight)
            payload += words_bytes(sketch.words())
    params = struct.pack("<2Q", bits, sum(weight for _, weight in weights))
    return container(payload, 23, rows * w, rows, width=32, params=params, mark=seed)


def count_sketch(weights, rows, w, **options):
    digest, seed = digester(**options), options.get("mark", 0)
    table = [0] * (rows * w)
    for key, weight in weights:
        x = digest(key) % P61
        for row in range(rows):
            a, b, *sign = [drawn(seed, 6 * row + i) for i in range(1, 7)]
            value = sum(c * x ** (3 - i) for i, c in enumerate(sign)) % P61
            table[row * w + (a * x + b) % P61 % w] += weight if value % 2 else -weight
    return container(words_bytes([cell & MASK for cell in table]), 10, rows * w, rows, width=64, **options)




def fold(value, factor):
    product = value * factor
    return (product >> 64) ^ (product & MASK)


RIBBONS = {  # w: slots of a bucket, thresholds, load, slack
    64: (128, (0, 21, 51, 128), 1.03, 1.10),
    128: (512, (0, 48, 128, 512), 1.02, 1.05),
}


def ribbon_row(value, w):
    """Coefficients, lowest first, and fingerprint of 32 bits."""
    row = fold(value, 0xBF58476D1CE4E5B9) | 1
    if w == 128:
        row |= fold(value, 0x94D049BB133111EB) << 64
    return row, (value * 0x9E3779B97F4A7C15 & MASK) >> 32


class Echelon:
    """Equations over GF(2), each beginning at another slot. Coefficients are an integer whose bit i is slot i."""

    def __init__(self):
        self.rows = {}

    def add(self, row, value):
        """The slot that the equation takes, -1 if it holds already, None if it cannot be met."""
        while row:
            first = (row & -row).bit_length() - 1
            if first not in self.rows:
                self.rows[first] = (row, value)
                return first
            other, other_value = self.rows[first]
            row, value = row ^ other, value ^ other_value
        return -1 if value == 0 else None

    def solve(self, r):
        """One integer for each bit of the fingerprint: bit i is slot i. Slots without an equation are 0."""
        columns = [0] * r
        for first in sorted(self.rows, reverse=True):
            row, value = self.rows[first]
            for j in range(r):
                if ((row & columns[j]).bit_count() + (value >> j)) % 2:
                    columns[j] |= 1 << first
        return columns


def ribbon_layer(values, w, r, segments, blocks, bumps):
    """The columns of each segment, the codes of all buckets, and the words of bumped keys."""
    bucket, thresholds, _, _ = RIBBONS[w]
    starts = 64 * blocks - w
    places = [[] for _ in range(segments)]
    for value in sorted(values):
        segment, rest = divmod(value * segments, WORD)
        places[segment].append((rest * starts >> 64, value))
    columns, codes, bumped = [], [], []
    for keys in places:
        system = Echelon()
        if not bumps:
            for start, value in keys:
                row, print_ = ribbon_row(value, w)
                if system.add(row << start, print_ % 2**r) is None:
                    return None
        for number in range(64 * blocks // bucket if bumps else 0):
            here = [(s % bucket, s, value) for s, value in keys if s // bucket == number]
            code, taken = 0, []
            for offset, start, value in reversed(here):
                row, print_ = ribbon_row(value, w)
                slot = system.add(row << start, print_ % 2**r)
                if slot is None:
                    code = next(c for c in range(4) if thresholds[c] > offset)
                    for before, slot in taken:
                        if before < thresholds[code] and slot >= 0:
                            del system.rows[slot]
                    break
                taken.append((offset, slot))
            bumped += [value for offset, _, value in here if offset < thresholds[code]]
            codes.append(code)
        columns.append(system.solve(r))
    return columns, codes, bumped


def ribbon(keys, r, share, mark=0, **options):
    """Kind 13."""
    w = 64 if r > 3 else 128
    bucket, _, load, slack = RIBBONS[w]
    before = {xxh3(key, mark) for key in keys}
    items, slots, params, solutions, thresholds = len(before), 0, b"", b"", b""
    while True:
        bumps = len(before) > 2048
        attempt = first_attempt = int(params != b"")
        while True:
            if bumps:
                wanted = int(len(before) / load)
                segments = max((wanted + 2**15) // 2**16, 1)
                blocks = wanted // segments // 64 + 1
                blocks += -blocks % (bucket // 64)
            elif attempt == first_attempt:
                segments, blocks = 1, int(len(before) * slack) // 64 + w // 64 + 1
            else:
                blocks += blocks // 16 + 1
            values = {word(value, attempt) for value in before}
            solved = ribbon_layer(values, w, r, segments, blocks, bumps)
            if solved is not None and len(solved[2]) <= len(before) // 4:
                break
            attempt += 1
        columns, codes, bumped = solved
        # How many blocks have all r words: the fewest that give this share of all starts all bits.
        starts, full = 64 * blocks - w, segments * blocks
        if share < 1:
            needed = math.ceil(share * (segments * starts))
            count = lambda full: sum(
                sum(64 for b in range(blocks - w // 64) if s * blocks + b + w // 64 < full) for s in range(segments)
            )
            full = next(f for f in range(full + 1) if count(f) >= needed)
        for block in range(segments * blocks):
            for column in columns[block // blocks][: r if block < full else r - 1]:
                solutions += struct.pack("<Q", column >> 64 * (block % blocks) & MASK)
        words = [0] * -(-len(codes) // 32)
        for at, code in enumerate(codes):
            words[at // 32] |= code << 2 * (at % 32)
        thresholds += words_bytes(words)
        params += struct.pack("<IIIIQ", segments, blocks, attempt, 0, full)
        slots += segments * blocks * 64
        if not bumps:
            break
        before = set(bumped)
    fpp = (2 - share) / 2**r
    return container(
        solutions + thresholds, 13, slots, w, 0, r, mark=mark, planned=items, fpp=fpp, items=items, params=params, **options
    )




def pack_cells(values, width):
    """Cells of `width` bits, one right behind the other, as words."""
    number = sum(value << at * width for at, value in enumerate(values))
    return number.to_bytes(-(-len(values) * width // 64) * 8, "little")


def fuse_shape(n, k):
    """Logarithm of the segment's length, and segments that a key can begin with."""
    log = math.log(max(n, 2))
    bits = math.floor(log / math.log(3.33) + 2.25 if k == 3 else log / math.log(2.91) - 0.5)
    bits = min(max(bits, 2), 18)
    factor = max(1.125, 0.875 + 0.25 * math.log(1e6) / log) if k == 3 else max(1.075, 0.77 + 0.305 * math.log(6e5) / log)
    return bits, max(-(-round(n * factor) // 2**bits), k) - (k - 1)


def fuse_cells(digest, attempt, k, bits, starts):
    """The cells of a key, and the low half of its product."""
    product = digest * (word(0, attempt + 1) | 1 << 63 | 1)
    low, high = product & MASK, product >> 64
    first = scale(low, starts << bits)
    places = [0] + [high >> 18 * i & 2**bits - 1 for i in range(k - 1)]
    return [first + (i << bits) ^ place for i, place in enumerate(places)], low


def fuse_order(keys, bits, starts, k):
    """(key, own cell) in the order of peeling: the halves from their ends inwards, segment by segment, then the rest."""
    m = starts + k - 1 << bits
    users = [set() for _ in range(m)]
    for key, cells in keys.items():
        for cell in cells:
            users[cell].add(key)
    taken = []

    def drain(queue, low, high, later):
        for cell in queue:
            if len(users[cell]) != 1:
                continue
            (key,) = users[cell]
            if keys[key][0] < low or keys[key][-1] >= high:
                later.append(cell)
                continue
            taken.append((key, cell))
            for other in keys[key]:
                if len(users[other]) == 2:
                    queue.append(other)  # the loop goes on to it
                users[other].discard(key)

    middle = starts // 2 << bits if starts >= 16 else 0
    later = []
    for low, high, step in ((0, middle, 1), (middle, m, -1)):
        for segment in list(range(low >> bits, high >> bits))[::step]:
            first = segment << bits
            drain([c for c in range(first, first + 2**bits) if len(users[c]) == 1], low, high, later)
    drain(later, 0, m, [])
    return taken


def fuse_solve(digests, k):
    """The first attempt that peels: its number, shape, cells and products of keys, and the order."""
    bits, starts = fuse_shape(len(digests), k)
    for attempt in range(100):
        found = {digest: fuse_cells(digest, attempt, k, bits, starts) for digest in digests}
        cells = {digest: cells for digest, (cells, _) in found.items()}
        order = fuse_order(cells, bits, starts, k)
        if len(order) == len(digests):
            return attempt, bits, starts + k - 1 << bits, found, order


def fuse_table(m, found, order, want):
    table = [0] * m
    for digest, own in reversed(order):
        value = want(digest, own)
        for cell in found[digest][0]:
            value ^= table[cell]
        table[own] = value
    return table


def binary_fuse(keys, k, width, mark):
    """Kind 11."""
    digests = {xxh3(key, mark) for key in keys}
    attempt, bits, m, found, order = fuse_solve(digests, k)
    table = fuse_table(m, found, order, lambda digest, _: found[digest][1] % 2**width)
    params, fpp = bytes([attempt, bits]), 2.0**-width + len(digests) * 2.0**-64
    items = len(digests)
    return container(
        pack_cells(table, width), 11, m, k, 0, width, mark=mark, planned=items, fpp=fpp, items=items, params=params
    )


def bloomier(entries, k, value_bits, check_bits, mark, mutable):
    """Kind 12: a map that stays as it is, or one whose values can be changed."""
    values = {xxh3(key, mark): value for key, value in entries}
    attempt, bits, m, found, order = fuse_solve(values, k)
    width = (2 if mutable else value_bits) + check_bits
    side = lambda digest, own: found[digest][0].index(own)
    legal = side if mutable else lambda digest, own: values[digest]
    payload = pack_cells(fuse_table(m, found, order, lambda d, own: (word(d, 1) ^ legal(d, own)) % 2**width), width)
    if mutable:
        second = [0] * m
        for digest, own in order:
            second[own] = values[digest]
        payload, width = payload + pack_cells(second, value_bits), width + value_bits
    params = bytes([mutable, value_bits, check_bits, attempt, bits])
    items = len(values)
    return container(
        payload, 12, m, k, 0, width, mark=mark, planned=items, fpp=2.0**-check_bits, items=items, params=params
    )


class BitString:
    """Bits from the lowest of each word on."""

    def __init__(self):
        self.value, self.length = 0, 0

    def put(self, number, bits):
        self.value |= number << self.length
        self.length += bits


def golomb_set(keys, runs, span, divisor, **options):
    """Kind 15. Numbers below runs*span; each run of `span` numbers is coded on its own."""
    digest = digester(**options)
    digests = {digest(key) for key in keys}
    numbers = sorted({d * runs * span >> 64 for d in digests})
    width = (divisor - 1).bit_length()
    short = 2**width - divisor
    code, ends = BitString(), []
    for run in range(runs):
        least = run * span
        for number in [n for n in numbers if n // span == run]:
            quotient, rest = divmod(number - least, divisor)
            code.put(1 << quotient, quotient + 1)
            if width and rest < short:
                code.put(rest, width - 1)
            elif width:
                code.put((rest + short) // 2, width - 1)
                code.put((rest + short) % 2, 1)
            least = number + 1
        ends.append(code.length)
    groups = [ends[i : i + 16] for i in range(0, runs, 16)]
    starts = [0] + [group[-1] for group in groups]
    longest = max(group[-1] - start for group, start in zip(groups, starts))
    entry = next(bits for bits in (16, 32, 64) if longest < 2**bits)
    index = []
    for group, start in zip(groups, starts):
        entries = sum((end - start) << i * entry for i, end in enumerate(group))
        index += [start] + number_words(entries, 16 * entry // 64)
    words = index + number_words(code.value, code.length // 64 + 2)
    params = struct.pack("<QQQQ", len(numbers), span, divisor, code.length)
    return container(words_bytes(words), 15, runs, 1, width=entry, items=len(digests), params=params, **options)


def symbol_intervals(m, ones):
    """For each byte its frequency and that of all before it, of 2**24; and whether bits are inverted."""
    invert = ones > m // 2
    p = ((m - ones if invert else ones) << 32) // m

    def frequency(j):
        x = 2**32
        for i in range(8):
            x = x * (p if i < j else 2**32 - p) >> 32
        return max(x >> 8, 1)

    order = sorted(range(256), key=lambda byte: (byte.bit_count(), byte))
    each = {byte: frequency(byte.bit_count()) for byte in order}
    each[0] = 2**24 - sum(each[byte] for byte in order[1:])
    before, table = 0, {}
    for byte in order:
        table[byte] = (before, each[byte])
        before += each[byte]
    return table, invert


def range_code(data, table):
    """The interval as a fraction of one big number: carries need no care."""
    low, width, given = 0, 2**64 - 1, 0
    for byte in data:
        before, frequency = table[byte]
        unit = width >> 24
        low, width = low + unit * before, unit * frequency
        if width < 2**32:
            low, width, given = low << 32, width << 32, given + 1
    return [low >> 32 * i & 0xFFFFFFFF for i in reversed(range(given + 2))]


def compressed(keys, scheme, m, k, **options):
    """Kind 16: a Bloom filter whose bits are range-coded."""
    digest = digester(**options)
    bits = 0
    for key in keys:
        for at in positions(scheme, digest(key), m, k):
            bits |= 1 << at
    ones = bits.bit_count()
    table, invert = symbol_intervals(m, ones)
    data = bits.to_bytes(-(-m // 8), "little")
    code = range_code([byte ^ 0xFF for byte in data] if invert else data, table)
    payload = b"".join(struct.pack("<I", half) for half in code + [0] * (len(code) % 2))
    return container(payload, 16, m, k, scheme, params=struct.pack("<Q", ones), **options)




def cuckoo(keys, m, width, mark=0, **options):
    """Kind 14: fingerprints in the emptier of two buckets; if both are full the nearest free place is searched."""
    table = [[0] * 4 for _ in range(m)]

    def other(bucket, print_):
        return (2 * scale(print_ * print_ * 0x94D049BB133111EB & MASK, m // 2) + 1 - bucket) % m

    def free(bucket):
        return table[bucket].index(0) if 0 in table[bucket] else 4

    for key in keys:
        d = xxh3(key, mark)
        print_ = 1 + (((d * 0x94D049BB133111EB & MASK) >> 32) * (2**width - 1) >> 32)
        first = scale(d, m)
        second = other(first, print_)
        bucket = second if free(second) < free(first) else first
        if free(bucket) == 4:
            # Breadth first from both; a way is a list of (bucket, slot) whose fingerprints each move to the next.
            queue, way = [(first, []), (second, [])], None
            for at, before in queue:
                for slot in range(4):
                    there = other(at, table[at][slot])
                    queue.append((there, before + [(at, slot)]))
                    if free(there) < 4 and way is None:
                        way = queue[-1][1] + [(there, free(there))]
                if way:
                    break
            for (a, i), (b, j) in reversed(list(zip(way, way[1:]))):
                table[b][j] = table[a][i]
                table[a][i] = 0
            bucket = way[0][0]
            assert free(bucket) == way[0][1]
        table[bucket][free(bucket)] = print_
    bits = sum(print_ << width * i for i, print_ in enumerate(p for bucket in table for p in bucket))
    payload = words_bytes(number_words(bits, -(-4 * m * width // 64) + 1))
    return container(payload, 14, 4 * m, 2, width=width, mark=mark, items=len(keys), **options)


def quotient(keys, m, width, mark=0, **options):
    """Kind 21: all fingerprints in order, each in its slot or in the next free one; after the last slot comes the first."""
    r = width - 3
    prints = sorted(scale(xxh3(key, mark), m << r) for key in keys)
    carried = 0  # slots at the start that runs from the end lie in
    while True:
        places, free = [], carried
        for print_ in prints:
            places.append(max(free, print_ >> r))
            free = places[-1] + 1
        if carried == max(0, free - m):
            break
        carried = max(0, free - m)
    slots, before = [0] * m, None
    for print_, place in zip(prints, places):
        own = print_ >> r
        slots[own] |= 1
        slots[place % m] |= (print_ % 2**r) << 3 | 2 * (own == before) | 4 * (place != own)
        before = own
    return container(pack_cells(slots, width), 21, m, 1, width=width, mark=mark, items=len(keys), **options)


def scalable(keys, scheme, fpp, tightening, growth, first, shapes, mark=0):
    """Kind 17 with slices of these (bits, hashes), which are sized elsewhere and only stored."""
    slices = [set()]
    counts = [0]
    for key in keys:
        d = xxh3(key, mark)
        at = [set(positions(scheme, word(d, 256 * i), m, k)) for i, (m, k) in enumerate(shapes)]
        if any(at[i] <= bits for i, bits in enumerate(slices)):
            continue
        if counts[-1] == first * growth ** (len(slices) - 1):
            slices.append(set())
            counts.append(0)
        slices[-1] |= at[len(slices) - 1]
        counts[-1] += 1
    assert len(slices) == len(shapes)
    params = struct.pack("<ddQQ", fpp, tightening, growth, first)
    params += b"".join(struct.pack("<QQQ", m, k, n) for (m, k), n in zip(shapes, counts))
    payload = b"".join(pack_bits(bits, m) for bits, (m, _) in zip(slices, shapes))
    m, k = shapes[0]
    return container(payload, 17, m, k, scheme, mark=mark, fpp=fpp, items=sum(counts), params=params)


def scalable_blocked(keys, fpp, tightening, growth, first, shapes, mark=0):
    """Kind 27, with slices of these (bits, hashes)."""
    slices, counts = [set()], [0]
    for key in keys:
        d = xxh3(key, mark)
        at = [set(blocked_positions(d, m // 512, k)) for m, k in shapes]
        if any(at[i] <= bits for i, bits in enumerate(slices)):
            continue
        if counts[-1] == first * growth ** (len(slices) - 1):
            slices.append(set())
            counts.append(0)
        slices[-1] |= at[len(slices) - 1]
        counts[-1] += 1
    assert len(slices) == len(shapes)
    params = struct.pack("<ddQQ", fpp, tightening, growth, first)
    params += b"".join(struct.pack("<QQQ", m, k, n) for (m, k), n in zip(shapes, counts))
    payload = b"".join(pack_bits(bits, m) for bits, (m, _) in zip(slices, shapes))
    m, k = shapes[0]
    return container(payload, 27, m, k, mark=mark, planned=first, fpp=fpp, items=sum(counts), params=params)


def infini_rule(fpp, items, most):
    """Bits of a slot, first depth, and the keys of a page by its generation."""

    def capacity(share, width):
        return int(min(2 * share * fpp * 2.0 ** (4 + width), 768)) // 16 * 16

    def depth(page):
        return max(0, (-(-items // max(page, 1)) - 1).bit_length())

    for width, fewest in ((16, 128), (32, 16)):
        if most:
            doublings = next(
                (g for g in range(64) if capacity(1 / (g + 2), width) >= fewest
                 and most <= capacity(1 / (g + 2), width) << depth(capacity(1 / (g + 2), width)) + g), None
            )
            if doublings is None:
                continue
            share = lambda generation: 1 / (doublings + 2)
        else:
            share = lambda j: 0.05 if j <= 15 else 0.15 / ((j - 15.0) * (j - 15.0 + 1))
        if capacity(share(0), width) >= fewest:
            return width, depth(capacity(share(0), width)), lambda j, w=width: max(16, capacity(share(j), w))


def infini(keys, gone, fpp, items=1, most=0, mark=0, planned=0):
    """Kind 26: keys go in, then those of `gone` come out. A fingerprint is a string of bits after those of its bucket."""
    width, first, page_size = infini_rule(fpp, items, most)
    pages = {}  # from prefixes to 32 lists of fingerprints
    for number in range(2**first):
        pages[format(number, f"0{first}b") if first else ""] = [[] for _ in range(32)]

    def find(bits):
        return next(bits[:depth] for depth in range(65) if bits[:depth] in pages)

    def place(bits, prefix):
        rest = bits[len(prefix):]
        return int(rest[:5], 2), rest[5 : 5 + width - 1]

    def split(prefix):
        halves = {prefix + "0": [[] for _ in range(32)], prefix + "1": [[] for _ in range(32)]}
        for bucket, prints in enumerate(pages.pop(prefix)):
            half = halves[prefix + format(bucket, "05b")[0]]
            for print_ in prints:
                for bit in print_[:1] or "01":
                    half[bucket % 16 * 2 + int(bit)].append(print_[1:])
        pages.update(halves)

    for key in keys:
        bits = format(xxh3(key, mark), "064b")
        while True:
            prefix = find(bits)
            held = sum(map(len, pages[prefix]))
            widest = max(map(len, pages))
            deeper = len(prefix) < widest or 2 ** (widest + 1) <= max(1024, 16 * len(pages))
            full = held % 16 == 0 and held >= page_size(len(prefix) - first)
            if not (full and deeper and len(prefix) < 65 - 5 - width):
                break
            split(prefix)
        bucket, print_ = place(bits, prefix)
        pages[prefix][bucket].append(print_)
    for key in gone:
        bits = format(xxh3(key, mark), "064b")
        bucket, print_ = place(bits, find(bits))
        prints = pages[find(bits)][bucket]
        prints.remove(max((p for p in prints if print_.startswith(p)), key=len))
    payload = b""
    for prefix in sorted(pages):
        ends, slots = 0, []
        payload += struct.pack("<H", len(prefix))
        for prints in pages[prefix]:
            ends += len(prints)
            payload += struct.pack("<H", ends)
            slots += sorted(int((p + "1").ljust(width, "0"), 2) for p in prints)
        payload += struct.pack(f"<{ends}{'H' if width == 16 else 'I'}", *slots)
    payload += bytes(-len(payload) % 8)
    params = struct.pack("<dQQ", fpp, items, most)
    return container(
        payload, 26, 32 << first, 1, width=width, mark=mark, planned=planned, fpp=fpp, items=len(keys) - len(gone),
        params=params,
    )


def dynamic(keys, gone, scheme, m, k, width, capacity, mark=0):
    """Kind 18: keys go in, and those of `gone` come out if one layer alone claims them; then keys go in again."""
    layers = []
    counts = []

    def insert(key):
        active = next((i for i, n in enumerate(counts) if n < capacity), None)
        if active is None:
            active = len(layers)
            layers.append([0] * m)
            counts.append(0)
        for at in set(positions(scheme, xxh3(key, mark), m, k)):
            layers[active][at] = min(layers[active][at] + 1, 2**width - 1)
        counts[active] += 1

    for key in keys:
        insert(key)
    for key in gone:
        at = set(positions(scheme, xxh3(key, mark), m, k))
        claims = [i for i, cells in enumerate(layers) if all(cells[j] for j in at)]
        if len(claims) == 1:
            for j in at:
                layers[claims[0]][j] -= 1
            counts[claims[0]] -= 1
    for key in gone[:7]:
        insert(key)
    params = struct.pack(f"<{1 + len(counts)}Q", capacity, *counts)
    payload = b"".join(pack_counters(cells, width) for cells in layers)
    return container(payload, 18, m, k, scheme, width, mark=mark, planned=capacity, fpp=0.01, items=sum(counts), params=params)


def main():
    (HERE / "hashes.tsv").write_text("\n".join(hashes()) + "\n")
    (HERE / "positions.tsv").write_text("\n".join(all_positions()) + "\n")
    flowers = [b"rose", b"tulip", b"", b"\0", "Gänseblümchen".encode(), struct.pack("<q", -1)]
    keyed = dict(hasher=2, mark=sip13(b"gardenia secret id"), planned=100, fpp=0.01)
    many = flowers + [struct.pack("<q", n) for n in range(990)]
    files = {
        "bloom.gdn": bloom(flowers, 10, 1000, 7, planned=100, fpp=0.01, metadata=b"made elsewhere"),
        "bloom-double.gdn": bloom(flowers, 4, 999, 5, mark=7),
        "bloom-dcso.gdn": bloom(
            flowers, 11, 1001, 7, hasher=3, planned=100, fpp=0.01, items=6, metadata=b"from a list"
        ),
        "bloom-keyed.gdn": bloom(flowers, 10, 1000, 7, **keyed),
        "bloom-keyed-stored.gdn": bloom(flowers, 7, 1000, 7, flags=1, secret=SECRET, **keyed),
        "blocked.gdn": blocked(many, 20, 6, planned=1000, fpp=0.01),
        "blocked-two-bits.gdn": blocked(many, 70, 13, mark=3),
        "sbbf.gdn": split_block(many, 43, mark=5, planned=1000, fpp=0.01),
        "sbbf-xxh64.gdn": split_block(many, 64, hasher=4),
        "counting.gdn": counting(many + 20 * flowers[:2] + flowers, 10, 10_000, 7, 4),
        "counting-wide.gdn": counting(many + 1000 * flowers[:3], 2, 10_003, 7, 11, mark=5),
    }
    counts = dict(zip(flowers, (1000, 5, 16, 1, 37, 255)))
    often = [key for key in flowers for _ in range(counts[key])] + many
    mixed = [(999, 3, 3, 6), (300, 5, 1, 5), (400, 4, 6, 9)]
    files["bitwise.gdn"] = bitwise(often, [(12000, 5, 2, 6)], 10, 7, 0.5, 64, True)
    files["bitwise-placed.gdn"] = bitwise(counts.items(), mixed, 4, 0, 1.0, 3, False)
    # Streams whose last keys are the flowers. Two cells of a stable filter's word cross no border: 3 bits.
    numbers = [struct.pack("<q", n) for n in range(990)]
    files["stable.gdn"] = stable(numbers + flowers, 10, 1009, 5, 3, 61, 0x0123456789ABCDEF, 5)
    files["stable-drawn.gdn"] = stable(numbers + flowers, 10, 1009, 5, 3, 61, 0x0123456789ABCDEF, 5, True)
    files["a2.gdn"] = a2(numbers + numbers[700:800] + flowers, 10, 2999, 8, 256, 0)
    # Once in a hundred; bumped in two layers; with rows of 128 coefficients.
    numbers = [struct.pack("<q", n) for n in range(6000)]
    files["ribbon.gdn"] = ribbon(many, 7, 2 - 0.01 * 2**7)
    files["ribbon-bumped.gdn"] = ribbon(flowers + numbers, 8, 1, mark=9)
    files["ribbon-wide.gdn"] = ribbon(flowers + numbers, 3, 1)
    # Some keys come often, some again later.
    entries = [(key, 1 + i * i % 50) for i, key in enumerate(many)] + [(key, 3) for key in many[::3]]
    files |= {
        "spectral.gdn": spectral(1, entries, 10, 9000, 7, 12, 0),
        "spectral-increase.gdn": spectral(2, entries, 4, 10007, 6, 16, 5),
        "spectral-recurring.gdn": spectral(3, entries, 10, 9000, 7, 12, 0, (4500, 7), True),
        "spectral-recurring-bare.gdn": spectral(3, entries, 7, 9000, 7, 12, 0, (3001, 5)),
        "spectral-recurring-printed.gdn": spectral(3, entries, 12, 9000, 7, 12, 0, (3008, 5), printed=True),
        "spectral-compact.gdn": spectral(3, entries + [(b"rose", 5_000_000)], 10, 9000, 7, 32, 0, (4500, 7), True, True),
        "spectral-compact-plain.gdn": spectral(2, entries[:6], 10, 20000, 7, 32, 9, (0, 0), False, True),
    }
    weights = [(key, 1) for key in many] + [(key, 10 ** (i + 1)) for i, key in enumerate(flowers)]
    files |= {
        "count-min.gdn": count_min(weights, 1, 1, 4, 1, 272, 32),
        "count-min-wide.gdn": count_min(weights, 2, 2, 3, 1, 211, 64, mark=7),
        "count-min-merging.gdn": count_min(weights, 2, 2, 6, 2, 499, 4, mark=9),
        "count-min-merging-sum.gdn": count_min(weights, 1, 1, 3, 1, 700, 8, flags=1, secret=SECRET, hasher=2, mark=keyed["mark"]),
        "count-sketch.gdn": count_sketch(weights[:500] + [(key, -n) for key, n in weights[500:]], 5, 101, mark=4),
    }
    # Keys of many lengths, of which some come often and most have to leave.
    dots = [(b"." * (i * i % 97 * (i % 3)), 1 + i % 4) for i in range(2000)]
    places = [(word(i, 1) >> 44, 1 + i % 3) for i in range(500)]
    files |= {
        "top.gdn": top(dots, 20, 2, 2, 3, 1, 61, 8, mark=5),
        "top-exact.gdn": top(dots, 300, 1, 1, 2, 1, 10, 32, flags=1, secret=SECRET, hasher=2, mark=keyed["mark"]),
        "range-count-min.gdn": range_count_min(places, 20, 0.5, 0.3, 7),
    }
    sets = [[b"rose", b"tulip", b"daisy"], [b"tulip"], [b"nettle", b"thistle", b"rose", b"rose"]]
    files |= {
        "retouched.gdn": retouched(many[:60], [struct.pack("<q", n) for n in (2004, 2013, 2035, 2124)], 10, 300, 3, 2),
        "distance-jaccard.gdn": near_tokens(sets, 7, 3, 101, 4, 6),
        "distance-hamming.gdn": near_bits([bytes(range(20)), bytes(range(40, 60))], 157, 9, 11, 77, 5, 8),
        "distance-hamming-keyed.gdn": near_bits([bytes(range(20)), bytes(range(40, 60))], 157, 9, 11, 77, 5),
    }
    files |= {
        "choice.gdn": choice(many + flowers, 1, 16001, 11, 3, 7),
        "choice-one-by-one.gdn": choice(many, 10, 16000, 12, 2, 0),
        "choice-partitioned.gdn": choice_partitioned(flowers + numbers[:194], 10, 2048, 7, 48, 2, 3),
    }
    numbered = [(key, i * i % 200) for i, key in enumerate(many)]
    files |= {
        "fuse.gdn": binary_fuse(many + many[:99], 3, 8, 0),
        "fuse-four.gdn": binary_fuse(many, 4, 16, 9),
        "fuse-wide.gdn": binary_fuse(flowers, 3, 32, 0),
        "bloomier.gdn": bloomier(numbered, 3, 8, 11, 0, False),
        "bloomier-mutable.gdn": bloomier(numbered, 4, 13, 9, 5, True),
    }
    files |= {
        "golomb.gdn": golomb_set(many, 37, 2692, 69, planned=996, fpp=0.01),
        "golomb-rice.gdn": golomb_set(many, 5, 815_924, 2048, mark=3, planned=996, fpp=1 / 4096),
        "golomb-one-run.gdn": golomb_set(flowers, 1, 7, 1, planned=6, fpp=0.9),
        "compressed.gdn": compressed(many, 10, 14_000, 2, planned=1000, fpp=0.0177),
        "compressed-dense.gdn": compressed(many, 4, 1013, 3, mark=5),
    }
    # 996 keys in 1048 and 1040 places: many must be moved. 9 bits end in the middle of a byte, 19 take two words.
    files["cuckoo.gdn"] = cuckoo(many, 262, 9)
    files["cuckoo-wide.gdn"] = cuckoo(many, 260, 19, mark=3)
    files["quotient.gdn"] = quotient(many + flowers[:2] * 3, 1011, 9)
    files["quotient-wide.gdn"] = quotient(many[:20], 21, 27, mark=5)
    shapes = [(2047, 9), (4180, 10), (8544, 10)]
    files["scalable.gdn"] = scalable(many + many[:50], 10, 0.01, 0.85, 2, 150, shapes, mark=6)
    files["dynamic.gdn"] = dynamic(many, many[100:150], 10, 2879, 7, 4, 300, mark=2)
    shapes = [(2048, 7), (4096, 8), (8704, 8)]
    files["scalable-blocked.gdn"] = scalable_blocked(many + many[:50], 0.01, 0.85, 2, 150, shapes, mark=6)
    grown = [struct.pack("<q", number) for number in range(9_000)]
    files["infini.gdn"] = infini(grown, grown[:3_000:7], 0.01, mark=7)
    files["infini-wide.gdn"] = infini(many + many[:50], many[50:100], 1e-6, 600, 5_000, planned=600)
    for name, content in files.items():
        (HERE / name).write_bytes(content)


if __name__ == "__main__":
    main()
