"""Filters in the formats of other programs: the same bytes as the command writes, for every format of the table that is written."""

import os
import pickle
import subprocess

import gardenia
import numpy as np
import pyarrow as pa
import pytest
from gardenia import _gardenia

FORMATS = {name: set(abilities) for name, _, abilities in _gardenia._formats()}
WRITTEN = [name for name, can in FORMATS.items() if "write" in can and name not in ("spark-cms", "redis-cuckoo")]
CLI = os.environ["GARDENIA_CLI"]


def command(path, format, type, lines, *options):
    text = "".join(f"{line}\n" for line in lines).encode()
    arguments = [CLI, "build", "-o", path, "--format", format, "--as", type, "--items", "1000", *options, "-"]
    done = subprocess.run(arguments, input=text, capture_output=True)
    assert done.returncode == 0, done.stderr
    return path.read_bytes()


@pytest.mark.parametrize("format", WRITTEN)
def test_bytes_are_those_of_the_command(format, tmp_path):
    make = lambda: gardenia.Foreign(format, items=1000) if format == "bloomk" else gardenia.Foreign(format, items=1000, fpp=0.02)
    rate = [] if format == "bloomk" else ["--fpp", "0.02"]
    texts = [f"rose {i}" for i in range(500)]
    for type, lines in [("string", texts), ("long", range(-250, 250))]:
        filter = make()
        if not {type, "bytes"} & set(filter.key_types) or type == "long" and "long" not in filter.key_types:
            continue
        expected = command(tmp_path / f"{format}-{type}", format, type, lines, *rate)
        filter.update(lines)
        assert filter.to_bytes() == expected
        array = pa.array(list(lines))
        for keys in [array, pa.chunked_array([array[:7], array[7:]]), np.array(list(lines)) if type == "long" else list(lines)]:
            other = make()
            other.update(keys)
            assert other == filter
        assert filter.contains_many(array).all() and (filter.contains_many(array) == [key in filter for key in lines]).all()
        read = gardenia.Foreign.from_bytes(expected, format)
        assert read == filter and pickle.loads(pickle.dumps(filter)) == filter and read.format == format
        if "merge" in FORMATS[format]:
            halves = make(), make()
            halves[0].update(array[:200])
            halves[1].update(array[200:])
            halves[0].merge(halves[1])
            # Not all bytes: Milvus counts the keys that were inserted into one filter.
            asked = texts if type == "string" else np.arange(-500, 2000)
            assert halves[0].fpp == filter.fpp and (halves[0].contains_many(asked) == filter.contains_many(asked)).all()


def test_every_written_format_is_among_them():
    assert len(WRITTEN) >= 10 and set(WRITTEN) <= set(FORMATS)


def test_keys_have_types():
    filter = gardenia.Foreign("guava", items=100)
    assert filter.add(7, type="int") and not filter.add(7, type="int")
    assert filter.contains_many([7], type="int").tolist() == [True]
    assert 7 not in filter and "7" not in filter
    with pytest.raises(TypeError, match="more than 32 bits"):
        filter.add(2**40, type="int")
    with pytest.raises(ValueError, match='type is "rose"'):
        filter.add(7, type="rose")
    with pytest.raises(TypeError, match="not of type string"):
        filter.add(7, type="string")
    with pytest.raises(TypeError, match="a list is no key"):
        filter.add([7])
    with pytest.raises(TypeError, match="of type double, but of long or string"):
        gardenia.Foreign("spark", items=9).add(1.5)
    with pytest.raises(TypeError, match="is one key"):
        filter.update("rose")
    with pytest.raises(TypeError, match="no keys of other programs"):
        filter.update(pa.array([True]))


def test_missing_keys():
    keys = pa.array([1, None, 3])
    filter = gardenia.Foreign("spark", items=100)
    for missing in (keys, [1, None, 3]):
        with pytest.raises(gardenia.MissingError, match="element 1 is missing"):
            filter.update(missing)
        filter.update(missing, nulls="skip")
        assert filter.contains_many(missing, nulls="skip").tolist() == [True, False, True]
    with pytest.raises(ValueError, match="no key for a missing value"):
        filter.update(keys, nulls="key")
    assert None not in filter
    with pytest.raises(TypeError):
        filter.add(None)


def test_what_cannot_be_done_says_so():
    with pytest.raises(gardenia.SpecError, match='no format is called "rose". hint: use one of parquet'):
        gardenia.Foreign("rose", items=9)
    with pytest.raises(gardenia.SpecError, match="read, not written"):
        gardenia.Foreign("orc", items=9)
    with pytest.raises(gardenia.FormatError, match="no known format"):
        gardenia.Foreign.from_bytes(b"rose")
    with pytest.raises(gardenia.FormatError):
        gardenia.Foreign.from_bytes(b"rose", "spark")
    with pytest.raises(gardenia.FormatError, match="may be hive or bloomk"):
        gardenia.Foreign.from_bytes(gardenia.Foreign("bloomk", items=99).to_bytes())
    with pytest.raises(gardenia.MismatchError, match="differ in bits"):
        gardenia.Foreign("spark", items=99).merge(gardenia.Foreign("spark", items=999))
    with pytest.raises(gardenia.UnsupportedError, match="cannot be merged"):
        gardenia.Foreign("bip37", items=99).merge(gardenia.Foreign("bip37", items=99))
    assert gardenia.Foreign.from_bytes(gardenia.Foreign("spark", items=99).to_bytes()).format == "spark"
