"""Canonical bytes: those of Rust, for every type that is a key."""

import datetime as dt
import enum
import ipaddress
import json
import pathlib
import uuid

import gardenia
import numpy as np
import pandas as pd
import pytest
from gardenia import digest, key_bytes

CONFORMANCE = pathlib.Path(__file__).parents[3] / "conformance"
UTC = dt.timezone.utc


def int64(value):
    return (value % 2**64).to_bytes(8, "little")


def moment(seconds, nanos):
    return seconds.to_bytes(8, "little", signed=True) + nanos.to_bytes(4, "little")


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 7


@pytest.mark.parametrize(
    "key, expected",
    [
        ("rose", b"rose"),
        ("ä€𝄞", "ä€𝄞".encode()),
        ("", b""),
        (b"rose", b"rose"),
        (bytearray(b"rose"), b"rose"),
        (memoryview(b"rose"), b"rose"),
        (np.str_("rose"), b"rose"),
        (np.bytes_(b"rose"), b"rose"),
        (0, bytes(8)),
        (-1, b"\xff" * 8),
        (2**64 - 1, b"\xff" * 8),
        (-(2**63), int64(-(2**63))),
        (2**63, int64(2**63)),
        (2**64, (2**64).to_bytes(16, "little")),
        (-(2**63) - 1, (-(2**63) - 1).to_bytes(16, "little", signed=True)),
        (2**128 - 1, b"\xff" * 16),
        (True, int64(1)),
        (False, int64(0)),
        (Level.LOW, int64(7)),
        (np.int8(-1), b"\xff" * 8),
        (np.uint16(5), int64(5)),
        (np.bool_(True), int64(1)),
        (0.5, np.float64(0.5).tobytes()),
        (-0.0, bytes(8)),
        (float("nan"), int64(0x7FF8 << 48)),
        (-float("nan"), int64(0x7FF8 << 48)),
        (np.float32(0.5), np.float64(0.5).tobytes()),
        (np.float64(0.5), np.float64(0.5).tobytes()),
        (np.float16(0.5), np.float64(0.5).tobytes()),
        (None, b""),
        (("a", 1), int64(1) + b"a" + int64(8) + int64(1)),
        ((("a",), None), int64(9) + int64(1) + b"a" + int64(0)),
        (uuid.UUID(int=1), bytes(15) + b"\x01"),
        (ipaddress.ip_address("127.0.0.1"), b"\x7f\0\0\x01"),
        (ipaddress.ip_address("::1"), bytes(15) + b"\x01"),
        (dt.datetime(1970, 1, 1, 0, 0, 3, 4), moment(3, 4000)),
        (dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), moment(0, 0)),
        (dt.datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC), moment(-1, 500_000_000)),
        (pd.Timestamp(5, unit="ns"), moment(0, 5)),
        (pd.Timestamp(5, unit="ns", tz="UTC"), moment(0, 5)),
        (np.datetime64(5, "ns"), moment(0, 5)),
        (np.datetime64("1969-12-31"), moment(-86400, 0)),
        (dt.timedelta(seconds=1, microseconds=2), moment(1, 2000)),
        (pathlib.PurePosixPath("a/b"), b"a/b"),
    ],
    ids=repr,
)
def test_a_key_has_the_bytes_of_the_guide(key, expected):
    assert key_bytes(key) == expected
    filter = gardenia.BlockedBloom(items=10, fpp=1e-6)
    assert filter.digest(key) == digest(expected)
    assert filter.add(key) and key in filter and expected in filter and filter.add(expected) is False


def test_where_equality_differs_from_that_of_python():
    assert key_bytes("a") == key_bytes(b"a") and "a" != b"a"
    assert key_bytes(1) == key_bytes(True) != key_bytes(1.0)
    assert key_bytes(-1) == key_bytes(2**64 - 1)
    assert key_bytes("7") != key_bytes(7)
    assert key_bytes(None) == key_bytes("") == key_bytes(())


@pytest.mark.parametrize(
    "key, hint",
    [
        ([1, 2], "update"),
        (np.array([1, 2]), "add_many"),
        ({1}, "str"),
        (object(), "str"),
        (Color.RED, ".value"),
        (1j, "str"),
        (dt.date(2020, 1, 1), "str"),
        (("a", [1]), "tuple"),
        (dt.timedelta(seconds=-1), "total_seconds"),
    ],
    ids=repr,
)
def test_what_is_no_key_is_a_type_error_that_says_what_to_do(key, hint):
    filter = gardenia.Bloom(items=10)
    for call in [key_bytes, filter.add, filter.__contains__, lambda key: filter.contains_many([key])]:
        with pytest.raises(TypeError, match=r"hint: .*" + hint.replace(".", r"\.")):
            call(key)


def test_a_number_that_is_too_large_and_a_text_that_is_none_are_refused():
    with pytest.raises(OverflowError, match="128 bits"):
        key_bytes(2**128)
    with pytest.raises(UnicodeEncodeError):
        key_bytes("\ud800")
    with pytest.raises(UnicodeEncodeError):
        gardenia.Bloom(items=10).add("\ud800")


def value_of(key):
    kind, value = key["type"], key["value"]
    if kind in ("tuple", "list"):
        return tuple(value_of(part) for part in value)
    if kind == "bytes":
        return bytes.fromhex(value)
    if kind == "bool":
        return value == "true"
    if kind in ("f64", "f32"):
        return (np.float32 if kind == "f32" else float)(value)
    if kind == "IpAddr":
        return ipaddress.ip_address(value)
    return int(value) if kind[0] in "iu" and kind[1:].isdigit() else value


def test_keys_have_the_bytes_and_digests_of_the_conformance_vectors():
    vectors = json.loads((CONFORMANCE / "keys.json").read_text())
    assert len(vectors["keys"]) > 50
    for key in vectors["keys"]:
        value = value_of(key)
        assert key_bytes(value).hex() == key["bytes"], key
        for hasher, expected in zip(vectors["hashers"], key["digests"]):
            options = {"secret": bytes.fromhex(hasher["secret"])} if "secret" in hasher else {"seed": int(hasher["seed"])}
            assert digest(value, **options) == int(expected, 16), key
