"""The language-neutral vectors that every front runs."""

import hashlib
import json
import pathlib

import gardenia
import pytest

CONFORMANCE = pathlib.Path(__file__).parents[3] / "conformance"


def keys(rules):
    return [rule["text"].replace("{i}", str(i)) for rule in rules for i in range(rule["from"], rule["to"])]


def build(kind, vectors, spec):
    """The filter of a spec with the keys of the vectors."""
    added = keys(vectors["keys"])
    values = spared = None
    if "values" in vectors:
        rule = vectors["values"]
        values = [rule["times"] * int(key.split()[1]) % rule["modulo"] for key in added]
    if "spared" in vectors:
        spared = keys(vectors["spared"])
    words = spec.split()
    options = dict(word.split("=") if "=" in word else (word, True) for word in words[1:])
    options = {name.replace("-", "_"): value for name, value in options.items()}
    if kind.can("fixed") or options.get("effort", "online") != "online":
        return kind.type(added, values, spared=spared, **options)
    filter = gardenia.make(spec)
    filter.update(added)
    return filter


def test_the_vectors_of_a_kind(kind):
    vectors = json.loads((CONFORMANCE / f"{kind.name}.json").read_text())
    probes = keys(vectors["probes"])
    assert len(vectors["cases"]) > 2
    for case in vectors["cases"]:
        for spec in [case["asked"], case["filled"]]:
            filter = build(kind, vectors, spec)
            data = filter.to_bytes()
            assert hashlib.sha256(data).hexdigest() == case["file_sha256"], spec
        found = "".join(str(int(answer)) for answer in filter.contains_many(probes))
        assert found == case["found"] == "".join(str(int(probe in filter)) for probe in probes), spec
        if "counts" in case:
            assert filter.count_many(probes).tolist() == case["counts"] == [filter.count(probe) for probe in probes]
        if "values" in case:
            assert [filter.get(probe) for probe in probes] == case["values"]
        if "estimated_items" in case:
            estimate = case["estimated_items"]  # null stands for infinity, which JSON does not have
            assert filter.estimated_items == pytest.approx(float("inf") if estimate is None else estimate, rel=1e-9)
        if "size" in case:
            size = gardenia.size(case["asked"])
            assert (size["nbytes"], size["file_bytes"]) == (case["size"]["bytes"], case["size"]["file_bytes"])
            fpp = case["size"]["fpp"]
            assert size["fpp"] == (fpp and pytest.approx(fpp, rel=1e-9)) and size["spec"] == case["filled"]
