"""Documents of a corpus: iterables, columns, Arrow and Parquet give what the command gives."""

import json
import multiprocessing
import os
import subprocess

import gardenia
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gardenia import corpus


def documents(count=400):
    """Documents with repeats of all sorts, and what is hard about texts."""
    made = []
    for at in range(count):
        shared = f"a paragraph that occurs in several documents, number {at % 37}"
        own = " ".join(f"w{(at % 300) * 31 + word}" for word in range(40))
        made.append({"id": f"doc-{at}", "meta": {"url": f"u{at % 250}"}, "text": f"{own}\n{shared}\nÉtude 🌹 \"{at}\"\n"})
    return made


def test_iterables_batches_tables_and_threads_agree():
    all = documents()
    expected = list(corpus.Dedup(by=["near", "paragraph"], threads=1)(all))
    assert 100 < len(expected) < 400 and expected[0] is all[0]
    assert any(document["text"] != all[int(document["id"][4:])]["text"] for document in expected)
    assert list(corpus.Dedup(by="near,paragraph", threads=5)(iter(all))) == expected
    for size in (1, 7, 400):
        by_batch, by_table = corpus.Dedup(by=["near", "paragraph"]), corpus.Dedup(by=["near", "paragraph"])
        rows, tables = [], []
        for start in range(0, 400, size):
            columns = {name: [document[name] for document in all[start : start + size]] for name in all[0]}
            out = by_batch.batch(columns)
            rows += [dict(zip(out, row)) for row in zip(*out.values())]
            tables.append(by_table.table(pa.table(columns)))
        assert rows == expected
        assert pa.concat_tables(tables).to_pylist() == expected
        assert by_batch.report()["total"] == by_table.report()["total"]


def test_the_command_reads_the_state_and_the_report(tmp_path):
    first, second = documents(300), documents(400)[200:]
    run = corpus.Dedup(by=["document", "paragraph"], key="meta.url", exact=True)
    kept = list(run(first))
    run.save(tmp_path / "state")
    run.save(tmp_path / "state")
    report = run.report()
    assert report["total"]["documents"] == 300 and report["total"]["kept"] == len(kept)
    assert report["repeated"][0]["text"].startswith("a paragraph") and "<svg" in run.html() and "300 read" in str(run)
    more = list(run(second))
    assert list(corpus.Dedup.open(tmp_path / "state")(second)) == more
    assert list(corpus.Dedup(by="document,paragraph", key="meta.url", exact=True, after=[tmp_path / "state"])(second)) == more


def _dedup(place, documents, *options):
    """The command over these documents: given as dicts, or as lines."""
    lines = [line if isinstance(line, str) else json.dumps(line) for line in documents]
    (place / "in.jsonl").write_text("".join(line + "\n" for line in lines))
    subprocess.run([os.environ["GARDENIA_CORPUS"], "dedup", "in.jsonl", "-q", *options], cwd=place, check=True)


def test_attributes_are_those_of_the_command(tmp_path):
    # A heading has fewer words than an n-gram, so that only the rule for paragraphs removes it.
    all = [dict(document, text=document["text"] + "a heading\n") for document in documents()]
    _dedup(tmp_path, all, "--by", "document,ngram,paragraph", "--key", "meta.url", "--ngram", "5", "--attributes", "flags")
    command = [json.loads(line) for line in (tmp_path / "flags" / "in.jsonl").read_text().splitlines()]
    run = corpus.Dedup(by=["document", "ngram", "paragraph"], key="meta.url", ngram=5)
    assert list(run.attributes(all)) == command
    names = {name for flags in command for name in flags["attributes"]}
    assert names == {f"gardenia__dedup__{name}" for name in ("duplicate_documents", "ngram_paragraphs", "duplicate_paragraphs")}


def test_keys_other_than_texts_are_compared_as_the_command_compares_them(tmp_path):
    keys = ["1.0", "1e2", "-0.0", "true", '{"b": [1E1, "\\u00e9"], "a": null}', "12345678901234567890123", "0.1", "[]", '"text"']
    lines = [f'{{"text": "t{at}", "key": {key}}}' for at, key in enumerate(keys)]
    _dedup(tmp_path, lines, "--key", "key", "--exact", "--state", "state", "--output", "out")
    same = [1, 100, 0, True, {"a": None, "b": [10.0, "é"]}, float(12345678901234567890123), 1e-1, [], "text"]
    run = corpus.Dedup(key="key", exact=True, after=[tmp_path / "state"])
    assert list(run({"text": "other", "key": key} for key in same)) == []
    # The other way round; and what is missing is no key.
    run = corpus.Dedup(key="key", exact=True)
    assert len(list(run({"text": "other", "key": key} for key in [*same, None, None, float("nan")]))) == len(same) + 3
    assert run.report()["total"]["bad"] == {"missing_key": 3}
    run.save(tmp_path / "python")
    _dedup(tmp_path, [*lines, '{"text": "t", "key": null}'], "--key", "key", "--exact", "--after", "python", "--output", "two")
    assert (tmp_path / "two" / "in.jsonl").read_text() == '{"text": "t", "key": null}\n'


def test_parquet_files_keep_schema_and_compression(tmp_path):
    all = documents()
    schema = pa.schema([("text", pa.large_string()), ("id", pa.string()), ("n", pa.int16())], metadata={"made": "here"})
    for part in range(2):
        rows = [{"text": d["text"], "id": d["id"], "n": at} for at, d in enumerate(all[part * 200 : part * 200 + 200])]
        pq.write_table(pa.Table.from_pylist(rows, schema), tmp_path / f"part-{part}.parquet", compression="zstd", row_group_size=50)
    inputs = [tmp_path / f"part-{part}.parquet" for part in range(2)]
    run = corpus.Dedup(by=["near", "paragraph"])
    corpus.parquet(run, inputs, tmp_path / "clean", rows=33)
    expected = [d["text"] for d in corpus.Dedup(by=["near", "paragraph"])(all)]
    tables = [pq.read_table(tmp_path / "clean" / f"part-{part}.parquet") for part in range(2)]
    assert [text for table in tables for text in table["text"].to_pylist()] == expected
    assert tables[0].schema.equals(schema) and tables[0].schema.metadata[b"made"] == b"here"
    assert pq.ParquetFile(tmp_path / "clean" / "part-0.parquet").metadata.row_group(0).column(0).compression == "ZSTD"
    assert sorted(os.listdir(tmp_path / "clean")) == ["part-0.parquet", "part-1.parquet"]
    with pytest.raises(FileExistsError, match="part-0.parquet"):
        corpus.parquet(run, inputs, tmp_path / "clean")


def _first_pass(part):
    start, state = part
    run = corpus.Dedup(by="document,paragraph", exact=True)
    list(run(documents()[start : start + 200]))
    run.save(state)


def test_two_processes_merged_give_what_one_gives(tmp_path):
    """The first pass is in processes of their own, as on several machines or in the tasks of Spark."""
    states = [str(tmp_path / "a"), str(tmp_path / "b")]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(_first_pass, [(0, states[0]), (200, states[1])])
    corpus.merge(states, tmp_path / "both")
    all, one = documents(500), corpus.Dedup(by="document,paragraph", exact=True)
    expected = [list(one(all[:200])), list(one(all[200:400])), list(one(all[400:]))]
    after = [[], [states[0]], [tmp_path / "both"]]
    parts = [all[:200], all[200:400], all[400:]]
    for part, seen, wanted in zip(parts, after, expected):
        assert list(corpus.Dedup(by="document,paragraph", exact=True, after=seen)(part)) == wanted


def test_files_of_the_command_and_documents_of_python_agree(tmp_path):
    program, all = os.environ["GARDENIA_CORPUS"], documents()
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(document) + "\n" for document in all))
    options = ["--by", "document,near,ngram,paragraph", "--normalise", "case,space", "--min-words", "2", "--unit", "both", "--ngram", "5"]
    subprocess.run([program, "dedup", "in.jsonl", "--output", "out", "-q", *options], cwd=tmp_path, check=True)
    command = [json.loads(line) for line in (tmp_path / "out" / "in.jsonl").read_text().splitlines()]
    python = corpus.Dedup(["document", "near", "ngram", "paragraph"], normalise=["case", "space"], min_words=2, unit="both", ngram=5)
    assert list(python(all)) == command


def test_what_cannot_be_used_follows_the_rule_and_errors_name_python_s_options():
    bad = [{"text": None}, {"text": 7}, {}, {"text": "\ud800"}, {"text": "good"}]
    assert list(corpus.Dedup()(bad)) == bad
    drop = corpus.Dedup(bad="drop")
    assert list(drop(bad)) == bad[4:] and drop.report()["total"]["bad"] == {"missing_key": 4}
    with pytest.raises(ValueError, match="document 1: no text"):
        list(corpus.Dedup(bad="stop")(bad))
    with pytest.raises(ValueError, match="loud"):
        corpus.Dedup(loud=1)
    with pytest.raises(ValueError, match="hint: by document, or leave out key"):
        corpus.Dedup(by="near", key="url")
    with pytest.raises(ValueError, match="no column 'text'"):
        corpus.Dedup().batch({"body": ["a"]})
    with pytest.raises(OSError, match="name a directory"):
        corpus.Dedup.open("no-such-directory")
    with pytest.raises(ValueError, match="is full"):
        list(corpus.Dedup(items=10, fpp=0.01)({"text": str(number)} for number in range(10_000)))
    with pytest.raises(ValueError, match="above the 10 kB of memory"):
        list(corpus.Dedup(memory="10kB")({"text": str(number)} for number in range(100_000)))
    with pytest.raises(ValueError, match="benchmark"):
        corpus.Decontaminate(["too short"])


def test_the_module_has_the_names_that_it_promises():
    assert gardenia.corpus is corpus
    assert all(hasattr(corpus, name) for name in corpus.__all__)
