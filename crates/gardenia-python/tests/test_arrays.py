"""Arrays of every type: the same digests as the Python objects in them."""

import array
import datetime as dt
import hashlib
import itertools
import signal
import sys
import threading
import time

import duckdb
import gardenia
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

TEXTS = ["rose", "", "ä€𝄞", "a text that is longer than twelve bytes", "tulip"]


def agree(keys, objects, **options):
    """Whether a batch does what single calls do, in a filter of keys that are in and others that are not."""
    objects = list(objects)
    single, batch = gardenia.BlockedBloom(items=100, fpp=1e-6), gardenia.BlockedBloom(items=100, fpp=1e-6)
    for key in objects:
        single.add(key)
    batch.update(keys, **options)
    assert batch == single, (keys, objects)
    half = gardenia.BlockedBloom(items=100, fpp=1e-6)
    half.update(objects[::2], nulls="key")
    assert half.contains_many(keys, **options).tolist() == [key in half for key in objects]
    counts = gardenia.CountingBloom(items=100, fpp=1e-6)
    counts.update(objects, nulls="key")
    assert counts.count_many(keys, threads=2, **options).tolist() == [counts.count(key) for key in objects]


@pytest.mark.parametrize("dtype", "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 ? >i2 >i4 >i8 >u2 >u4 >u8 >f2 >f4 >f8 <i8".split())
def test_numpy_numbers(dtype):
    numbers = np.array([0, 1, 5, 100, 2, 7]).astype(dtype)
    if numbers.dtype.kind == "i":
        numbers[0] = -3
    agree(numbers, numbers.tolist())
    agree(numbers[::-1], numbers.tolist()[::-1])
    agree(numbers[::2], numbers.tolist()[::2])
    agree(np.asfortranarray(np.stack([numbers, numbers]))[1], numbers.tolist())
    packed = np.zeros(6, dtype=[("pad", "u1"), ("key", dtype)])
    packed["key"] = numbers
    agree(packed["key"], numbers.tolist())
    agree(numbers[:0], [])
    numbers.setflags(write=False)
    agree(numbers, numbers.tolist())


def test_numpy_texts_objects_and_times():
    agree(np.array(TEXTS), TEXTS)
    agree(np.array(TEXTS).astype(">U40"), TEXTS)
    agree(np.array([text.encode() for text in TEXTS]), TEXTS)
    agree(np.array(["ab", "c"])[::-1], ["c", "ab"])
    agree(np.array([*TEXTS, 5, ("a", 1)], dtype=object), [*TEXTS, 5, ("a", 1)])
    agree(np.array([*TEXTS, 5], dtype=object)[::2], [*TEXTS, 5][::2])
    for unit in ["D", "h", "m", "s", "ms", "us", "ns"]:
        times = np.array(["1969-12-31", "2020-05-05"], dtype=f"datetime64[{unit}]")
        agree(times, [dt.datetime(1969, 12, 31), dt.datetime(2020, 5, 5)])
        agree(times.astype(times.dtype.newbyteorder(">")), list(times))
    with pytest.raises(TypeError, match="unit"):
        gardenia.Bloom(items=9).update(np.array(["2020"], dtype="datetime64[Y]"))


def test_what_is_no_array_of_keys_is_refused():
    filter = gardenia.Bloom(items=9)
    for keys, message in [
        (np.zeros((2, 2)), "dimensions"),
        (np.zeros(2, dtype=complex), "astype"),
        (np.zeros(2, dtype=np.longdouble), "astype"),
        (np.zeros(2, dtype="m8[s]"), "buffer"),
        ("rose", "one key"),
        (b"rose", "one key"),
        (5, "many keys"),
        (None, "many keys"),
        (pa.table({"a": [1], "b": [2]}), "2 columns"),
        (pa.array([[1]]), "format"),
        (pa.array([dt.date(2020, 1, 1)]), "format"),
        (["rose", object()], "canonical bytes"),
    ]:
        for call in [filter.update, filter.add_many, filter.contains_many]:
            with pytest.raises((TypeError, ValueError), match=message):
                call(keys)


def test_other_buffers_and_iterables():
    agree(array.array("q", [1, -2]), [1, -2])
    agree(memoryview(array.array("d", [1, 0.5])), [1.0, 0.5])
    agree({"a": 1, "b": 2}, ["a", "b"])
    agree(dict.fromkeys("ab").keys(), ["a", "b"])
    agree(range(5), range(5))
    agree((1, "a"), [1, "a"])
    assert gardenia.Bloom(items=9, fpp=1e-6).add_many(iter([1, 2, 1])).tolist() == [True, True, False]
    assert gardenia.Bloom(items=9).add_many([]).tolist() == []


ARROW = [
    (pa.int8(), [1, -2, 3]),
    (pa.uint8(), [1, 2, 3]),
    (pa.int16(), [1, -2, 3]),
    (pa.uint16(), [1, 2, 3]),
    (pa.int32(), [1, -2, 3]),
    (pa.uint32(), [1, 2, 3]),
    (pa.int64(), [1, -2, 3]),
    (pa.uint64(), [1, 2, 2**64 - 1]),
    (pa.float16(), [np.float16(0.5), np.float16(-2), np.float16(3)]),
    (pa.float32(), [0.5, -2.0, 3.0]),
    (pa.float64(), [0.5, -2.0, 0.1]),
    (pa.bool_(), [True, False, True]),
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.binary(), [text.encode() for text in TEXTS]),
    (pa.large_binary(), [text.encode() for text in TEXTS]),
    (pa.binary_view(), [text.encode() for text in TEXTS]),
    (pa.binary(4), [b"rose", b"a\0\0\0", b"\0\0\0\0"]),
    (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "a", "c"]),
    (pa.dictionary(pa.uint32(), pa.int64()), [1, 2, 1]),
    *[(pa.timestamp(unit), [dt.datetime(1969, 12, 31), dt.datetime(2020, 5, 5)]) for unit in ["s", "ms", "us", "ns"]],
    (pa.timestamp("us", tz="Europe/Vienna"), [dt.datetime(2020, 5, 5, tzinfo=dt.timezone.utc)]),
]


@pytest.mark.parametrize("type, objects", ARROW, ids=str)
def test_arrow(type, objects):
    whole = pa.array(objects, type=type)
    assert whole.type == type
    agree(whole, objects)
    agree(whole[1:], objects[1:])
    agree(whole[1:1], [])
    chunked = pa.chunked_array([whole, whole[1:], whole[:0]], type=type)
    agree(chunked, objects + objects[1:])
    agree(pa.table({"key": chunked}), objects + objects[1:])
    agree(pa.record_batch({"key": whole[1:]}), objects[1:])
    if not pa.types.is_dictionary(type):
        struct = pa.StructArray.from_arrays([whole], ["key"])[1:]
        agree(struct, objects[1:])
    nulls = pa.array([None, *objects, None], type=type)
    agree(nulls, [None, *objects, None], nulls="key")
    agree(nulls[1:], [*objects, None], nulls="key")
    made = gardenia.Bloom(items=100, fpp=1e-6)
    made.update(nulls, nulls="skip")
    expected = gardenia.Bloom(items=100, fpp=1e-6)
    expected.update(objects)
    assert made == expected
    assert made.contains_many(nulls, nulls="skip").tolist() == [False, *[True] * len(objects), False]
    assert made.add_many(nulls, nulls="skip", threads=3).tolist() == [False] * len(nulls)
    for call in [made.update, made.contains_many, made.add_many]:
        with pytest.raises(gardenia.MissingError, match=f"element {len(objects)} is missing"):
            call(nulls[1:])


def test_empty_and_all_null_columns():
    agree(pa.array([], type=pa.string()), [])
    agree(pa.array(["", ""]), ["", ""])
    agree(pa.nulls(3), [None] * 3, nulls="key")
    agree(pa.array([None, None], type=pa.string()), [None, None], nulls="key")
    with pytest.raises(gardenia.MissingError):
        gardenia.Bloom(items=9).update(pa.nulls(3))


def test_missing_values_are_refused_skipped_or_keys():
    nan = float("nan")
    for keys in [[1.5, None, nan], np.array([1.5, nan, nan]), pd.Series([1.5, None, nan]), pl.Series([1.5, None, nan]),
                 pd.Series([1.5, pd.NA, pd.NaT], dtype=object), (key for key in [1.5, None, nan])]:
        filter = gardenia.Bloom(items=9, fpp=1e-6)
        keys = list(keys) if hasattr(keys, "send") else keys
        with pytest.raises(gardenia.MissingError, match="element 1 is missing.*nulls="):
            filter.add_many(keys)
        filter.clear()
        if not (isinstance(keys, pd.Series) and keys.dtype == object):
            assert filter.add_many(keys, nulls="skip").tolist() == [True, False, False]
            assert filter.estimated_items == pytest.approx(1, abs=0.1)
    filter.add_many([None, nan], nulls="key")
    assert None in filter and nan in filter
    with pytest.raises(ValueError, match="nulls is"):
        filter.update([1], nulls="maybe")
    times = np.array(["2020-01-01", "NaT"], dtype="M8[s]")
    assert gardenia.Bloom(items=9, fpp=1e-6).add_many(times, nulls="skip").tolist() == [True, False]


def test_a_nan_of_a_dictionary_is_the_key_nan_and_a_null_the_key_none():
    nan = float("nan")
    values = pa.array([nan, 1.5, None])
    for keys in [pa.array([nan, 1.5]).dictionary_encode(), pa.DictionaryArray.from_arrays([0, 1], values)]:
        agree(keys, [nan, 1.5], nulls="key")
        filter = gardenia.Bloom(items=9, fpp=1e-6)
        filter.update(keys, nulls="key")
        assert nan in filter and 1.5 in filter and None not in filter
        with pytest.raises(gardenia.MissingError, match="element 0 is missing"):
            filter.update(keys)
    agree(pa.DictionaryArray.from_arrays([2, 1, None], values), [None, 1.5, None], nulls="key")


def test_what_lies_in_a_row_without_a_value_is_not_read():
    texts = ["a text of more than twelve bytes", "rose", "another text of more than twelve bytes"]
    valid, views, data = pa.array(texts, type=pa.string_view()).buffers()
    # The view of the second row: a length of 99 bytes in a buffer that is not there.
    views = views.to_pybytes()
    views = pa.py_buffer(views[:16] + (99).to_bytes(4, "little") + b"\xff" * 12 + views[32:])
    keys = lambda bits: pa.Array.from_buffers(pa.string_view(), 3, [pa.py_buffer(bytes([bits])), views, data])
    agree(keys(0b101), [texts[0], None, texts[2]], nulls="key")
    filter = gardenia.Bloom(items=9, fpp=1e-6)
    filter.update(keys(0b101), nulls="skip")
    assert filter.contains_many(texts).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="the view of row 1 is corrupted"):
        filter.update(keys(0b111))
    with pytest.raises(ValueError, match="the view of row 1 is corrupted"):
        filter.update(keys(0b011), nulls="skip")


def test_what_came_before_a_missing_value_is_in_as_in_a_loop():
    filter = gardenia.Bloom(items=9, fpp=1e-6)
    with pytest.raises(TypeError):
        filter.update(["rose", object()])
    assert "rose" in filter


def test_polars_pandas_and_duckdb_data():
    numbers, texts = [1, -2, 3], TEXTS
    agree(pl.Series(numbers), numbers)
    agree(pl.Series(texts), texts)
    agree(pl.Series(texts, dtype=pl.Categorical), texts)
    agree(pl.DataFrame({"key": texts}), texts)
    agree(pd.Series(numbers), numbers)
    agree(pd.Series(texts), texts)
    agree(pd.Series(texts, dtype="string"), texts)
    agree(pd.Series(texts, dtype="category"), texts)
    agree(pd.Series(texts, dtype=pd.ArrowDtype(pa.string())), texts)
    agree(pd.Series(numbers, dtype="Int64"), numbers)
    agree(pd.Index(numbers), numbers)
    agree(pd.Series(pd.to_datetime(["2020-05-05"])), [dt.datetime(2020, 5, 5)])
    agree(pd.DataFrame({"key": numbers}), numbers)
    relation = duckdb.sql("select unnest([1, -2, 3]) as key")
    agree(relation.to_arrow_table(), numbers)
    seen = gardenia.Bloom(items=9, fpp=1e-6)
    seen.update(duckdb.sql("select unnest(['rose', 'tulip']) as key"))
    assert "rose" in seen and "tulip" in seen


def test_results_are_writable_numpy_arrays_or_arrow():
    filter = gardenia.CountingBloom(items=9)
    found = filter.contains_many([1, 2])
    found[0] = True
    assert found.tolist() == [True, False]
    assert filter.contains_many([1, 2], arrow=True) == pa.array([False, False])
    assert filter.count_many([1, 2], arrow=True) == pa.array([0, 0], pa.uint64())
    assert filter.add_many([1, 2], arrow=True).type == pa.bool_()


def test_progress_is_reported():
    calls = []
    filter = gardenia.BlockedBloom(items=3_000_000)
    filter.update(np.arange(2_500_000), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1 << 20, 2_500_000), (2 << 20, 2_500_000), (2_500_000, 2_500_000)]
    calls.clear()
    filter.contains_many((i for i in range(100_000)), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (100_000, None) and calls == sorted(calls)
    from tqdm import tqdm

    with tqdm(total=100_000, disable=False, file=open("/dev/null", "w")) as bar:
        filter.update(list(range(100_000)), progress=bar)
        assert bar.n == 100_000

    def stop(done, total):
        raise KeyError("stop")

    with pytest.raises(KeyError):
        filter.update(np.arange(10), progress=stop)
    # The filter is free again, also for a callback that asks it.
    filter.update(np.arange(10), progress=lambda done, total: filter.add("rose"))
    assert "rose" in filter


# Calls that take seconds at the least: the array reads pages that were never written, the iterable has no end.
@pytest.mark.parametrize("keys", [lambda: np.zeros(1 << 30, np.uint64), itertools.count], ids=["array", "iterable"])
def test_ctrl_c_ends_a_long_call(keys):
    # A process that was started in the background ignores the signal, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    filter = gardenia.Bloom(items=1_000_000)
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            filter.update(keys())
            timer.cancel()  # A call that came to its end fails this test, and no signal reaches the next one.
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert filter.add("rose") in (True, False)


def longest_wait(call):
    """How long a call works at most while another thread waits for the GIL, in seconds of the calling thread's processor time: other
    work of the machine, which may stop the thread that holds the GIL for long, does not count."""
    clock = time.pthread_getcpuclockid(threading.get_ident())
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        gaps, stop = [0.0], threading.Event()

        def beat():
            while not stop.is_set():
                begin = time.clock_gettime(clock)
                time.sleep(0)
                gaps.append(time.clock_gettime(clock) - begin)

        thread = threading.Thread(target=beat)
        thread.start()
        time.sleep(0.01)
        gaps[:] = [0.0]
        call()
        stop.set()
        thread.join()
        return max(gaps)
    finally:
        sys.setswitchinterval(before)


NOISE = 0.002


def holds_at_most(seconds, call):
    """Whether a call holds the GIL no longer than that. A thread that waits may also not be given a processor while the call works: how
    long is seen by a call that does not hold the GIL at all, and up to `NOISE` is allowed for it. Of many tries one is enough, because a
    call that holds the GIL does so every time."""
    data = bytes(20_000_000)
    for _ in range(20):
        noise = longest_wait(lambda: hashlib.sha256(data).digest())
        if longest_wait(call) <= seconds + min(noise, NOISE):
            return True
    return False


@pytest.mark.parametrize(
    "keys",
    [
        np.arange(3_000_000),
        list(range(1_000_000)),
        [f"key {i}" for i in range(1_000_000)],
        [(i, "a") for i in range(200_000)],
        np.array([f"key {i}" for i in range(500_000)], dtype=object),
        pa.array([f"key {i}" for i in range(1_000_000)]),
    ],
    ids=["array", "ints", "texts", "tuples", "objects", "arrow"],
)
def test_the_gil_is_not_held_longer_than_5_ms(keys):
    filter = gardenia.Bloom(items=3_000_000)
    assert holds_at_most(0.005, lambda: filter.add_many(keys))
    assert holds_at_most(0.005, lambda: filter.contains_many(keys))


def test_a_call_that_holds_the_gil_for_15_ms_is_noticed():
    def seconds(count):
        begin = time.thread_time()
        sum(range(count))  # in one call of C: the GIL is held for all of it
        return time.thread_time() - begin

    count = 1 << 16
    while min(seconds(count) for _ in range(5)) < 0.015:
        count += count >> 3
    assert not holds_at_most(0.005, lambda: sum(range(count)))


def test_a_list_that_shrinks_meanwhile_is_safe():
    filter = gardenia.BlockedBloom(items=1_000_000)
    keys = [f"key {i}" for i in range(300_000)]
    thread = threading.Thread(target=lambda: [keys.clear() for _ in range(1)])

    def progress(done, total):
        if done == total or done > 60_000:
            keys.clear()

    thread.start()
    filter.update(keys, progress=progress)
    thread.join()
    assert keys == []


def test_a_struct_that_is_missing_has_no_key():
    inner = pa.array([1, 2, None, 4])
    rows = pa.StructArray.from_arrays([inner], names=["x"], mask=pa.array([False, True, False, False]))
    filter = gardenia.Bloom(items=100, fpp=1e-6)
    with pytest.raises(gardenia.MissingError, match="element 1 is missing"):
        filter.update(rows)
    filter.clear()
    filter.update(rows, nulls="skip")
    assert filter.contains_many([1, 2, 4]).tolist() == [True, False, True]
    assert filter.contains_many(rows.slice(1), nulls="skip").tolist() == [False, False, True]
