#!/usr/bin/env python3
"""Computes the vectors beside it again, from docs/formats.md and without the library: the bytes and digests of all keys, and
the payload of each case from its filled spec, for the kinds that RECIPES has. Needs nothing but Python.

    python3 conformance/check.py
"""
import fractions
import hashlib
import ipaddress
import json
import math
import pathlib
import struct
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "crates/gardenia/tests/data"))
import hashing  # noqa: E402
import make_golden as golden  # noqa: E402

SCHEMES = "independent partition partition-prime double enhanced-square enhanced-cube enhanced triple partition-independent fractional dcso double-odd"
SCHEME = {name: number for number, name in enumerate(SCHEMES.split(), 1)}
POLICY = {"minimum-selection": 1, "minimum-increase": 2, "recurring-minimum": 3}
FORM = {"original": 1, "modified": 2}
RUN_BITS = 2400
UPDATE = {"plain": 1, "conservative": 2}


def key_bytes(key):
    """The canonical bytes of a key (docs/formats.md, "From a key to its cells")."""
    kind, value = key["type"], key["value"]
    if kind in ("text", "char"):
        return value.encode()
    if kind == "bytes":
        return bytes.fromhex(value)
    if kind in ("tuple", "list"):
        parts = [key_bytes(part) for part in value]
        return b"".join(struct.pack("<Q", len(part)) + part for part in parts)
    if kind in ("f32", "f64"):
        number = struct.unpack("<f", struct.pack("<f", float(value)))[0] if kind == "f32" else float(value)
        return struct.pack("<Q", 0x7FF8 << 48) if math.isnan(number) else struct.pack("<d", number + 0.0)
    if kind == "IpAddr":
        return ipaddress.ip_address(value).packed
    number = {"false": 0, "true": 1}[value] if kind == "bool" else int(value)
    if -(2**63) <= number < 2**64:
        return struct.pack("<Q", number % 2**64)
    return (number % 2**128).to_bytes(16, "little")


def digest(hasher, data):
    if hasher["hasher"] == "xxh3":
        return hashing.xxh3(data, int(hasher["seed"]))
    return hashing.sip13(data, bytes.fromhex(hasher["secret"]))


def check_keys():
    file = json.loads((HERE / "keys.json").read_text())
    for key in file["keys"]:
        data = key_bytes(key)
        same(data.hex(), key["bytes"], key)
        same([f"{digest(hasher, data):016x}" for hasher in file["hashers"]], key["digests"], key)
    return len(file["keys"])


def expand(rules):
    return [rule["text"].replace("{i}", str(i)).encode() for rule in rules for i in range(rule["from"], rule["to"])]


class Options:
    """The options of a filled spec."""

    def __init__(self, text):
        pairs = (word.partition("=") for word in text.split()[1:])
        self.given = {name: value for name, _, value in pairs}

    def __contains__(self, name):
        return name in self.given

    def __getattr__(self, name):
        value = self.given[name.replace("_", "-")]
        return int(value) if value.isdigit() else value

    @property
    def shape(self):
        return SCHEME[self.scheme], self.bits if "bits" in self else self.cells, self.hashes


def spectral(keys, o, _):
    secondary = (o.secondary_cells, o.secondary_hashes) if "secondary-cells" in o else (0, 0)
    marker = "secondary-cells" in o and "no-marker" not in o and "as-printed" not in o
    width = 32 if "compact" in o else o.width
    entries = [(key, 1) for key in keys]
    return golden.spectral(POLICY[o.policy], entries, *o.shape, width, o.seed, secondary, marker, "compact" in o, "as-printed" in o)


def count_min(keys, o, _):
    copies = o.copies if "copies" in o else 1
    weights = [(key, 1) for key in keys]
    return golden.count_min(
        weights, FORM[o.form], UPDATE[o.update], o.rows * copies, copies, o.columns, o.width, mark=o.seed
    )


def bloomier(keys, o, file):
    rule = file["values"]
    values = [n * rule["times"] % rule["modulo"] for n in range(len(keys))]
    width = o.value_bits if "value-bits" in o else max(values).bit_length()
    return golden.bloomier(list(zip(keys, values)), o.arity, width, o.check, o.seed, False)


def ribbon(keys, o, _):
    if "fingerprint" in o:
        return golden.ribbon(keys, o.fingerprint, 1, mark=o.seed)
    fpp = float(o.fpp)
    bits = math.ceil(-math.log2(fpp))
    return golden.ribbon(keys, bits, 2 - fpp * 2**bits, mark=o.seed)


def golomb_set(keys, o, _):
    """The library aims at runs of 2,400 bits; the divisor is that of Gallager and van Voorhis."""
    fpp = float(o.fpp)
    best = lambda theta: max(1, math.ceil(math.log(1 + theta) / -math.log(theta)))
    theta = 1 - fpp
    b = best(theta)
    width = (b - 1).bit_length()
    short, unary = 2**width - b, 1 / (1 - theta**b)
    gap = unary + width - 1 + (theta**short - theta**b) * unary if b > 1 else unary
    items = len(set(keys))
    runs = math.ceil(items / max(1, RUN_BITS // gap))
    span = math.ceil(items / fpp / runs)
    values = len({golomb_number(key, o.seed, runs * span) for key in keys})
    return golden.golomb_set(keys, runs, span, best(1 - values / (runs * span)), mark=o.seed)


def golomb_number(key, seed, span):
    return hashing.xxh3(key, seed) * span >> 64


def retouched(keys, o, file):
    """Of each key that must not be found the bit with the least price, and of equal ones the first after one drawn at random."""
    if "hashes" not in o:
        return None  # the keys say how large it is
    scheme, m, k = o.shape
    bits = lambda key: list(dict.fromkeys(golden.positions(scheme, hashing.xxh3(key, o.seed), m, k)))
    of_keys, of_spared = ([0] * m, [0] * m)
    spared = expand(file["spared"])
    for counts, some in ((of_keys, keys), (of_spared, spared)):
        for i in (i for key in some for i in bits(key)):
            counts[i] += 1
    price = {
        "random": lambda i: 0,
        "fewest-elements": lambda i: of_keys[i],
        "most-troublesome": lambda i: -of_spared[i],
        "ratio": lambda i: fractions.Fraction(of_keys[i], of_spared[i]),
    }[o.clearing]
    left, drawn = {i for key in keys for i in bits(key)}, 0
    for key in spared:
        row = bits(key)
        if left.issuperset(row):
            drawn += 1
            first = row[golden.scale(golden.word(o.seed, drawn), len(row))]
            best = min(row, key=price)
            left.remove(first if price(first) == price(best) else best)
    return golden.container(golden.pack_bits(left, m), 19, m, k, scheme, mark=o.seed)


# The file of a filled spec, by kind. What is left out follows rules of sizing (scalable, scalable-blocked) or of optimising that a
# reader need not know (choice with all keys at once).
RECIPES = {
    "a2": lambda keys, o, _: golden.a2(keys, SCHEME[o.scheme], o.bits // 2, o.hashes, o.items, o.seed),
    "bitwise": lambda keys, o, _: golden.bitwise(
        keys, [(o.cells, o.hashes, o.digit, o.width)], SCHEME[o.scheme], o.seed, 0.5, 64, True
    ),
    "blocked": lambda keys, o, _: golden.blocked(keys, o.bits // 512, o.hashes, mark=o.seed),
    "bloom": lambda keys, o, _: golden.bloom(keys, *o.shape, mark=o.seed),
    "bloomier": bloomier,
    "choice": lambda keys, o, _: golden.choice(keys, *o.shape, o.choices, o.seed) if o.effort == "online" else None,
    "compressed": lambda keys, o, _: golden.compressed(keys, *o.shape, mark=o.seed),
    "count-min": count_min,
    "counting": lambda keys, o, _: golden.counting(keys, *o.shape, o.width, mark=o.seed),
    "cuckoo": lambda keys, o, _: golden.cuckoo(keys, o.cells // 4, o.width, o.seed),
    "quotient": lambda keys, o, _: golden.quotient(keys, o.cells, o.width, o.seed),
    "dynamic": lambda keys, o, _: golden.dynamic(keys, [], *o.shape, o.width, o.items, o.seed),
    "fuse": lambda keys, o, _: golden.binary_fuse(keys, o.arity, o.fingerprint, o.seed),
    "golomb": golomb_set,
    "infini": lambda keys, o, _: golden.infini(
        keys, [], float(o.fpp), o.items, o.max if "max" in o else 0, mark=o.seed
    ),
    "retouched": retouched,
    "ribbon": ribbon,
    "sbbf": lambda keys, o, _: golden.split_block(
        keys, o.bits // 256, hasher={"xxh3": 1, "xxh64": 4}[o.hasher], mark=o.seed
    ),
    "spectral": spectral,
    "stable": lambda keys, o, _: golden.stable(keys, *o.shape, o.width, o.decrements, 0, o.seed, "drawn" in o),
}


def payload(file):
    header, length = struct.unpack_from("<I", file, 12)[0], struct.unpack_from("<Q", file, 48)[0]
    start = -(-header // 64) * 64
    return file[start : start + length]


def same(made, listed, what):
    if made != listed:
        sys.exit(f"{what}: {made} was computed, and {listed} is listed")


def main():
    keys, compared, left_out = check_keys(), 0, 0
    for kind in sorted(path.stem for path in HERE.glob("*.json") if path.stem != "keys"):
        file = json.loads((HERE / f"{kind}.json").read_text())
        inserted, recipe = expand(file["keys"]), RECIPES.get(kind)
        for case in file["cases"]:
            made = recipe and recipe(inserted, Options(case["filled"]), file)
            if made is None:
                left_out += 1
                continue
            same(hashlib.sha256(payload(made)).hexdigest(), case["payload_sha256"], case["asked"])
            compared += 1
    for kind in RECIPES:
        if not (HERE / f"{kind}.json").exists():
            sys.exit(f"there are no vectors for {kind}")
    print(f"{keys} keys and {compared} payloads were computed again; {left_out} cases have no recipe")


if __name__ == "__main__":
    main()
