#!/usr/bin/env python3
"""Finds phrases that Gardenia does not use, in documents, doc comments, messages and help. Prints each with its place.

    tools/words.py            everything; exit code 1 if something was found
    tools/words.py --count    how often each phrase occurs

Texts that must equal RedisBloom's, and what other people wrote, are exempt.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A phrase, and what to write in its place.
BANNED = [
    (r"\berrs\b", "reports … as present; has a false-positive rate of"),
    (r"\bdifferent (?:keys|lines|items)\b", "distinct"),
    (r"\btake[sn]? (?:out|back|away)\b", "removes, deletes"),
    (r"\btaking (?:out|back|away)\b", "removing"),
    (r"\btook (?:out|back|away)\b", "removed"),
    (r"\bso (?:many|much) (?:keys|bits|bytes|items|lines|cells|values|memory)\b", "N, that many"),
    (r"\bat hand\b", "known up front; available"),
    (r"\bfolders?\b", "directory"),
    (r"\bunited\b", "merged"),
    (r"\bunite\b", "merge"),
    (r"\bpresent rate\b", "current rate"),
    (r"\bby means of\b", "with, using"),
    (r"\bwithout another wish\b", "the default"),
    (r"\bwish(?:es|ed)?\b", "ask, want"),
    (r"\bends in the middle\b", "is truncated"),
    (r"\bdoes not want\b", "refuses"),
    (r"\badversar(?:y|ies)\b", "attacker"),
    (r"\bthe way of a key\b", "how a key is stored"),
    (r"\bis said\b", "prints, reports"),
    (r"\bthat which\b", "rewrite the sentence"),
    (r"\bof which each\b", "rewrite the sentence"),
    (r"\bother than the plainest\b", "builder for"),
    (r"\bwhat cannot be\b", "if no design fits"),
    (r"\btaken in\b", "merged"),
    (r"\bbe rid of\b", "avoid, remove"),
    (r"\bnone of (?:it|them) is lost\b", "nothing is lost"),
    (r"\bin vain\b", "without success"),
    (r"\bhow often (?:keys|lines|a key|a line) (?:came|comes|come)\b", "how often … occurs"),
    (r"\bkeys that came\b", "keys that occurred; inserted keys"),
    (r"\bmistakes per\b", "false positives per"),
]
PATTERNS = [(re.compile(phrase, re.IGNORECASE), instead) for phrase, instead in BANNED]

DOCUMENTS = ["crates/gardenia-cli/tests/help/80/*.txt", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "docs/*.md", "crates/*/README.md"]
SOURCES = ["crates/*/src/**/*.rs", "crates/gardenia-python/python/**/*.py", "crates/gardenia-c/include/*"]
# Doc comments, and string literals: what users read.
SPOKEN = re.compile(r"^\s*//[/!](.*)$|\"((?:[^\"\\]|\\.)*)\"")


def spoken(path, line):
    """What of a line users read."""
    if path.suffix in (".md", ".txt"):
        return line
    return " ".join(part for match in SPOKEN.finditer(line) for part in match.groups() if part)


def main():
    counts = {}
    for pattern in DOCUMENTS + SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            if not path.is_file():
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if "words: exempt" in line:
                    continue
                text = spoken(path, line)
                for phrase, instead in PATTERNS:
                    if phrase.search(text):
                        counts[phrase.pattern] = counts.get(phrase.pattern, 0) + 1
                        if "--count" not in sys.argv:
                            print(f"{path.relative_to(ROOT)}:{number}: {phrase.search(text).group()}: write: {instead}")
    if "--count" in sys.argv:
        for phrase, count in sorted(counts.items(), key=lambda item: -item[1]):
            print(count, phrase)
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
