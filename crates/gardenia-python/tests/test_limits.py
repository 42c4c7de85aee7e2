"""Hostile files, too little memory, secrets, foreign errors, packages."""

import datetime
import pathlib
import random
import resource
import subprocess
import sys
import tarfile
import zipfile

import gardenia
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import KINDS, WORDS

DATA = pathlib.Path(__file__).parents[2] / "gardenia" / "tests" / "data"


def test_ten_thousand_hostile_files_are_exceptions(tmp_path):
    random.seed(24)
    files = [kind.build([f"key {i}" for i in range(50)]).to_bytes() for kind in KINDS]
    files += [path.read_bytes() for path in sorted(DATA.glob("*.gdn"))]
    assert len(files) > 40
    refused, path = 0, tmp_path / "hostile.gdn"
    for _ in range(10_000):
        data = bytearray(random.choice(files))
        match random.randrange(4):
            case 0:
                del data[random.randrange(len(data)) :]
            case 1:
                for _ in range(random.randrange(1, 8)):
                    data[random.randrange(min(len(data), 160))] = random.randrange(256)
            case 2:
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
            case 3:
                data += random.randbytes(random.randrange(1, 100))
        if random.randrange(20) == 0:
            path.write_bytes(data)
            calls = [lambda: gardenia.open(path), lambda: gardenia.open(path, mmap=True)]
        else:
            calls = [lambda: gardenia.from_bytes(bytes(data))]
        for call in calls:
            try:
                made = call()
                assert ("rose" in made) in (True, False)
            except (ValueError, MemoryError):
                refused += 1
    assert refused > 9000


def test_what_is_no_file_is_an_error_that_names_the_path(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.gdn") as caught:
        gardenia.open(tmp_path / "none.gdn")
    assert caught.value.filename.endswith("none.gdn") and caught.value.errno == 2
    (tmp_path / "text.gdn").write_text("a text that is no filter, but long enough to be one")
    with pytest.raises(gardenia.FormatError, match="text.gdn: not a Gardenia file"):
        gardenia.open(tmp_path / "text.gdn")
    with pytest.raises(OSError):
        gardenia.Bloom(items=9).save(tmp_path / "no" / "directory.gdn")
    with pytest.raises(IsADirectoryError):
        gardenia.open(tmp_path)
    with pytest.raises(TypeError):
        gardenia.open(5)
    with pytest.raises(ValueError, match="limit of 100"):
        gardenia.from_bytes(gardenia.Bloom(items=1000).to_bytes(), max_bytes=100)


SIZED = [kind for kind in KINDS if "items" in kind.options and not kind.can("fixed") and not kind.can("grow")]


@pytest.mark.parametrize("sized", SIZED, ids=repr)
def test_a_filter_that_does_not_fit_is_a_memory_error_and_no_abort(sized):
    script = f"""if True:
        import gardenia, resource
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        try:
            gardenia.make("{sized.name} items=4G")
        except MemoryError as error:
            print("MemoryError", error)
        """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("MemoryError") and "hint: lower items" in done.stdout, done


@pytest.mark.parametrize("sized", SIZED, ids=repr)
def test_a_copy_that_does_not_fit_is_a_memory_error_and_no_abort(sized):
    script = f"""if True:
        import copy, gardenia, pickle, resource
        size = gardenia.size("{sized.name} items=1M")["nbytes"]
        filter = gardenia.make("{sized.name}", items=300_000_000 * 1_000_000 // size)
        other = filter.copy()
        verbs = dict(copy=filter.copy, deepcopy=lambda: copy.deepcopy(filter), bytes=filter.to_bytes, pickle=lambda: pickle.dumps(filter, 4))
        if "merge" in filter.abilities:
            verbs["or"] = lambda: filter | other
        if "intersect" in filter.abilities:
            verbs["and"] = lambda: filter & other
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20),) * 2)
        for name, verb in verbs.items():
            try:
                verb()
                print(name, "did")
            except MemoryError:
                print(name, "MemoryError")
        """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done
    outcomes = dict(line.split() for line in done.stdout.splitlines())
    # A filter that is smaller in a file than in memory fits there.
    fits = {"bytes", "pickle"} if sized.can("send") else set()
    assert {name for name, outcome in outcomes.items() if outcome == "did"} == fits, outcomes
    assert len(outcomes) >= 4 and ("or" in outcomes) == ("merge" in sized.empty().abilities)


def test_limits_of_files_do_not_stand_between_a_filter_and_its_copies(tmp_path):
    """A compressed filter that is nearly empty takes far more in memory than in a file."""
    import copy
    import pickle

    filter = gardenia.make("compressed items=150M fpp=1%", ["rose"])
    assert filter.nbytes > 300 << 20 and len(filter.to_bytes()) < 1 << 20
    with pytest.raises(gardenia.FormatError, match="max_expansion"):
        gardenia.from_bytes(filter.to_bytes())
    for made in [filter.copy(), copy.deepcopy(filter), pickle.loads(pickle.dumps(filter)), filter | filter]:
        assert made == filter


def test_a_key_too_many_says_how_many_are_in():
    filter = gardenia.Cuckoo(items=100, fpp=0.01)
    with pytest.raises(gardenia.FullError, match="full") as caught:
        filter.update(np.arange(100_000))
    assert isinstance(caught.value, ValueError) and 100 < caught.value.added < 300
    assert filter.contains_many(np.arange(caught.value.added)).all()
    with pytest.raises(gardenia.FullError, match="no further copy"):
        [gardenia.Cuckoo(items=100).update(["rose"] * 9)]
    pairs = gardenia.Cuckoo(items=100)
    with pytest.raises(gardenia.FullError, match="no further copy") as caught:
        pairs.insert_pairs(["tulip", "daisy", "rose", "fern"], [2, 5, 9, 1])
    assert caught.value.added == 2 and pairs.contains_many(["tulip", "daisy", "fern"]).tolist() == [True, True, False]


def test_a_secret_is_needed_again_and_never_shown():
    secret = bytes(range(16))
    filter = gardenia.Bloom(WORDS, items=100, secret=secret)
    assert filter.digest("rose") == gardenia.digest("rose", secret=secret) and "rose" in filter
    data = filter.to_bytes()
    assert secret not in data and gardenia.from_bytes(data, secret=secret) == filter
    with pytest.raises(ValueError, match="hint: pass it as secret="):
        gardenia.from_bytes(data)
    with pytest.raises(ValueError, match="keyed with the secret"):
        gardenia.from_bytes(data, secret=bytes(16))
    with pytest.raises(ValueError, match="16 bytes"):
        gardenia.Bloom(items=9, secret=b"short")
    import pickle

    with pytest.raises(ValueError, match="secret"):
        pickle.dumps(filter)
    assert filter.copy() == filter


def test_plans_build():
    for design in gardenia.plan(items=1000, fpp=0.01, remove=True):
        filter = design.build()
        filter.update(range(1000))
        assert filter.kind == design.kind and "remove" in filter.abilities and filter.contains_many(range(1000)).all()
        assert design.nbytes > 0 and design.fpp <= 0.01 and design.why
        assert gardenia.make(design.spec).kind == design.kind
    for design in gardenia.plan(items=1000, fixed=True, prefer="memory"):
        assert design.build(range(1000)).contains_many(range(1000)).all()
    assert gardenia.plan(items=1000, map=8)[0].build(range(1000), [i % 256 for i in range(1000)])[7] == 7
    with pytest.raises(ValueError, match="no kind of filter can do all"):
        gardenia.plan(items=1000, remove=True, fixed=True)
    with pytest.raises(TypeError, match="no ability"):
        gardenia.plan(items=1000, fly=True)


def test_top(tmp_path):
    top = gardenia.Top(3)
    top.update(["rose"] * 3 + ["tulip"] * 2 + ["daisy"])
    top.update(np.array(["rose"]))
    top.add("fern", 9)
    assert top.most_common(2, type=str) == [("fern", 9, 9), ("rose", 4, 4)] and top.most_common(1) == [(b"fern", 9, 9)]
    assert top.bounds("rose") == (4, 4) and top.bounds("moss") == (0, 0) and top.total == 16 and top.floor == 0
    other = gardenia.Top.from_bytes(top.to_bytes())
    assert other == top
    other.merge(top)
    assert other.bounds("rose") == (8, 8) and other != top
    other.merge(other)
    assert other.bounds("rose") == (16, 16)
    other.save(tmp_path / "top.gdn")
    assert type(gardenia.open(tmp_path / "top.gdn")) is gardenia.Top and "counted" in repr(other)
    import pickle

    assert pickle.loads(pickle.dumps(other)) == other
    numbers = gardenia.Top(2)
    numbers.update(np.array([5, -1, 5]))
    assert numbers.most_common(type=int) == [(5, 2, 2), (-1, 1, 1)]
    pairs, rows = [(0.5, "rose"), (0.25, "tulip"), (1e6, "rose")], 3000
    labelled = pd.Series([text for _, text in pairs] * rows, index=[label for label, _ in pairs] * rows).sort_index()
    counted = gardenia.Top(2)
    counted.update(labelled)
    assert counted.bounds("rose") == (2 * rows, 2 * rows) and counted.total == 3 * rows
    gaps, calls = gardenia.Top(2), []
    for keys in [["rose", None], pa.array(["rose", None]), np.array(["rose", None], object), iter(["rose", None])]:
        with pytest.raises(gardenia.MissingError, match="element 1 is missing"):
            gaps.update(keys)
        gaps.update(keys, nulls="skip")
        gaps.update(keys, nulls="key")
    gaps.update([float("nan")], nulls="skip")
    assert gaps.bounds("rose")[0] == 10 and gaps.bounds(None)[0] == 3
    gaps.update(pa.array(range(200_000)), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (200_000, 200_000) and len(calls) > 2 and gaps.total == 200_013
    with pytest.raises(TypeError):
        top.update("rose")
    with pytest.raises(TypeError):
        top.add([1])


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
def test_top_counts_times_as_the_keys_that_they_are(unit):
    times = np.array(["2026-01-01", "2026-01-02", "2026-01-01"], f"datetime64[{unit}]")
    arrays = [times, times.astype(times.dtype.newbyteorder(">")), pd.Series(times), pd.DatetimeIndex(times)]
    if unit != "D":
        arrays.append(pa.array(times))
    for keys in arrays:
        top = gardenia.Top(3)
        top.update(keys)
        for key in [times[0], datetime.datetime(2026, 1, 1)]:
            assert top.bounds(key) == (2, 2), type(keys)
    gaps = np.array(["2026-01-01", "NaT"], f"datetime64[{unit}]")
    for keys in [gaps, list(gaps), pd.Series(gaps)]:
        top = gardenia.Top(3)
        with pytest.raises(gardenia.MissingError, match="element 1 is missing"):
            top.update(keys)
        top.update(keys, nulls="skip")
        assert top.total == 2
        top.update(keys, nulls="key")
        assert top.bounds(times[0]) == (3, 3) and top.bounds(None) == (1, 1)
    with pytest.raises(gardenia.MissingError):
        gardenia.Bloom(items=9).update(list(gaps))


def test_exceptions_are_of_the_usual_classes():
    for error, base in [("Spec", ValueError), ("Mismatch", ValueError), ("Full", ValueError), ("Absent", KeyError),
                        ("Remove", ValueError), ("Format", ValueError), ("Unsupported", TypeError), ("Missing", ValueError)]:
        error = getattr(gardenia, f"{error}Error")
        assert issubclass(error, base) and issubclass(error, gardenia.GardeniaError) and error.__doc__


def test_the_source_distribution_builds_outside_the_workspace(tmp_path):
    import os

    crate = pathlib.Path(__file__).parents[1]
    maturin = pathlib.Path(sys.executable).parent / "maturin"
    subprocess.run([maturin, "sdist", "--manifest-path", crate / "Cargo.toml", "--out", tmp_path], check=True, capture_output=True)
    (archive,) = tmp_path.glob("gardenia-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    (source,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert (source / "PKG-INFO").exists() and not (source / "check").exists()
    # What pip does with it, but without optimisation, which takes most of the time.
    environment = dict(os.environ, CARGO_PROFILE_DEV_OPT_LEVEL="0")
    environment["CARGO_TARGET_DIR"] = os.environ.get("CARGO_TARGET_DIR", str(crate.parents[1] / "target")) + "/sdist"
    subprocess.run([maturin, "build", "--profile", "dev", "--out", tmp_path], check=True, capture_output=True, env=environment, cwd=source)
    (wheel,) = tmp_path.glob("gardenia-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    script = "import gardenia; f = gardenia.Bloom(['rose'], items=10); print(gardenia.__file__, 'rose' in f)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path / "installed", capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(tmp_path / "installed" / "gardenia" / "__init__.py"), "True"]


def test_stubs_are_those_of_the_table():
    crate = pathlib.Path(__file__).parents[1]
    done = subprocess.run([sys.executable, crate / "stubs.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
