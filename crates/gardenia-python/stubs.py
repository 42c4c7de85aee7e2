#!/usr/bin/env python3
"""Writes `python/gardenia/__init__.pyi` from the table of kinds and the docstrings of the installed module.

`stubs.py` compares the file with what it would write, `stubs.py --write` writes it.
"""

import difflib
import inspect
import pathlib
import sys
import textwrap

import gardenia
from gardenia import _gardenia

TARGET = pathlib.Path(__file__).parent / "python" / "gardenia" / "__init__.pyi"

HEAD = '''"""Types of the package gardenia, written by stubs.py from the table of kinds: do not edit."""

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

'''

BATCH = 'nulls: _Nulls = "error", threads: int = 1, progress: _Progress = None'
READ = "secret: bytes | None = None, max_bytes: int | None = None, max_expansion: int | None = None"

# How each method is called; which class has it the module says.
SIGNATURES = {
    "add": "(self, key: _Key, /) -> bool",
    "update": f"(self, *others: _Keys, {BATCH}) -> None",
    "add_many": f"(self, keys: _Keys, *, {BATCH}, arrow: bool = False) -> npt.NDArray[np.bool_]",
    "contains_many": f"(self, keys: _Keys, *, {BATCH}, arrow: bool = False) -> npt.NDArray[np.bool_]",
    "count": "(self, key: _Key) -> int",
    "count_many": f"(self, keys: _Keys, *, {BATCH}, arrow: bool = False) -> npt.NDArray[np.uint64]",
    "insert_pairs": f"(self, keys: _Keys, times: _Numbers, *, {BATCH}) -> None",
    "remove": "(self, key: _Key) -> None",
    "discard": "(self, key: _Key) -> bool",
    "discard_many": f"(self, keys: _Keys, *, {BATCH}, arrow: bool = False) -> npt.NDArray[np.bool_]",
    "get": "(self, key: _Key, default: Any = None) -> Any",
    "get_many": f"(self, keys: _Keys, default: int = -1, *, {BATCH}, arrow: bool = False) -> npt.NDArray[np.int64]",
    "clear": "(self) -> None",
    "copy": "(self) -> Self",
    "merge": "(self, other: Self) -> None",
    "close": "(self) -> None",
    "save": "(self, path: _Path) -> None",
    "to_bytes": "(self) -> bytes",
    "from_bytes": f"(cls, data: bytes, *, {READ}) -> Self",
    "open": f"(cls, path: _Path, *, mmap: bool = False, {READ}) -> Self",
    "digest": "(self, key: _Key) -> int",
    "spec": "str | None",
    "options": "dict[str, Any]",
    "abilities": "frozenset[str]",
    "fpp": "float",
    "fill": "float",
    "estimated_items": "float | None",
    "planned_items": "int",
    "planned_fpp": "float",
    "nbytes": "int",
    "metadata": "bytes",
    "mapped": "bool",
}
OPERATORS = """    def __contains__(self, key: _Key, /) -> bool: ...
    def __or__(self, other: Self, /) -> Self: ...
    def __and__(self, other: Self, /) -> Self: ...
    def __ior__(self, other: Self, /) -> Self: ...
    def __iand__(self, other: Self, /) -> Self: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __getitem__(self, key: _Key, /) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *reason: object) -> None: ...
"""

OTHERS = {
    "Design": {
        "kind": "str", "spec": "str", "items": "int", "nbytes": "int", "file_bytes": "int", "bits_per_key": "float", "fpp": "float",
        "bound": "float", "confidence": "float", "ns": "float", "why": "str",
        "build": "(self, keys: _Keys | None = None, values: _Numbers | None = None) -> Filter",
    },
    "Foreign": {
        "add": "(self, key: str | bytes | int | float, *, type: str | None = None) -> bool",
        "update": '(self, keys: _Keys, *, type: str | None = None, nulls: Literal["error", "skip"] = "error") -> None',
        "contains_many": '(self, keys: _Keys, *, type: str | None = None, nulls: Literal["error", "skip"] = "error", arrow: bool = False) -> npt.NDArray[np.bool_]',
        "merge": "(self, other: Foreign) -> None",
        "to_bytes": "(self) -> bytes",
        "from_bytes": "(data: bytes, format: str | None = None, *, max_bytes: int | None = None) -> Foreign",
        "format": "str", "key_types": "tuple[str, ...]", "bits": "int", "hashes": "int", "fpp": "float", "estimated_items": "float | None",
    },
    "Top": {
        "add": "(self, key: _Key, times: int = 1) -> None",
        "update": '(self, keys: _Keys, *, nulls: _Nulls = "error", progress: _Progress = None) -> None',
        "most_common": "(self, keys: int = 10, *, type: type[bytes] | type[str] | type[int] | None = None) -> list[tuple[Any, int, int]]",
        "bounds": "(self, key: _Key) -> tuple[int, int]",
        "merge": "(self, other: Top) -> None",
        "total": "int", "floor": "int",
        "to_bytes": "(self) -> bytes",
        "from_bytes": "(data: bytes) -> Top",
        "save": "(self, path: _Path) -> None",
        "open": "(path: _Path) -> Top",
    },
}
CONSTRUCTORS = {
    "Foreign": "    def __new__(cls, format: str, *, items: int, fpp: float = 0.01) -> Self: ...\n    def __contains__(self, key: str | bytes | int | float, /) -> bool: ...\n",
    "Top": "    def __new__(cls, keys: int = 10, *, memory: int | None = None) -> Self: ...\n",
}
FUNCTIONS = {
    "make": f"(spec: str, keys: _Keys | None = None, values: _Numbers | None = None, *, secret: bytes | None = None, spared: _Keys | None = None, {BATCH}, **options: Any) -> Filter",
    "open": f"(path: _Path, *, mmap: bool = False, {READ}) -> Any",
    "from_bytes": f"(data: bytes, *, {READ}) -> Filter",
    "plan": '(items: int | None = None, fpp: float | None = None, memory: int | None = None, *, prefer: Literal["balance", "speed", "memory"] = "balance", **abilities: bool | int) -> list[Design]',
    "size": "(spec: str, **options: Any) -> dict[str, Any]",
    "key_bytes": "(key: _Key) -> bytes",
    "digest": "(key: _Key, *, seed: int = 0, secret: bytes | None = None) -> int",
}


def quoted(text, indent):
    """A docstring."""
    text = inspect.cleandoc(text).replace("\\", "\\\\")
    lines = text.splitlines()
    body = text if len(lines) == 1 else text + "\n"
    return textwrap.indent(f'"""{body}"""', indent, lambda line: bool(line.strip())) + "\n"


def member(owner, name, signature):
    """A method or an attribute."""
    text = getattr(owner, name).__doc__
    if not signature.startswith("("):
        setter = f"    @{name}.setter\n    def {name}(self, value: {signature}) -> None: ...\n" if name == "metadata" else ""
        return f"    @property\n    def {name}(self) -> {signature}:\n{quoted(text, ' ' * 8)}{setter}"
    decorator = "    @classmethod\n" if signature.startswith("(cls") else "" if signature.startswith("(self") else "    @staticmethod\n"
    return f"{decorator}    def {name}{signature}:\n{quoted(text, ' ' * 8)}"


def members(owner, names):
    return "".join(member(owner, name, names[name]) for name in names)


def constructor(row):
    """`__new__` of a kind: its options by their names and types."""
    abilities = row["abilities"]
    fixed = "fixed" in abilities
    keys = "keys: _Keys" if fixed else "keys: _Keys | None = None"
    if "map" in abilities:
        keys = "keys: Mapping[_Key, int] | _Keys, values: _Numbers | None = None"
    options = "".join(f"        {name}: {kind} | None = None,\n" for name, kind, _ in row["options"])
    spared = "        spared: _Keys | None = None,\n" if row["name"] == "retouched" else ""
    return (
        f"    def __new__(\n        cls,\n        {keys},\n        *,\n{options}        secret: bytes | None = None,\n{spared}"
        f"        nulls: _Nulls = \"error\",\n        threads: int = 1,\n        progress: _Progress = None,\n    ) -> Self: ...\n"
    )


def text():
    table = _gardenia._table()
    special = {method for row in table for method in row["methods"]}
    common = {name: signature for name, signature in SIGNATURES.items() if name not in special}
    public = {name for name in dir(gardenia.Filter) if not name.startswith("_") and name != "kind"}
    assert public == set(common), f"stubs.py does not know {public ^ set(common)}"
    parts = [HEAD]
    for name in ["GardeniaError"] + sorted(name for name in gardenia.__all__ if name.endswith("Error") and name != "GardeniaError"):
        bases = ", ".join(base.__name__ for base in getattr(gardenia, name).__bases__)
        added = "    added: int\n" if name == "FullError" else ""
        parts.append(f"class {name}({bases}):\n{quoted(getattr(gardenia, name).__doc__, '    ')}{added}\n")
    parts.append(f"class Filter:\n{quoted(gardenia.Filter.__doc__, '    ')}    kind: ClassVar[str]\n{OPERATORS}{members(gardenia.Filter, common)}\n")
    for row in table:
        owner = getattr(gardenia, row["class"])
        methods = members(owner, {name: SIGNATURES[name] for name in row["methods"]})
        parts.append(f"class {row['class']}(Filter):\n{quoted(owner.__doc__, '    ')}{constructor(row)}{methods}\n")
    for name, known in OTHERS.items():
        owner = getattr(gardenia, name)
        found = {attribute for attribute in dir(owner) if not attribute.startswith("_")}
        assert found == set(known), f"stubs.py does not know {found ^ set(known)} of {name}"
        new = CONSTRUCTORS.get(name, "")
        parts.append(f"class {name}:\n{quoted(owner.__doc__, '    ')}{new}{members(owner, known)}\n")
    functions = {name for name in gardenia.__all__ if inspect.isbuiltin(getattr(gardenia, name))}
    assert functions == set(FUNCTIONS), f"stubs.py does not know {functions ^ set(FUNCTIONS)}"
    for name, signature in FUNCTIONS.items():
        parts.append(f"def {name}{signature}:\n{quoted(getattr(gardenia, name).__doc__, '    ')}\n")
    return "".join(parts).rstrip() + "\n"


def main():
    made = text()
    compile(made, str(TARGET), "exec")
    if "--write" in sys.argv:
        TARGET.write_text(made)
        return 0
    written = TARGET.read_text() if TARGET.exists() else ""
    difference = list(difflib.unified_diff(written.splitlines(), made.splitlines(), str(TARGET), "the table of kinds", lineterm=""))
    print("\n".join(difference[:60]))
    if difference:
        print("hint: run stubs.py --write")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
