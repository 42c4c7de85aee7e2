"""Types of the package gardenia, written by stubs.py from the table of kinds: do not edit."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, ClassVar, Literal, Protocol, Self, overload

import numpy as np
import numpy.typing as npt

__all__: list[str]
__version__: str

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _Bar(Protocol):
    def update(self, n: int, /) -> object: ...

# A key: str, bytes, int, float, bool, None, tuple, UUID, datetime, timedelta, IP address, path, or a numpy scalar.
_Key = Any
_Keys = Iterable[_Key] | npt.NDArray[Any] | _ArrowArray | _ArrowStream
_Numbers = Iterable[int] | npt.NDArray[np.integer[Any]] | _ArrowArray | _ArrowStream
_Nulls = Literal["error", "skip", "key"]
_Progress = Callable[[int, int | None], object] | _Bar | None
_Path = str | bytes | PathLike[str]

class GardeniaError(Exception):
    """Any error of this package."""

class AbsentError(GardeniaError, KeyError):
    """A key that is not in the filter. Also a KeyError."""

class FormatError(GardeniaError, ValueError):
    """Bytes that are not a filter, or a corrupted one."""

class FullError(GardeniaError, ValueError):
    """The filter has no room for a key. `added` says how many keys of the call were added before it."""
    added: int

class MismatchError(GardeniaError, ValueError):
    """Two filters that cannot be combined; the message says what differs."""

class MissingError(GardeniaError, ValueError):
    """A missing value (None, null, NaN) among keys, where `nulls` is "error"."""

class RemoveError(GardeniaError, ValueError):
    """A key that can no longer be removed: the filter has lost count of it."""

class SpecError(GardeniaError, ValueError):
    """Options that do not make a filter; the message says what to change."""

class UnsupportedError(GardeniaError, TypeError):
    """This filter cannot do that. Also a TypeError."""

class Filter:
    """A filter of any kind."""
    kind: ClassVar[str]
    def __contains__(self, key: _Key, /) -> bool: ...
    def __or__(self, other: Self, /) -> Self: ...
    def __and__(self, other: Self, /) -> Self: ...
    def __ior__(self, other: Self, /) -> Self: ...
    def __iand__(self, other: Self, /) -> Self: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __getitem__(self, key: _Key, /) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *reason: object) -> None: ...
    def contains_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """An array that says of each key whether it may be in the filter."""
    def copy(self) -> Self:
        """A copy, in memory. Of a mapped filter, one that can be changed."""
    def close(self) -> None:
        """Closes a mapped file. A filter in memory stays as it is."""
    def save(self, path: _Path) -> None:
        """Writes the filter to a file, whole or not at all. Every program that has Gardenia reads it."""
    def to_bytes(self) -> bytes:
        """The filter as bytes: the content of a file."""
    @classmethod
    def from_bytes(cls, data: bytes, *, secret: bytes | None = None, max_bytes: int | None = None, max_expansion: int | None = None) -> Self:
        """The filter in these bytes, with every checksum verified. `secret` is that of a keyed filter."""
    @classmethod
    def open(cls, path: _Path, *, mmap: bool = False, secret: bytes | None = None, max_bytes: int | None = None, max_expansion: int | None = None) -> Self:
        """Reads a file, with every checksum verified. `mmap=True` maps it instead: it opens at once, answers from the file, and is
        read-only. Nobody may change a mapped file in place or cut it short: answers would be wrong, or the process would be killed (SIGBUS).
        """
    def digest(self, key: _Key) -> int:
        """The digest of a key in this filter: its hash, an int of 64 bits."""
    @property
    def spec(self) -> str | None:
        """The spec of a filter like this one, with everything filled in; None if another program made it."""
    @property
    def options(self) -> dict[str, Any]:
        """The options of a filter like this one, as a dict."""
    @property
    def abilities(self) -> frozenset[str]:
        """What this filter can do: names such as "insert", "remove", "count"."""
    @property
    def fpp(self) -> float:
        """The current false-positive rate, by how full the filter is."""
    @property
    def fill(self) -> float:
        """The share of cells that are set."""
    @property
    def estimated_items(self) -> float | None:
        """How many distinct keys are in the filter, estimated; None if this kind cannot estimate it."""
    @property
    def planned_items(self) -> int:
        """The number of keys that the filter was planned for; 0 if its shape was given."""
    @property
    def planned_fpp(self) -> float:
        """The false-positive rate that the filter was planned for; 0 if its shape was given."""
    @property
    def nbytes(self) -> int:
        """Bytes of memory that the cells take; of a mapped filter, bytes of the file."""
    @property
    def metadata(self) -> bytes:
        """Up to 64 KiB of your own that are stored with the filter."""
    @metadata.setter
    def metadata(self, value: bytes) -> None: ...
    @property
    def mapped(self) -> bool:
        """Whether the filter answers from a mapped file."""

class Bloom(Filter):
    """The classical Bloom filter: k cache lines per key, 9.6 bits per key at 1 %.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        bits: Size in bits.
        hashes: Bits or cells per key, with a size; the best number unless given.
        scheme: How positions follow from a digest: fractional unless given.

    >>> filter = gardenia.Bloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        bits: int | str | None = None,
        hashes: int | str | None = None,
        scheme: Literal["independent", "partition", "partition-prime", "double", "enhanced-square", "enhanced-cube", "enhanced", "triple", "partition-independent", "fractional", "double-odd"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def merge(self, other: Self) -> None:
        """Merges the keys of another filter of the same options into this one; counts add up."""

class BlockedBloom(Filter):
    """One cache line per key, 9.9 bits per key at 1 %.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        bits: Size in bits.
        hashes: Bits or cells per key, with a size; the best number unless given.

    >>> filter = gardenia.BlockedBloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        bits: int | str | None = None,
        hashes: int | str | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def merge(self, other: Self) -> None:
        """Merges the keys of another filter of the same options into this one; counts add up."""

class CountingBloom(Filter):
    """Counts keys and removes them again; four times the size of bloom.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        bits: Size in bits.
        cells: Size in cells, for kinds whose cells have several bits.
        hashes: Bits or cells per key, with a size; the best number unless given.
        width: Bits per cell.
        scheme: How positions follow from a digest: fractional unless given.

    >>> filter = gardenia.CountingBloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        bits: int | str | None = None,
        cells: int | str | None = None,
        hashes: int | str | None = None,
        width: int | str | None = None,
        scheme: Literal["independent", "partition", "partition-prime", "double", "enhanced-square", "enhanced-cube", "enhanced", "triple", "partition-independent", "fractional", "double-odd"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def remove(self, key: _Key) -> None:
        """Removes `key` once. An AbsentError (a KeyError) if it is not in the filter. Only remove what was added."""
    def discard(self, key: _Key) -> bool:
        """Removes `key` once if it is in the filter; whether it was. Only discard what was added."""
    def discard_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Removes each key once if it is in the filter; an array that says of each whether it was."""
    def count(self, key: _Key) -> int:
        """How often `key` was added, by the filter's estimate; 0 if it is certainly not in the filter."""
    def count_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.uint64]:
        """An array that says of each key how often it was added, by the filter's estimate."""
    def insert_pairs(self, keys: _Keys, times: _Numbers, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key as many times as `times` says: a list or array as long as the keys."""
    def merge(self, other: Self) -> None:
        """Merges the keys of another filter of the same options into this one; counts add up."""

class BitwiseBloom(Filter):
    """Counts without a limit, one digit per level.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        bits: Size in bits.
        cells: Size in cells, for kinds whose cells have several bits.
        hashes: Bits or cells per key, with a size; the best number unless given.
        digit: Bits per digit of a count: 4 unless given.
        width: Bits per cell.
        scheme: How positions follow from a digest: fractional unless given.

    >>> filter = gardenia.BitwiseBloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        bits: int | str | None = None,
        cells: int | str | None = None,
        hashes: int | str | None = None,
        digit: int | str | None = None,
        width: int | str | None = None,
        scheme: Literal["independent", "partition", "partition-prime", "double", "enhanced-square", "enhanced-cube", "enhanced", "triple", "partition-independent", "fractional", "double-odd"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def count(self, key: _Key) -> int:
        """How often `key` was added, by the filter's estimate; 0 if it is certainly not in the filter."""
    def count_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.uint64]:
        """An array that says of each key how often it was added, by the filter's estimate."""
    def insert_pairs(self, keys: _Keys, times: _Numbers, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key as many times as `times` says: a list or array as long as the keys."""

class SpectralBloom(Filter):
    """Counts by the least of a key's cells, under one of three policies.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        policy: How a spectral filter counts.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        bits: Size in bits.
        cells: Size in cells, for kinds whose cells have several bits.
        hashes: Bits or cells per key, with a size; the best number unless given.
        width: Bits per cell.
        compact: Cells as wide as their counts need: smaller and slower.
        secondary_cells: Cells of the secondary filter: half of the primary's unless given.
        secondary_hashes: Cells per key there: as in the primary unless given.
        no_marker: Without the marker, as in the paper's basic form: some counts are then too small.
        as_printed: As no-marker, and the secondary filter is believed, as in the paper: counts are wrong more often.
        scheme: How positions follow from a digest: fractional unless given.

    >>> filter = gardenia.SpectralBloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        policy: Literal["minimum-selection", "minimum-increase", "recurring-minimum"] | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        bits: int | str | None = None,
        cells: int | str | None = None,
        hashes: int | str | None = None,
        width: int | str | None = None,
        compact: bool | None = None,
        secondary_cells: int | str | None = None,
        secondary_hashes: int | str | None = None,
        no_marker: bool | None = None,
        as_printed: bool | None = None,
        scheme: Literal["independent", "partition", "partition-prime", "double", "enhanced-square", "enhanced-cube", "enhanced", "triple", "partition-independent", "fractional", "double-odd"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def remove(self, key: _Key) -> None:
        """Removes `key` once. An AbsentError (a KeyError) if it is not in the filter. Only remove what was added."""
    def discard(self, key: _Key) -> bool:
        """Removes `key` once if it is in the filter; whether it was. Only discard what was added."""
    def discard_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Removes each key once if it is in the filter; an array that says of each whether it was."""
    def count(self, key: _Key) -> int:
        """How often `key` was added, by the filter's estimate; 0 if it is certainly not in the filter."""
    def count_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.uint64]:
        """An array that says of each key how often it was added, by the filter's estimate."""
    def insert_pairs(self, keys: _Keys, times: _Numbers, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key as many times as `times` says: a list or array as long as the keys."""
    def merge(self, other: Self) -> None:
        """Merges the keys of another filter of the same options into this one; counts add up."""

class StableBloom(Filter):
    """Forgets keys at random, the older the more likely.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        bits: Size in bits.
        cells: Size in cells, for kinds whose cells have several bits.
        hashes: Bits or cells per key, with a size; the best number unless given.
        width: Bits per cell.
        decrements: Cells that an insertion ages, with cells and hashes, instead of fpp.
        drawn: Draws the cells that age one by one, as in the paper: slower.
        scheme: How positions follow from a digest: fractional unless given.

    >>> filter = gardenia.StableBloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        bits: int | str | None = None,
        cells: int | str | None = None,
        hashes: int | str | None = None,
        width: int | str | None = None,
        decrements: int | str | None = None,
        drawn: bool | None = None,
        scheme: Literal["independent", "partition", "partition-prime", "double", "enhanced-square", "enhanced-cube", "enhanced", "triple", "partition-independent", "fractional", "double-odd"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""

class A2Bloom(Filter):
    """Remembers the last keys for certain, and forgets older ones.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        bits: Size in bits.
        hashes: Bits or cells per key, with a size; the best number unless given.
        scheme: How positions follow from a digest: fractional unless given.

    >>> filter = gardenia.A2Bloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        bits: int | str | None = None,
        hashes: int | str | None = None,
        scheme: Literal["independent", "partition", "partition-prime", "double", "enhanced-square", "enhanced-cube", "enhanced", "triple", "partition-independent", "fractional", "double-odd"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""

class ChoiceBloom(Filter):
    """Fewer false positives in the same bits: keys choose among groups of positions.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        bits: Size in bits.
        hashes: Bits or cells per key, with a size; the best number unless given.
        choices: Groups of bits that a key may choose from: 2 unless given.
        effort: How hard keys choose: online unless given; all others need all keys at once.
        scheme: How positions follow from a digest: fractional unless given.

    >>> filter = gardenia.ChoiceBloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        bits: int | str | None = None,
        hashes: int | str | None = None,
        choices: int | str | None = None,
        effort: Literal["online", "rounds", "partitioned", "propagated"] | int | None = None,
        scheme: Literal["independent", "partition", "partition-prime", "double", "enhanced-square", "enhanced-cube", "enhanced", "triple", "partition-independent", "fractional", "double-odd"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def merge(self, other: Self) -> None:
        """Merges the keys of another filter of the same options into this one; counts add up."""

class CountMin(Filter):
    """Counts a stream of any length, in a size that does not depend on it.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        epsilon: How far a count may be above the truth, as a share of all that was counted: 0.01 % unless given.
        delta: How often a count may be farther above: 1 % unless given.
        columns: Cells per row.
        rows: Rows, with a size: 4 unless given.
        bits: Size in bits.
        width: Bits per cell.
        copies: Copies of the modified form.
        form: How rows are hashed: original unless given.
        update: What happens to the cells of a key: conservative unless given.

    >>> filter = gardenia.CountMin()
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        epsilon: float | str | None = None,
        delta: float | str | None = None,
        columns: int | str | None = None,
        rows: int | str | None = None,
        bits: int | str | None = None,
        width: int | str | None = None,
        copies: int | str | None = None,
        form: Literal["original", "modified"] | None = None,
        update: Literal["plain", "conservative"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def count(self, key: _Key) -> int:
        """How often `key` was added, by the filter's estimate; 0 if it is certainly not in the filter."""
    def count_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.uint64]:
        """An array that says of each key how often it was added, by the filter's estimate."""
    def insert_pairs(self, keys: _Keys, times: _Numbers, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key as many times as `times` says: a list or array as long as the keys."""
    def merge(self, other: Self) -> None:
        """Merges the keys of another filter of the same options into this one; counts add up."""

class BinaryFuse(Filter):
    """Built once from all keys: three reads per query, 9 bits per key at 1 in 256.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        fingerprint: Bits per fingerprint, instead of fpp: 8 report 1 absent key in 256 as present.
        arity: Cells per key: 3 unless given; 4 is 4 % smaller and slower.

    >>> filter = gardenia.BinaryFuse(["rose", "tulip"])
    >>> "rose" in filter
    True
    """
    def __new__(
        cls,
        keys: _Keys,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        fingerprint: int | str | None = None,
        arity: int | str | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...

class Bloomier(Filter):
    """A static map from keys to numbers.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        value_bits: Bits per value: those of the largest unless given.
        check: Bits that recognise absent keys: 8 unless given, for 1 in 256.
        arity: Cells per key: 3 unless given; 4 is 4 % smaller and slower.

    >>> filter = gardenia.Bloomier({"rose": 7, "tulip": 8})
    >>> filter["rose"], "tulip" in filter
    (7, True)
    """
    def __new__(
        cls,
        keys: Mapping[_Key, int] | _Keys, values: _Numbers | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        value_bits: int | str | None = None,
        check: int | str | None = None,
        arity: int | str | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def get(self, key: _Key, default: Any = None) -> Any:
        """The value of `key`; `default` if it is certainly not in the map."""
    def get_many(self, keys: _Keys, default: int = -1, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.int64]:
        """An array of the values of keys; `default` for those that are certainly not in the map."""

class Ribbon(Filter):
    """Built once from all keys in the fewest bits, 6.7 per key at 1 %; any rate.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        fingerprint: Bits per fingerprint, instead of fpp: 8 report 1 absent key in 256 as present.

    >>> filter = gardenia.Ribbon(["rose", "tulip"])
    >>> "rose" in filter
    True
    """
    def __new__(
        cls,
        keys: _Keys,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        fingerprint: int | str | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...

class Cuckoo(Filter):
    """Fingerprints: keys can be removed again, in the size of bloom.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        cells: Size in cells, for kinds whose cells have several bits.
        width: Bits per cell.

    >>> filter = gardenia.Cuckoo(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        cells: int | str | None = None,
        width: int | str | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def remove(self, key: _Key) -> None:
        """Removes `key` once. An AbsentError (a KeyError) if it is not in the filter. Only remove what was added."""
    def discard(self, key: _Key) -> bool:
        """Removes `key` once if it is in the filter; whether it was. Only discard what was added."""
    def discard_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Removes each key once if it is in the filter; an array that says of each whether it was."""
    def count(self, key: _Key) -> int:
        """How often `key` was added, by the filter's estimate; 0 if it is certainly not in the filter."""
    def count_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.uint64]:
        """An array that says of each key how often it was added, by the filter's estimate."""
    def insert_pairs(self, keys: _Keys, times: _Numbers, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key as many times as `times` says: a list or array as long as the keys."""

class GolombSet(Filter):
    """Built once as a code of sorted numbers: 8.1 bits per key at 1 %, and slow queries.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.

    >>> filter = gardenia.GolombSet(["rose", "tulip"])
    >>> "rose" in filter
    True
    """
    def __new__(
        cls,
        keys: _Keys,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...

class CompressedBloom(Filter):
    """A Bloom filter that is large in memory and small in files.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        bits: Size in bits.
        hashes: Bits or cells per key, with a size; the best number unless given.
        wire: Bits per key in the file, instead of fpp.
        memory_per_key: Bits per key in memory: 32 unless given; more make the file smaller.
        scheme: How positions follow from a digest: fractional unless given.

    >>> filter = gardenia.CompressedBloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        bits: int | str | None = None,
        hashes: int | str | None = None,
        wire: float | str | None = None,
        memory_per_key: float | str | None = None,
        scheme: Literal["independent", "partition", "partition-prime", "double", "enhanced-square", "enhanced-cube", "enhanced", "triple", "partition-independent", "fractional", "double-odd"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def merge(self, other: Self) -> None:
        """Merges the keys of another filter of the same options into this one; counts add up."""

class ScalableBloom(Filter):
    """Grows with its keys and keeps the rate, however many come.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        growth: How many times as many keys each part holds as the one before it.
        tightening: The rate of each part over that of the one before it.
        peak: The part that may have the largest rate.
        scheme: How positions follow from a digest: fractional unless given.

    >>> filter = gardenia.ScalableBloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        growth: int | str | None = None,
        tightening: float | str | None = None,
        peak: int | str | None = None,
        scheme: Literal["independent", "partition", "partition-prime", "double", "enhanced-square", "enhanced-cube", "enhanced", "triple", "partition-independent", "fractional", "double-odd"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""

class DynamicBloom(Filter):
    """Grows, and keys can be removed; the rate of each layer adds up.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        cells: Size in cells, for kinds whose cells have several bits.
        hashes: Bits or cells per key, with a size; the best number unless given.
        width: Bits per cell.
        scheme: How positions follow from a digest: fractional unless given.

    >>> filter = gardenia.DynamicBloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        cells: int | str | None = None,
        hashes: int | str | None = None,
        width: int | str | None = None,
        scheme: Literal["independent", "partition", "partition-prime", "double", "enhanced-square", "enhanced-cube", "enhanced", "triple", "partition-independent", "fractional", "double-odd"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def remove(self, key: _Key) -> None:
        """Removes `key` once. An AbsentError (a KeyError) if it is not in the filter. Only remove what was added."""
    def discard(self, key: _Key) -> bool:
        """Removes `key` once if it is in the filter; whether it was. Only discard what was added."""
    def discard_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Removes each key once if it is in the filter; an array that says of each whether it was."""
    def count(self, key: _Key) -> int:
        """How often `key` was added, by the filter's estimate; 0 if it is certainly not in the filter."""
    def count_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.uint64]:
        """An array that says of each key how often it was added, by the filter's estimate."""
    def insert_pairs(self, keys: _Keys, times: _Numbers, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key as many times as `times` says: a list or array as long as the keys."""

class RetouchedBloom(Filter):
    """A Bloom filter that gives up known false positives, and loses a few keys for it.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        bits: Size in bits.
        hashes: Bits or cells per key, with a size; the best number unless given.
        clearing: Which bit is cleared to lose a false positive: ratio unless given.
        scheme: How positions follow from a digest: fractional unless given.

    >>> filter = gardenia.RetouchedBloom(["rose", "tulip"])
    >>> "rose" in filter
    True
    """
    def __new__(
        cls,
        keys: _Keys,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        bits: int | str | None = None,
        hashes: int | str | None = None,
        clearing: Literal["random", "fewest-elements", "most-troublesome", "ratio"] | None = None,
        scheme: Literal["independent", "partition", "partition-prime", "double", "enhanced-square", "enhanced-cube", "enhanced", "triple", "partition-independent", "fractional", "double-odd"] | None = None,
        secret: bytes | None = None,
        spared: _Keys | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...

class Quotient(Filter):
    """Sorted fingerprints: removal, any number of copies, merging; an eighth larger than cuckoo, and ten times slower.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        cells: Size in cells, for kinds whose cells have several bits.
        width: Bits per cell.

    >>> filter = gardenia.Quotient(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        cells: int | str | None = None,
        width: int | str | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def remove(self, key: _Key) -> None:
        """Removes `key` once. An AbsentError (a KeyError) if it is not in the filter. Only remove what was added."""
    def discard(self, key: _Key) -> bool:
        """Removes `key` once if it is in the filter; whether it was. Only discard what was added."""
    def discard_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Removes each key once if it is in the filter; an array that says of each whether it was."""
    def count(self, key: _Key) -> int:
        """How often `key` was added, by the filter's estimate; 0 if it is certainly not in the filter."""
    def count_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.uint64]:
        """An array that says of each key how often it was added, by the filter's estimate."""
    def insert_pairs(self, keys: _Keys, times: _Numbers, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key as many times as `times` says: a list or array as long as the keys."""
    def merge(self, other: Self) -> None:
        """Merges the keys of another filter of the same options into this one; counts add up."""

class SplitBlockBloom(Filter):
    """Half a cache line per key, 10.5 bits per key at 1 %: the filter of Parquet files, fastest key by key.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        bits: Size in bits.
        hasher: Hash function: xxh3 unless given; xxh64 for filters as in Parquet files.

    >>> filter = gardenia.SplitBlockBloom(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        bits: int | str | None = None,
        hasher: Literal["xxh3", "xxh64"] | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def merge(self, other: Self) -> None:
        """Merges the keys of another filter of the same options into this one; counts add up."""

class InfiniFilter(Filter):
    """Grows in place, page by page: removal, one cache line or two per query at any size, 18 bits per key at 1 %.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        max: The most keys that will come, of a kind that grows in place: with fewer doublings its fingerprints can be shorter.

    >>> filter = gardenia.InfiniFilter(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        max: int | str | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""
    def remove(self, key: _Key) -> None:
        """Removes `key` once. An AbsentError (a KeyError) if it is not in the filter. Only remove what was added."""
    def discard(self, key: _Key) -> bool:
        """Removes `key` once if it is in the filter; whether it was. Only discard what was added."""
    def discard_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Removes each key once if it is in the filter; an array that says of each whether it was."""
    def count(self, key: _Key) -> int:
        """How often `key` was added, by the filter's estimate; 0 if it is certainly not in the filter."""
    def count_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.uint64]:
        """An array that says of each key how often it was added, by the filter's estimate."""
    def insert_pairs(self, keys: _Keys, times: _Numbers, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key as many times as `times` says: a list or array as long as the keys."""

class ScalableBlocked(Filter):
    """As scalable, with one cache line per slice: faster, a fifth larger, for rates from about 0.1 % on.

    Options:
        seed: Seed of the hash function (default 0); only filters with the same seed can be merged.
        memory: Memory limit; without fpp all of it is used, for the lowest false-positive rate.
        planned_fpp: The rate that was asked for, where a filled spec gives the shape: a note.
        items: Number of distinct keys; for kinds that forget, keys to remember; for kinds that grow, keys of the first part.
        fpp: False-positive rate once they are in: 1 % unless given.
        growth: How many times as many keys each part holds as the one before it.
        tightening: The rate of each part over that of the one before it.
        peak: The part that may have the largest rate.

    >>> filter = gardenia.ScalableBlocked(items=1000)
    >>> filter.add("rose"), "rose" in filter
    (True, True)
    """
    def __new__(
        cls,
        keys: _Keys | None = None,
        *,
        seed: int | str | None = None,
        memory: int | str | None = None,
        planned_fpp: float | str | None = None,
        items: int | str | None = None,
        fpp: float | str | None = None,
        growth: int | str | None = None,
        tightening: float | str | None = None,
        peak: int | str | None = None,
        secret: bytes | None = None,
        nulls: _Nulls = "error",
        threads: int = 1,
        progress: _Progress = None,
    ) -> Self: ...
    def add(self, key: _Key, /) -> bool:
        """Adds `key`; True if it was certainly not in the filter before."""
    def update(self, *others: _Keys, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None) -> None:
        """Adds each key of each argument: lists, arrays, Arrow data, any iterable."""
    def add_many(self, keys: _Keys, *, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, arrow: bool = False) -> npt.NDArray[np.bool_]:
        """Adds each key; an array that says of each whether it was certainly new."""
    def clear(self) -> None:
        """Removes all keys."""

class Design:
    """A filter that would do, with what it costs; `build()` makes it."""
    @property
    def kind(self) -> str:
        """The kind of filter."""
    @property
    def spec(self) -> str:
        """The spec that builds it, for gardenia.make, the command and the Redis module."""
    @property
    def items(self) -> int:
        """The number of keys that the figures are for."""
    @property
    def nbytes(self) -> int:
        """Bytes of memory, with all keys in the filter."""
    @property
    def file_bytes(self) -> int:
        """Bytes of a file."""
    @property
    def bits_per_key(self) -> float:
        """Bits of memory per key."""
    @property
    def fpp(self) -> float:
        """The false-positive rate once all keys are in the filter."""
    @property
    def bound(self) -> float:
        """What the rate of the built filter stays below with probability `confidence`."""
    @property
    def confidence(self) -> float:
        """How sure the bound is."""
    @property
    def ns(self) -> float:
        """Nanoseconds of a query in a batch, as measured on the machine of the library's authors."""
    @property
    def why(self) -> str:
        """Why one would use it, in a sentence."""
    def build(self, keys: _Keys | None = None, values: _Numbers | None = None) -> Filter:
        """The filter: empty, or built from `keys`."""

class Foreign:
    """A filter in the format of another program: that program reads its bytes and gives the same answers.

    >>> ids = gardenia.Foreign("spark", items=1000, fpp=0.01)
    >>> ids.update(range(100))
    >>> 7 in ids, "7" in ids, len(ids.to_bytes())
    (True, False, 1216)
    """
    def __new__(cls, format: str, *, items: int, fpp: float = 0.01) -> Self: ...
    def __contains__(self, key: str | bytes | int | float, /) -> bool: ...
    def add(self, key: str | bytes | int | float, *, type: str | None = None) -> bool:
        """Adds `key`, as `type` if it is given; True if it was certainly not in the filter before."""
    def update(self, keys: _Keys, *, type: str | None = None, nulls: Literal["error", "skip"] = "error") -> None:
        """Adds each key of a list, an array, Arrow data or any iterable, as `type` if it is given. Missing keys are an error, or left out with
        nulls="skip".
        """
    def contains_many(self, keys: _Keys, *, type: str | None = None, nulls: Literal["error", "skip"] = "error", arrow: bool = False) -> npt.NDArray[np.bool_]:
        """An array that says of each key whether it may be in the filter."""
    def merge(self, other: Foreign) -> None:
        """Adds what another filter of the same format and shape holds."""
    def to_bytes(self) -> bytes:
        """The bytes of its file: what the other program reads."""
    @staticmethod
    def from_bytes(data: bytes, format: str | None = None, *, max_bytes: int | None = None) -> Foreign:
        """The filter in these bytes, of the named format or of the only one that fits."""
    @property
    def format(self) -> str:
        """The name of the format."""
    @property
    def key_types(self) -> tuple[str, ...]:
        """The types that keys may have: "long", "string" and others."""
    @property
    def bits(self) -> int:
        """Bits of its table."""
    @property
    def hashes(self) -> int:
        """Bits, or cells, of a key."""
    @property
    def fpp(self) -> float:
        """The current false-positive rate, by how full the filter is."""
    @property
    def estimated_items(self) -> float | None:
        """How many distinct keys are in the filter, estimated; None if that is not known."""

class Top:
    """The most frequent keys of a stream, with bounds on their counts.

    >>> top = gardenia.Top(10)
    >>> top.update(["rose", "tulip", "rose"])
    >>> top.most_common(1, type=str)
    [('rose', 2, 2)]
    """
    def __new__(cls, keys: int = 10, *, memory: int | None = None) -> Self: ...
    def add(self, key: _Key, times: int = 1) -> None:
        """Counts `key`, `times` times."""
    def update(self, keys: _Keys, *, nulls: _Nulls = "error", progress: _Progress = None) -> None:
        """Counts each key of a list, an array, Arrow data or any iterable."""
    def most_common(self, keys: int = 10, *, type: type[bytes] | type[str] | type[int] | None = None) -> list[tuple[Any, int, int]]:
        """The `keys` most frequent keys as (key, least count, most count), the most frequent first. Keys are given as their canonical
        bytes, or as `type`: str or int.
        """
    def bounds(self, key: _Key) -> tuple[int, int]:
        """The least and the most that `key` can have been counted."""
    def merge(self, other: Top) -> None:
        """Adds what another one counted."""
    @property
    def total(self) -> int:
        """The sum of all counts."""
    @property
    def floor(self) -> int:
        """Every key that was counted more often than this is among the candidates."""
    def to_bytes(self) -> bytes:
        """The bytes of a file."""
    @staticmethod
    def from_bytes(data: bytes) -> Top:
        """What `to_bytes` wrote, with every checksum verified."""
    def save(self, path: _Path) -> None:
        """Writes a file, whole or not at all."""
    @staticmethod
    def open(path: _Path) -> Top:
        """Reads a file, with every checksum verified."""

def make(spec: str, keys: _Keys | None = None, values: _Numbers | None = None, *, secret: bytes | None = None, spared: _Keys | None = None, nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None, **options: Any) -> Filter:
    """The filter of a spec, such as "cuckoo items=1M fpp=0.1%": empty, or built from `keys`. Options may also be keyword arguments.

    >>> seen = gardenia.make("cuckoo items=1M fpp=0.1%")
    >>> seen.add("rose"), seen.kind
    (True, 'cuckoo')
    """

def open(path: _Path, *, mmap: bool = False, secret: bytes | None = None, max_bytes: int | None = None, max_expansion: int | None = None) -> Any:
    """Opens a filter file and returns the right class. `mmap=True` maps the file instead of reading it: the filter opens at once, whatever its
    size, and is read-only. Nobody may change a mapped file in place or cut it short: answers would be wrong, or the process would be
    killed (SIGBUS).

    >>> gardenia.Bloom(["rose"], items=100).save("garden.gdn")
    >>> "rose" in gardenia.open("garden.gdn")
    True
    """

def from_bytes(data: bytes, *, secret: bytes | None = None, max_bytes: int | None = None, max_expansion: int | None = None) -> Filter:
    """The filter in these bytes: what to_bytes() returned, or the content of a file.

    >>> garden = gardenia.Bloom(["rose"], items=100)
    >>> gardenia.from_bytes(garden.to_bytes()) == garden
    True
    """

def plan(items: int | None = None, fpp: float | None = None, memory: int | None = None, *, prefer: Literal["balance", "speed", "memory"] = "balance", **abilities: bool | int) -> list[Design]:
    """All designs that do what is asked, the best first. `items` is the number of keys, `fpp` the false-positive rate, `memory` the most
    bytes; abilities are asked for by name: remove=True, count=True, merge=True, grow=True, forget=True, fixed=True, map=8 (bits).

    >>> gardenia.plan(items=1_000_000, fpp=0.01, remove=True)[0].kind
    'cuckoo'
    """

def size(spec: str, **options: Any) -> dict[str, Any]:
    """What the filter of a spec takes before it is built: a dict with the filled spec, nbytes, file_bytes, fpp and bound.

    >>> gardenia.size("bloom items=1M", fpp=0.01)["nbytes"]
    1199120
    """

def key_bytes(key: _Key) -> bytes:
    """The canonical bytes of a key: two keys are the same exactly if these are.

    >>> gardenia.key_bytes("a"), gardenia.key_bytes(1)
    (b'a', b'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00')
    """

def digest(key: _Key, *, seed: int = 0, secret: bytes | None = None) -> int:
    """The digest of a key, an int of 64 bits: XXH3-64 of its canonical bytes with `seed`, or SipHash-1-3 with `secret`.

    >>> hex(gardenia.digest("rose"))
    '0xd6ea2b8b8a72aca7'
    >>> gardenia.digest("rose") == gardenia.Bloom(items=100).digest("rose")
    True
    """
