#!/usr/bin/env python3
"""Compares gardenia-corpus with dolma, rensa and datasketch on one generated corpus, in one run.

    cargo build --release -p gardenia-corpus
    python3 crates/gardenia-corpus/bench/run.py target/release/gardenia-corpus --documents 1000000

Each contestant is a process of its own on one thread; CPU seconds and peak memory are those of the process. The packages of
requirements.txt are installed without their dependencies into a virtual environment beside the corpus: only dolma's deduper is used, which
is a Rust library.
"""

import argparse, glob, json, os, shutil, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
FPP = 1e-6

DOLMA = r"""
import glob, importlib.util, json, sys
config = json.loads(sys.argv[1])
path = glob.glob(sys.argv[2] + "/lib/python*/site-packages/dolma/dolma*.so")[0]
spec = importlib.util.spec_from_file_location("dolma", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.deduper_entrypoint(json.dumps(config))
"""

NEAR = r"""
import glob, gzip, json, re, sys
which, directory, bands, rows, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
word = re.compile(r"\w+")
if which == "rensa":
    from rensa import RMinHash
else:
    from datasketch import MinHash, MinHashLSH
    index = MinHashLSH(num_perm=bands * rows, params=(bands, rows))
buckets = [set() for _ in range(bands)]
with open(out, "w") as removed:
    for path in sorted(glob.glob(directory + "/*")):
        open_ = gzip.open if path.endswith(".gz") else open
        with open_(path, "rt") as lines:
            for line in lines:
                document = json.loads(line)
                words = word.findall(document["text"].lower())
                shingles = [" ".join(words[at:at + 5]) for at in range(max(1, len(words) - 4))]
                if which == "rensa":
                    signature = RMinHash(num_perm=bands * rows, seed=42)
                    signature.update(shingles)
                    values = signature.digest()
                    keys = [tuple(values[band * rows:(band + 1) * rows]) for band in range(bands)]
                    found = any(key in bucket for key, bucket in zip(keys, buckets))
                    if not found:
                        for key, bucket in zip(keys, buckets):
                            bucket.add(key)
                else:
                    signature = MinHash(num_perm=bands * rows)
                    signature.update_batch([shingle.encode() for shingle in shingles])
                    found = bool(index.query(signature))
                    if not found:
                        index.insert(document["id"], signature)
                if found:
                    removed.write(document["id"] + "\n")
"""


def measure(command):
    start = time.time()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        print(f"failed: {command[:3]}: {error.decode()[-400:]}", file=sys.stderr)
        return None
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, time.time() - start


def row(name, documents, result):
    if result is None:
        print(f"| {name} | failed | | |")
        return
    cpu, peak, wall = result
    print(f"| {name} | {documents / cpu:,.0f} | {cpu:.2f} | {peak:.0f} |", flush=True)


def f1(truth, removed, threshold):
    """Of the planted similarities: a copy is to be removed from the threshold on."""
    wanted = {t["id"] for t in truth if t["kind"] == "exact" or t.get("similarity", 0) >= threshold}
    hit = len(wanted & removed)
    return 2 * hit / max(1, len(wanted) + len(removed))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--documents", type=int, default=60_000)
    parser.add_argument("--slow", type=int, default=5_000, help="documents for datasketch, rensa and F1")
    parser.add_argument("--work", default="corpus-bench")
    parser.add_argument("--venv", help="an environment that has the packages")
    arguments = parser.parse_args()
    work, program = os.path.abspath(arguments.work), os.path.abspath(arguments.program)
    os.makedirs(work, exist_ok=True)
    venv = arguments.venv or os.path.join(work, "venv")
    if not os.path.exists(venv):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        packages = os.path.join(HERE, "requirements.txt")
        subprocess.run([venv + "/bin/pip", "install", "-q", "--no-deps", "-r", packages], check=True)
    python = venv + "/bin/python"

    for packing, end in (("gzip", ".gz"), ("none", "")):
        place = os.path.join(work, packing)
        if not os.path.exists(place):
            subprocess.run([program, "generate", place, "--documents", str(arguments.documents), "--files", "8", "--packing", packing], check=True)
            os.rename(place + "/corpus", place + "/documents")
        print(f"\n{arguments.documents:,} documents, {packing}, one thread, false-positive rate {FPP}\n")
        print("| | documents per CPU second | CPU s | peak MB |\n|---|---|---|---|")
        for by in ("document", "paragraph"):
            count = arguments.documents * (1 if by == "document" else 5)
            config = {
                "documents": [f"{place}/documents/*.jsonl{end}"],
                "dedupe": {"name": by, "skip_empty": False, "documents": {"attribute_name": "d", "key": "$.text"}},
                "bloom_filter": {"file": f"{work}/{by}.bin", "read_only": False, "estimated_doc_count": count,
                                 "desired_false_positive_rate": FPP, "size_in_bytes": 0},
                "processes": 1,
                "work_dir": {"input": f"{work}/in", "output": f"{work}/out"},
            }
            if by == "paragraph":
                config["dedupe"] = {"name": by, "skip_empty": False, "paragraphs": {"attribute_name": "p"}}
            for leftover in (f"{work}/{by}.bin", ):
                if os.path.exists(leftover):
                    os.remove(leftover)
            shutil.rmtree(f"{place}/attributes", ignore_errors=True)
            row(f"dolma, {by}", arguments.documents, measure([python, "-c", DOLMA, json.dumps(config), venv]))
            out = f"{work}/attributes"
            shutil.rmtree(out, ignore_errors=True)
            command = [program, "dedup", f"{place}/documents", "--by", by, "--attributes", out, "-j", "1", "-q", "--fpp", str(FPP)]
            row(f"gardenia, {by}", arguments.documents, measure(command))

    print("\nTwo threads against one, gzip, seconds by the clock (medians of five runs in turn)\n")
    print("| | one thread | two threads | ratio |\n|---|---|---|---|")
    for by in ("document", "paragraph", "near"):
        times = {"1": [], "2": []}
        for _ in range(5):
            for threads, seconds in times.items():
                shutil.rmtree(f"{work}/clean", ignore_errors=True)
                command = [program, "dedup", f"{work}/gzip/documents", "--by", by, "--output", f"{work}/clean", "-j", threads, "-q"]
                seconds.append(measure(command)[2])
        one, two = (sorted(times[threads])[2] for threads in ("1", "2"))
        print(f"| {by} | {one:.2f} | {two:.2f} | {one / two:.2f} |", flush=True)

    place = os.path.join(work, "near")
    if not os.path.exists(place):
        subprocess.run([program, "generate", place, "--documents", str(arguments.slow), "--near", "0.2", "--once"], check=True)
    truth = [json.loads(line) for line in open(place + "/truth.jsonl")]
    print(f"\n{arguments.slow:,} documents, plain, near-duplicates, 14 bands of 8 rows\n")
    print("| | documents per CPU second | CPU s | peak MB |\n|---|---|---|---|")
    scores = {}
    for which in ("datasketch", "rensa"):
        out = f"{work}/{which}.txt"
        row(which, arguments.slow, measure([python, "-c", NEAR, which, place + "/corpus", "14", "8", out]))
        scores[which] = set(open(out).read().split()) if os.path.exists(out) else set()
    shutil.rmtree(f"{work}/clean", ignore_errors=True)
    row("gardenia", arguments.slow, measure([program, "dedup", place + "/corpus", "--by", "near", "--output", f"{work}/clean", "-j", "1", "-q"]))
    kept = {json.loads(line)["id"] for path in glob.glob(f"{work}/clean/*") for line in open(path)}
    scores["gardenia"] = {t["id"] for t in truth} - kept
    print("\n| | F1 of pairs from similarity 0.7 on |\n|---|---|")
    for name, removed in scores.items():
        print(f"| {name} | {f1(truth, removed, 0.7):.4f} |")


if __name__ == "__main__":
    main()
