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
    spans = corpus.Dedup(by=["document", "paragraph"], key="meta.url").attributes(first)
    for document, flags in zip(first, spans):
        assert flags["id"] == document["id"]
        for start, end, one in flags["attributes"].get("paragraph", []):
            assert document["text"][start:end].endswith("\n") and one == 1.0


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
    with pytest.raises(ValueError, match="above memory"):
        list(corpus.Dedup(memory="10kB")({"text": str(number)} for number in range(100_000)))
    with pytest.raises(ValueError, match="benchmark"):
        corpus.Decontaminate(["too short"])


def test_the_module_has_the_names_that_it_promises():
    assert gardenia.corpus is corpus
    assert all(hasattr(corpus, name) for name in corpus.__all__)
