"""The same filter in Rust, in the command and in Python."""

import datetime as dt
import ipaddress
import os
import pathlib
import subprocess
import uuid

import gardenia
import numpy as np
import pytest

COUNT = 100_000
UTC = dt.timezone.utc


def word(i):
    """A number for each key: what `examples/key_types.rs` computes."""
    return i * 0x9E3779B97F4A7C15 % 2**64


def keys(type, many):
    """Keys 0 up to `many` of a type, as in Rust."""
    words = [word(i) for i in range(many)]
    match type:
        case "text":
            return [f"key {w:x} ä" for w in words]
        case "bytes":
            return [w.to_bytes(8, "big")[: i % 9] + b"\xff" for i, w in enumerate(words)]
        case "bool":
            return [w >> 63 == 1 for w in words]
        case "u64":
            return words
        case "i64":
            return [w - 2**64 if w >= 2**63 else w for w in words]
        case "i128":
            return [w - 2**127 for w in words]
        case "f64":
            return [w / 2**32 - 1e6 for w in words]
        case "f32":
            return [np.float32(w >> 40) / np.float32(3) for w in words]
        case "ipv4":
            return [ipaddress.IPv4Address(w >> 32) for w in words]
        case "ipv6":
            return [ipaddress.IPv6Address(w << 64 | w) for w in words]
        case "uuid":
            return [uuid.UUID(int=w << 64 | w) for w in words]
        case "time":
            epoch = dt.datetime(1970, 1, 1, tzinfo=UTC)
            return [epoch + dt.timedelta(seconds=(w >> 32) - 2**31, microseconds=w % 1_000_000) for w in words]
        case "duration":
            return [dt.timedelta(seconds=w >> 32, microseconds=w % 1_000_000) for w in words]
        case "tuple":
            return [(f"{w:x}", i) for i, w in enumerate(words)]
        case "nested":
            return [((w & 1 == 1, None), w % 7 / 2, (f"{i}",)) for i, w in enumerate(words)]
        case "path":
            return [pathlib.PurePosixPath(f"/tmp/{w:x}") for w in words]


TYPES = "text bytes bool u64 i64 i128 f64 f32 ipv4 ipv6 uuid time duration tuple nested path".split()

# The same keys as scalars of numpy.
SCALARS = {
    "text": np.str_,
    "bytes": np.bytes_,
    "bool": np.bool_,
    "u64": np.uint64,
    "i64": np.int64,
    "f64": np.float64,
    "time": lambda key: np.datetime64(key.replace(tzinfo=None), "us"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Filters that Rust filled with keys of each type, and its answers."""
    directory = tmp_path_factory.mktemp("rust")
    subprocess.run([os.environ["GARDENIA_KEY_TYPES"], str(directory), str(COUNT)], check=True)
    assert sorted(path.stem for path in directory.glob("*.gdn")) == sorted(TYPES)
    return directory


@pytest.mark.parametrize("type", TYPES)
def test_a_filter_of_rust_answers_the_same_in_python(made, type):
    filter = gardenia.open(made / f"{type}.gdn")
    probes = keys(type, 2 * COUNT)
    answers = filter.contains_many(probes)
    expected = np.frombuffer((made / f"{type}.answers").read_bytes(), dtype=bool)
    np.testing.assert_array_equal(answers, expected)
    assert answers[:COUNT].all()
    built = gardenia.make(filter.spec)
    built.update(probes[:COUNT])
    assert built == filter
    if type in SCALARS:
        np.testing.assert_array_equal(filter.contains_many(list(map(SCALARS[type], probes))), expected)
    some = range(0, 2 * COUNT, 997)
    assert [probes[i] in filter for i in some] == [bool(expected[i]) for i in some]


def run(*arguments, text=""):
    done = subprocess.run([os.environ["GARDENIA_CLI"], *map(str, arguments)], input=text, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.parametrize("integers", [False, True], ids=["text", "integers"])
def test_the_command_and_python_answer_the_same(tmp_path, integers):
    option = ["--int"] if integers else []
    probes = list(range(-100_000, 100_000)) if integers else [f"key {i} ä" for i in range(2 * COUNT)]
    lines = [str(probe) for probe in probes]
    filter = gardenia.BlockedBloom(items=COUNT, fpp=0.01)
    filter.update(probes[:COUNT])
    filter.save(tmp_path / "python.gdn")
    found = run("query", *option, tmp_path / "python.gdn", text="\n".join(lines)).splitlines()
    answers = filter.contains_many(probes)
    assert found == [line for line, answer in zip(lines, answers) if answer]
    assert 0 < answers[COUNT:].sum() < 0.02 * COUNT
    text = "\n".join(lines[:COUNT]) + "\n"
    run("build", *option, "--kind", "blocked", "--items", COUNT, "--fpp", "0.01", "-o", tmp_path / "command.gdn", text=text)
    assert gardenia.open(tmp_path / "command.gdn") == filter
