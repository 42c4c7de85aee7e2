"""Filters on Apache Spark 4: built by many workers, merged on the executors, asked in queries.

    import gardenia.spark as gs

    seen = gs.build(visits, "user", "blocked items=100M fpp=1%")       # a filter on the driver
    rest = others.where(gs.contains(seen, "user"))                     # a column of truth values

Only public DataFrame and Arrow interfaces are used, so all of it also runs over Spark Connect. `docs/engines.md` is the guide.
The package must be installed on the workers, in the version that the driver has.
"""

import collections
import contextlib
import dataclasses
import hashlib
import logging
import os
import pathlib
import re
import shutil
import tempfile
import uuid
import weakref

import pyarrow as pa
import pyarrow.compute
import pyarrow.fs
import pyspark.errors
from pyspark import SparkFiles, TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType

import gardenia
from gardenia import _gardenia

__all__ = ["Cost", "build", "contains", "cost", "count", "dedup", "distinct_estimate", "to_spark", "top"]

log = logging.getLogger("gardenia.spark")

# A filter travels in rows of this many bytes. The JVM has no row above 2 GB, and messages of Spark Connect have less.
PIECE = 1 << 20
# A filter file from here on is mapped by the workers instead of read, so that all of them share its memory.
MAPPED = 64 << 20
# Filters that a worker process holds at a time.
HELD = 8

ROWS = "part bigint, piece int, pieces int, data binary"
ARROW = pa.schema([("part", pa.int64()), ("piece", pa.int32()), ("pieces", pa.int32()), ("data", pa.binary())])


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a build takes, known before it starts."""

    spec: str
    """The spec with everything filled in, or the name of the format."""
    filter_bytes: int
    """Bytes of one filter. Every task of the first stage sends that much to the merge."""
    task_bytes: int
    """Most bytes that a Python worker holds: the merged filter, and another one as it arrives and as it is decoded."""
    executor_tasks: int
    """Tasks that run on an executor at a time: its cores / spark.task.cpus."""
    at_least: bool = False
    """Whether there may be more of them: in standalone mode an executor uses all cores of its machine unless spark.executor.cores is set."""

    @property
    def executor_bytes(self):
        """Most bytes that the Python workers of an executor hold, without Arrow batches: room for spark.executor.memoryOverhead."""
        return self.task_bytes * self.executor_tasks

    def __str__(self):
        size = lambda count: f"{count / 1e6:,.1f} MB"
        return (
            f"{self.spec}: {size(self.filter_bytes)} for each task of the first stage, {size(self.task_bytes)} at most in a Python worker, "
            f"{'at least ' * self.at_least}{size(self.executor_bytes)} on an executor of {self.executor_tasks} tasks"
            + ("; it may run more: set spark.executor.cores to know" if self.at_least else "")
        )


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a worker makes an empty filter: a function of this package with its arguments."""

    function: str
    arguments: tuple
    options: dict

    def make(self):
        return getattr(gardenia, self.function)(*self.arguments, **self.options)

    def read(self, data):
        # These bytes are our own, so nothing limits what they may take.
        if self.function == "make":
            return gardenia.from_bytes(data, secret=self.options.get("secret"), max_bytes=1 << 62, max_expansion=1 << 62)
        if self.function == "Foreign":
            return gardenia.Foreign.from_bytes(data, self.arguments[0], max_bytes=1 << 62)
        return gardenia.Top.from_bytes(data)


def build(df, column, spec=None, *, format=None, path=None, nulls="error", partitions=None, depth=2, secret=None, **options):
    """The filter of all keys in a column: one for each partition, merged on the executors.

    `spec` is a text such as "blocked items=100M fpp=1%"; options may also be keyword arguments, as in `gardenia.make`. `format="spark"`
    with `items` and `fpp` builds the filter of another program instead, which that program reads. Kinds that cannot be merged, wrong
    options and columns without keys are errors before a job starts.

    Returns the filter. With `path`, the last task writes it to storage that all machines share, and nothing is returned: a file name,
    or an address that Arrow knows (hdfs://, s3://). The file appears whole or not at all.

    `nulls` is that of `add_many`: "error", "skip" or "key". `partitions` is the most tasks of the first stage: each sends a whole filter.
    `depth` is the number of merges from a partition's filter to the result. `secret` makes a keyed filter, and is sent to the workers.
    """
    recipe, known = _recipe(spec, format, secret, options)
    return _reduced(df, column, recipe, known, nulls, partitions, depth, path)


def cost(spec=None, *, format=None, **options):
    """What `build` with these arguments takes: a `Cost`. Nothing is run."""
    return _cost(*_recipe(spec, format, None, options)[1])


def contains(filter, column, *, nulls="null", secret=None):
    """A column that says of each key whether it may be in the filter.

    `filter` is a filter or the path of a filter file on the driver, such as one that the command built. It is sent to each executor once,
    as a file, and held by its worker processes; from 64 MB on they map the file and share its memory. `nulls="null"` answers NULL for
    NULL; "skip" answers false, "key" asks for the missing value as a key, "error" fails. `secret` is that of a keyed filter.
    """
    return _asked(filter, column, "contains_many", "boolean", nulls, secret)


def count(filter, column, *, nulls="null", secret=None):
    """A column that says of each key how often it was added, by the estimate of a filter that counts. Arguments as for `contains`."""
    if not isinstance(filter, (str, os.PathLike)) and "count" not in getattr(filter, "abilities", ()):
        raise gardenia.UnsupportedError("this filter cannot count keys. hint: build a count-min, counting or spectral filter")
    return _asked(filter, column, "count_many", "bigint", nulls, secret)


def top(df, column, keys=10, *, memory=None, nulls="error", partitions=None, depth=2):
    """The most frequent keys of a column, as a `gardenia.Top`. Keys are counted in a sketch for each partition, and these are merged."""
    recipe = Recipe("Top", (keys,), {"memory": memory})
    size = len(recipe.make().to_bytes()) if memory is None else memory
    return _reduced(df, column, recipe, (f"top keys={keys}", size), nulls, partitions, depth, None)


def distinct_estimate(df, column, spec, *, nulls="error", partitions=None, depth=2, **options):
    """About how many distinct keys a column holds: a filter of a kind that can estimate it is built, as by `build`."""
    recipe, known = _recipe(spec, None, None, options)
    name = known[0].split()[0]
    if "estimate" not in _abilities(name):
        raise gardenia.UnsupportedError(f"{name} cannot estimate how many distinct keys it holds. hint: use bloom")
    return _reduced(df, column, recipe, known, nulls, partitions, depth, None).estimated_items


def dedup(df, column, fpp=1e-6, *, nulls="error"):
    """One row for each key of a column: at most a share `fpp` of the distinct keys is lost.

    Rows are sent to tasks by their key, and each task asks a filter that grows with its keys. So a task needs about two bytes per distinct
    key at the default rate, where `dropDuplicates` holds or sorts the keys themselves. Which row of a key is kept is not determined.
    `nulls="skip"` leaves out rows without a key, "key" keeps one of them.
    """
    _check_nulls(nulls)
    if not 0 < fpp < 1:
        raise gardenia.SpecError(f"fpp is {fpp}, and must be above 0 and below 1")
    # A kind that grows, and in which a repeated key takes no room.
    spec = next(design.spec for design in gardenia.plan(fpp=fpp, grow=True) if "copies" not in _abilities(design.kind))
    # The key is a column of its own on the way: an expression may have the name of a column that it changes, or none.
    _check_keys(df.select(column), gardenia.make(spec), nulls)
    key = f"gardenia_{uuid.uuid4().hex}"
    keyed = df.select("*", (F.col(column) if isinstance(column, str) else column).alias(key))
    return keyed.repartition(key).mapInArrow(_task("_first_rows", spec, nulls), df.schema)


def to_spark(filter):
    """The bytes of a filter that Spark's own `BloomFilter.readFrom` or `CountMinSketch.readFrom` accepts."""
    if isinstance(filter, gardenia.Foreign) and filter.format.startswith("spark"):
        return filter.to_bytes()
    raise gardenia.UnsupportedError(
        "Spark hashes keys in its own way, and the keys of this filter are no longer known. "
        'hint: build it from the keys, with build(df, column, format="spark", items=…, fpp=…) or gardenia.Foreign("spark", items=…, fpp=…)'
    )


# What is checked before a job starts.


def _abilities(name):
    rows = [row for row in _gardenia._table() if row["name"] == name]
    return set(rows[0]["abilities"]) if rows else None


def _recipe(spec, format, secret, options):
    """How the filter is made; its filled spec and its size."""
    if (spec is None) == (format is None):
        raise TypeError("build needs a spec or a format. hint: pass \"blocked items=1M fpp=1%\", or format=\"spark\" with items and fpp")
    if format is not None:
        can = {name: abilities for name, _, abilities in _gardenia._formats()}
        if format in can and not {"write", "merge"} <= set(can[format]):
            raise gardenia.UnsupportedError(f"filters in the format {format} cannot be built in parts and merged. hint: use spark or parquet")
        if "items" not in options:
            raise gardenia.SpecError(f"items is missing: for how many keys the filter in the format {format} is to be")
        made = gardenia.Foreign(format, **options)
        return Recipe("Foreign", (format,), options), (format, made.bits // 8)
    _check_abilities(spec.split()[0] if spec.split() else "")
    size = gardenia.size(spec, **options)
    _check_abilities(size["spec"].split()[0])
    recipe = Recipe("make", (spec,), options | ({} if secret is None else {"secret": secret}))
    return recipe, (size["spec"], max(size["nbytes"], size["file_bytes"]))


def _check_abilities(name):
    can = _abilities(name)
    if can is None or {"insert", "merge"} <= can:
        return
    able = ", ".join(row["name"] for row in _gardenia._table() if {"insert", "merge"} <= set(row["abilities"]))
    reason = "it is built from all its keys at once" if "fixed" in can else "two of them cannot be merged"
    raise gardenia.UnsupportedError(f"{name} cannot be built in parts: {reason}. hint: use one of {able}")


def _check_nulls(nulls):
    if nulls not in ("error", "skip", "key"):
        raise ValueError(f'nulls is {nulls!r}, and must be "error", "skip" or "key"')


def _check_keys(keys, filter, nulls):
    """Asks the package, with an empty column of the same type, whether these are keys."""
    field = keys.schema.fields[0]
    if isinstance(field.dataType, StructType):  # to the package it would be a table
        raise TypeError(f"column {field.name}: a struct has no keys. hint: use one of its fields, or cast it to text")
    try:
        _add(filter, pa.array([], to_arrow_type(field.dataType, timezone="UTC")), nulls)
    except TypeError as error:
        raise TypeError(f"column {field.name}: {error}") from None


def _cost(spec, size):
    setting = SparkSession.active().conf.get
    cores, known = _executor_cores(setting("spark.master", ""), setting("spark.executor.cores", ""))
    return Cost(spec, size, 3 * size, max(1, cores // int(setting("spark.task.cpus", "1"))), not known)


def _executor_cores(master, setting):
    """Cores of an executor, and whether that is certain; if not, it has at least that many."""
    local = re.fullmatch(r"local(?:\[\s*(\*|\d+)\s*(?:,.*)?\])?", master)
    cluster = re.fullmatch(r"local-cluster\[[^,]*,\s*(\d+)\s*,.*\]", master)
    if local:  # the driver is the only executor, whatever the setting
        return (os.cpu_count() or 1 if local[1] == "*" else int(local[1] or 1)), True
    if setting:
        return int(setting), True
    if cluster:
        return int(cluster[1]), True
    return 1, master.startswith(("yarn", "k8s"))  # where the default is one core


# What the driver does.


def _reduced(df, column, recipe, known, nulls, partitions, depth, path):
    """Runs the job: the filters of all partitions, merged in `depth` steps."""
    _check_nulls(nulls)
    path = path if path is None else _absolute(os.fspath(path))
    if depth < 1 or partitions is not None and partitions < 1:
        raise ValueError(f"depth is {depth} and partitions is {partitions}: both must be at least 1")
    keys = df.select(column)
    empty = recipe.make()
    if "merge" not in getattr(empty, "abilities", ("merge",)):  # some kinds can be merged in some forms only
        raise gardenia.UnsupportedError(f"{known[0]} cannot be built in parts: two of them cannot be merged. hint: use another policy or form")
    _check_keys(keys, empty, nulls)
    log.warning("%s", _cost(*known))  # by default Python shows warnings, and nothing below
    if partitions is not None:
        keys = keys.coalesce(partitions)
    job = uuid.uuid4().hex
    rows = keys.mapInArrow(_task("_built", recipe, nulls), ROWS)
    # Parts are sent by their number, so that a repeated task sends its filter to the same place. Spark joins small merge tasks.
    width = int(SparkSession.active().conf.get("spark.sql.shuffle.partitions"))
    for step in range(1, depth):
        most = round(width ** ((depth - step) / (depth - 1)))
        sent = rows.repartition("part") if most >= width else rows.repartition(most, "part")
        rows = sent.mapInArrow(_task("_merged", recipe), ROWS)
    last = _task("_merged", recipe) if path is None else _task("_written", recipe, path, job)
    try:
        with _understood():
            parts = list(_filters(rows.repartition(1).mapInArrow(last, ROWS).toArrow().to_batches()))
        if path is not None:
            return _commit(path, job, parts[0].decode() if parts else None, empty)
    except BaseException:
        if path is not None:
            with contextlib.suppress(OSError):  # the error that counts is the first
                _clear(path, job)
        raise
    return recipe.read(parts[0]) if parts else empty


@contextlib.contextmanager
def _understood():
    """Turns the report of a failed task into the exception that the task raised, if it is one of ours."""
    try:
        yield
    except pyspark.errors.PySparkException as error:
        found = re.findall(r"^gardenia\.(\w+Error): (.*)$", str(error), re.MULTILINE)
        known = [(name, text) for name, text in found if hasattr(gardenia, name)]
        if not known:
            raise
        raise getattr(gardenia, known[-1][0])(known[-1][1]) from error


def _absolute(path):
    """The path as the driver means it: workers have directories of their own to start from."""
    return path if "://" in path else os.path.abspath(path)


def _storage(path):
    """The file system of an absolute path or an address, and the path there."""
    return pyarrow.fs.FileSystem.from_uri(path) if "://" in path else (pyarrow.fs.LocalFileSystem(), path)


def _commit(path, job, written, empty):
    """Gives the file of the committed task its name, and removes what other attempts left."""
    files, at = _storage(path)
    if written is None:
        written = f"{at}.{job}.empty"
        with files.open_output_stream(written) as stream:
            stream.write(empty.to_bytes())
    if files.get_file_info(written).type == pyarrow.fs.FileType.NotFound:
        raise FileNotFoundError(f"{path}: the worker wrote {written}, and the driver does not see it. hint: use storage that all machines share")
    files.move(written, at)
    _clear(path, job)


def _clear(path, job):
    """Removes the files that attempts of a job have left."""
    files, at = _storage(path)
    beside = pyarrow.fs.FileSelector(os.path.dirname(at) or ".", allow_not_found=True)
    for file in files.get_file_info(beside):
        if file.base_name.startswith(f"{os.path.basename(at)}.{job}."):
            files.delete_file(file.path)


# Per session, the directory of the files that it sends: executors that start later fetch them from there.
_directories = weakref.WeakKeyDictionary()


def _sending(filter):
    """The name under which the executors find a filter: the hash of its file. It is sent if this session has not done so."""
    session = SparkSession.active()
    if session not in _directories:
        _directories[session] = tempfile.TemporaryDirectory(prefix="gardenia-")
    directory = pathlib.Path(_directories[session].name)
    if isinstance(filter, (str, os.PathLike)):
        with open(filter, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size, write = os.path.getsize(filter), lambda at: shutil.copyfile(filter, at)
    else:
        data = filter.to_bytes()
        digest = hashlib.sha256(data).hexdigest()
        size, write = len(data), lambda at: at.write_bytes(data)
    name = f"gardenia-{digest}.gdn"
    if not (directory / name).exists():
        try:
            write(directory / name)
            session.addArtifacts(str(directory / name), file=True)
        except BaseException:
            (directory / name).unlink(missing_ok=True)  # the file stands for "sent"
            raise
    return name, size


def _asked(filter, column, method, type, nulls, secret):
    if nulls != "null":
        _check_nulls(nulls)
    name, size = _sending(filter)
    format = filter.format if isinstance(filter, gardenia.Foreign) else None
    ask = _task("_answers", name, size, method, type, nulls, secret, format)
    ask.__annotations__ = {"batches": pa.Array, "return": pa.Array}
    return F.arrow_udf(ask, type)(column)


def _task(name, *arguments):
    """A function of this module for the workers. It is pickled by value, so that it compares versions before it uses anything there."""
    version = gardenia.__version__

    def run(batches):
        import gardenia

        if gardenia.__version__ != version:
            raise gardenia.UnsupportedError(
                f"the driver has gardenia {version}, and a worker has {gardenia.__version__}. hint: install the same version on both"
            )
        from gardenia import spark

        return getattr(spark, name)(batches, *arguments)

    return run


# What the workers do.


def _add(filter, keys, nulls):
    filter.update(keys, nulls=nulls)


def _pieces(data):
    """The bytes of a filter as rows. The part has the number of the task's partition, which a repeated task has, too."""
    part, pieces = TaskContext.get().partitionId(), max(1, -(-len(data) // PIECE))
    for piece in range(pieces):
        row = [[part], [piece], [pieces], [data[piece * PIECE : (piece + 1) * PIECE]]]
        yield pa.RecordBatch.from_arrays([pa.array(values, field.type) for values, field in zip(row, ARROW)], schema=ARROW)


def _joined(pieces):
    return b"".join(pieces[number] for number in range(len(pieces)))


def _filters(batches):
    """The bytes of each part, as soon as all its pieces have arrived, in whatever order. Nothing of a part is held after that."""
    waiting = collections.defaultdict(dict)
    for batch in batches:
        parts, numbers, totals = (batch.column(at).to_pylist() for at in range(3))
        for row, (part, number, total) in enumerate(zip(parts, numbers, totals)):
            waiting[part][number] = batch.column(3)[row].as_py()  # a copy, so that the batch is not held
            if len(waiting[part]) == total:
                yield _joined(waiting.pop(part))
    if waiting:
        raise RuntimeError(f"parts {sorted(waiting)} arrived without all their pieces")


def _built(batches, recipe, nulls):
    """One filter for the rows of a partition; none if there are no rows."""
    filter = None
    for batch in batches:
        if batch.num_rows:
            if filter is None:
                filter = recipe.make()
            _add(filter, batch.column(0), nulls)
    if filter is not None:
        yield from _pieces(filter.to_bytes())


def _merged_bytes(batches, recipe):
    only = merged = None
    for data in _filters(batches):
        if only is None and merged is None:
            only = data  # perhaps there is no other: then it need not be decoded
        else:
            if merged is None:
                merged, only = recipe.read(only), None
            merged.merge(recipe.read(data))
        data = None  # freed before the next one arrives
    return only if merged is None else merged.to_bytes()


def _merged(batches, recipe):
    """One filter for all filters that arrive."""
    data = _merged_bytes(batches, recipe)
    if data is not None:
        yield from _pieces(data)


def _written(batches, recipe, path, job):
    """As `_merged`, into a file with a name that no other attempt has. The name is the result."""
    data = _merged_bytes(batches, recipe)
    if data is not None:
        files, at = _storage(path)
        at = f"{at}.{job}.{uuid.uuid4().hex}"
        with files.open_output_stream(at) as stream:
            stream.write(data)
        yield from _pieces(at.encode())


_held = collections.OrderedDict()


def _open(name, size, secret, format):
    """A filter that was sent to this executor; read or mapped once for this process."""
    key = (name, secret)
    if key not in _held:
        path = SparkFiles.get(name)
        if format is not None:
            _held[key] = gardenia.Foreign.from_bytes(pathlib.Path(path).read_bytes(), format, max_bytes=1 << 62)
        else:
            _held[key] = gardenia.open(path, mmap=size >= MAPPED, secret=secret, max_bytes=1 << 62, max_expansion=1 << 62)
        while len(_held) > HELD:
            _held.popitem(last=False)
    _held.move_to_end(key)
    return _held[key]


def _answers(keys, name, size, method, type, nulls, secret, format):
    filter = _open(name, size, secret, format)
    within = nulls if nulls != "null" else "key" if format is None else "skip"
    answers = pa.array(getattr(filter, method)(keys, nulls=within, arrow=True))
    if type == "bigint":
        answers = answers.cast(pa.int64())
    if nulls == "null" and keys.null_count:
        answers = pyarrow.compute.if_else(keys.is_valid(), answers, pa.scalar(None, answers.type))
    return answers


def _first_rows(batches, spec, nulls):
    """The rows whose keys, in the last column, this task has not seen; without that column."""
    seen = gardenia.make(spec)
    for batch in batches:
        rows = batch.select(list(range(batch.num_columns - 1)))
        yield rows.filter(pa.array(seen.add_many(batch.column(batch.num_columns - 1), nulls=nulls, arrow=True)))
