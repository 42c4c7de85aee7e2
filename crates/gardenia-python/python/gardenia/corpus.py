"""Deduplicate and decontaminate documents: iterables of dicts, batches of columns, Arrow tables, Parquet files.

>>> from gardenia import corpus
>>> dedup = corpus.Dedup(by=["document", "paragraph"])
>>> documents = [{"id": 1, "text": "Hello\\nfirst"}, {"id": 2, "text": "Hello\\nsecond"}, {"id": 3, "text": "Hello\\nfirst"}]
>>> list(dedup(documents))
[{'id': 1, 'text': 'Hello\\nfirst'}, {'id': 2, 'text': 'second'}]
>>> dedup.report()["total"]["kept"]
2

The options are those of the command `gardenia corpus dedup`, with underscores: `min_words=3`. What was seen is a state, as the
command's `--state` makes one: `save` writes it, `after=` names those of other machines, `merge` makes one of several.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ._gardenia import _Corpus, _corpus_merge

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Decontaminate", "Dedup", "merge", "parquet"]

_Path = str | os.PathLike[str]
_Table = TypeVar("_Table", "pa.Table", "pa.RecordBatch")

_BATCH = 1024


def _arguments(command: str, options: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as the command has them."""
    arguments = [command]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(option)
        elif name == "after":
            states = [value] if isinstance(value, (str, os.PathLike)) else value
            arguments += [f"{option}={os.fspath(state)}" for state in states]
        elif isinstance(value, (list, tuple)):
            arguments.append(f"{option}={','.join(map(str, value))}")
        else:
            arguments.append(f"{option}={value}")
    return arguments


def _value(document: Any, path: str) -> Any:
    """The value under a key such as `url` or `metadata.url`; None if there is none."""
    for part in path.split("."):
        if not isinstance(document, Mapping):
            return None
        document = document.get(part)
    return document


def _replaced(document: Mapping[str, Any], path: Sequence[str], text: str) -> dict[str, Any]:
    """A copy with another text under a key."""
    copy = dict(document)
    copy[path[0]] = text if len(path) == 1 else _replaced(copy[path[0]], path[1:], text)
    return copy


def _compared(value: Any) -> str | bytes | None:
    """What makes documents equal: a text, or the JSON of anything else, which is compared by value as in the command's files."""
    return value if value is None or isinstance(value, str) else json.dumps(value).encode()


class _Run:
    """A run over documents in their order. Batches and threads do not change the result."""

    def __init__(self, run: _Corpus, threads: int | None):
        self._run = run
        self._threads = threads or os.cpu_count() or 1
        self._text, self._id, self._key = run.keys

    def _push(self, texts: Sequence[Any], keys: Sequence[Any] | None):
        keys = None if keys is None else [_compared(key) for key in keys]
        return self._run.push(list(texts), keys, self._threads)

    def _documents(self, documents: Iterable[Mapping[str, Any]]):
        documents = iter(documents)
        while batch := list(islice(documents, _BATCH)):
            keys = None if self._key is None else [_value(document, self._key) for document in batch]
            yield from zip(batch, self._push([_value(document, self._text) for document in batch], keys))

    def __call__(self, documents: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """The documents that stay, with what stays of their texts. A document that is not changed is the object that came in."""
        for document, answer in self._documents(documents):
            if answer is None:
                yield document
            elif answer[0] is None:
                yield _replaced(document, self._text.split("."), answer[1])

    def attributes(self, documents: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """For each document its id and the spans that would be removed, in characters: {"id": …, "attributes": {name: [[0, 5, 1.0]]}},
        under the names that the command's --attributes writes."""
        for document, answer in self._documents(documents):
            spans: dict[str, list[list[float]]] = {}
            for reason, start, end in answer[2] if answer else ():
                spans.setdefault(reason, []).append([start, end, 1.0])
            yield {"id": _value(document, self._id), "attributes": spans}

    def batch(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """Columns with what stays of them: for `dataset.map(dedup.batch, batched=True)` of Hugging Face `datasets`, in one process."""
        for name in (self._text, self._key):
            if name is not None and name not in batch:
                raise ValueError(f"the batch has no column {name!r}. hint: text_key and key name columns")
        answers = self._push(batch[self._text], None if self._key is None else batch[self._key])
        kept = [at for at, answer in enumerate(answers) if answer is None or answer[0] is None]
        columns = {name: [column[at] for at in kept] for name, column in batch.items()}
        texts = columns[self._text]
        for place, at in enumerate(kept):
            if answers[at] is not None:
                texts[place] = answers[at][1]
        return columns

    def table(self, table: _Table) -> _Table:
        """An Arrow table or record batch with what stays of it; all columns keep their types."""
        import pyarrow as pa

        for name in (self._text, self._key):
            if name is not None and name not in table.schema.names:
                raise ValueError(f"the table has no column {name!r}. hint: text_key and key name columns")
        key = None if self._key is None else table[self._key].to_pylist()
        texts = table[self._text].to_pylist()
        answers = self._push(texts, key)
        if any(answer is not None and answer[0] is None for answer in answers):
            place = table.schema.get_field_index(self._text)
            field = table.schema.field(place)
            shorter = [answer[1] if answer and answer[0] is None else text for text, answer in zip(texts, answers)]
            table = table.set_column(place, field, pa.array(shorter, field.type))
        if any(answer is not None and answer[0] is not None for answer in answers):
            table = table.filter(pa.array([answer is None or answer[0] is None for answer in answers]))
        return table

    def report(self) -> dict[str, Any]:
        """What was removed so far, why, and how much of it by mistake, as `gardenia corpus dedup --json` prints it."""
        return json.loads(self._run.report())

    def html(self) -> str:
        """The report as a page with plots."""
        return self._run.html()

    def __str__(self) -> str:
        return self._run.text()


class Dedup(_Run):
    """Removes what occurred before: `by` is "document", "paragraph", "ngram" or "near", or a list of them.

    Other options are those of `gardenia corpus dedup`: text_key, key, normalise, split, min_words, within, empty, ngram, overlap, unit,
    bands, rows, shingle, words, fpp, items, exact, memory, after, bad.
    """

    def __init__(self, by: str | Sequence[str] = "document", *, threads: int | None = None, **options: Any):
        super().__init__(_Corpus(_arguments("dedup", {"by": by, **options})), threads)

    @classmethod
    def open(cls, directory: _Path, *, memory: int | None = None, threads: int | None = None) -> Self:
        """Goes on where `save` was called."""
        made = cls.__new__(cls)
        _Run.__init__(made, _Corpus.open(directory, memory), threads)
        return made

    def save(self, directory: _Path) -> None:
        """Writes what was seen as a state, which `open`, `after=`, `merge` and the command read."""
        self._run.save(directory)


class Decontaminate(_Run):
    """Removes documents that contain n-grams of a benchmark, which is an iterable of texts. Options: ngram, matches, normalise_words, words,
    text_key, bad.

    >>> from gardenia import corpus
    >>> clean = corpus.Decontaminate(["What is the capital of France?"], ngram=4)
    >>> [document["text"] for document in clean([{"text": "the capital of France is Paris"}, {"text": "Paris"}])]
    ['Paris']
    """

    def __init__(self, benchmark: Iterable[str], *, threads: int | None = None, **options: Any):
        super().__init__(_Corpus(_arguments("decontaminate", options), list(benchmark)), threads)


def merge(states: Sequence[_Path], output: _Path) -> None:
    """Merges states of several processes or machines into one, for `after=`. They must have been made with `items` or `exact`."""
    _corpus_merge(list(states), output)


def parquet(run: _Run, inputs: Sequence[_Path], output: _Path, *, rows: int = 8192) -> None:
    """Writes Parquet files with what stays of them into the directory `output`, under their names, with their schema and compression.

    A file has its name only when it is complete. Files that are there already are not replaced.
    """
    import pyarrow.parquet as pq

    names = [os.path.basename(os.fspath(path)) for path in inputs]
    if len(set(names)) != len(names):
        raise ValueError("two files have the same name. hint: write them into two directories")
    targets = [os.path.join(output, name) for name in names]
    for target in targets:
        if os.path.exists(target):
            raise FileExistsError(f"{target}: exists. hint: give another directory")
    os.makedirs(output, exist_ok=True)
    for path, target in zip(inputs, targets):
        partial = os.path.join(output, f".{os.path.basename(target)}.partial")
        try:
            with pq.ParquetFile(path) as file:
                groups = file.metadata.num_row_groups
                packing = file.metadata.row_group(0).column(0).compression if groups else "SNAPPY"
                with pq.ParquetWriter(partial, file.schema_arrow, compression="NONE" if packing == "UNCOMPRESSED" else packing) as writer:
                    for batch in file.iter_batches(batch_size=rows):
                        writer.write_batch(run.table(batch))
            os.replace(partial, target)
        finally:
            if os.path.exists(partial):
                os.remove(partial)
