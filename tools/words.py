#!/usr/bin/env python3
"""Finds phrases that Gardenia does not use, in whatever readers see: documents, doc comments,
printed text, help, docstrings, headers and pages. Prints each with its place.

    tools/words.py            everything; exit code 1 if something was found
    tools/words.py --count    how often each phrase occurs

A phrase may be split over two lines. Two lists are searched for: the patterns below, and the old
phrases of tools/sentences.tsv, which must never come back. A line with "words: exempt" is left
alone: texts that must equal RedisBloom's, and names that other people chose.
tools/words_test.py plants a phrase of every pattern in every kind of file.
"""

import bisect
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SENTENCES = ROOT / "tools" / "sentences.tsv"

# A phrase, what to write in its place, and a sentence that contains it.
BANNED = [
    (r"\b(?-i:err|errs|erred|erring)\b(?!\()", "reports … as present; has a false-positive rate of", "it errs at 1 %"),
    (r"\bdifferent (?:keys|lines|items|words|values)\b", "distinct", "of 9 different keys"),
    (r"\btake[sn]? (?:out|back|away)\b", "removes, deletes", "a key is taken out"),
    (r"\btaking (?:out|back|away)\b", "removing", "by taking back a key"),
    (r"\btook (?:out|back|away)\b", "removed", "it took away a key"),
    (r"\btaken over\b", "imported, copied", "files are taken over"),
    (r"\b(?<!twice )(?<!half )(?<!times )so (?:many|much)\b(?! (?:\w+ ){0,3}that\b)", "N, that many", "stop after so many lines"),
    (r"\bat hand\b", "known up front; available", "keys that are at hand"),
    (r"\bfolders?\b", "directory", "in a folder"),
    (r"\bunit(?:e|es|ed|ing)\b", "merge, merged", "two filters are united"),
    (r"\bpresent (?:\w+ )?rate\b", "current rate", "the present error rate"),
    (r"\bby means of\b", "with, using", "by means of a table"),
    (r"\b(?:un)?wish(?:es|ed)?\b", "ask, want; the default", "without another wish"),
    (r"\bends in the middle\b", "is truncated", "the file ends in the middle"),
    (r"\bdamaged\b", "corrupted, truncated", "the file is damaged"),
    (r"\bdoes not want\b", "refuses", "what a filter does not want"),
    (r"\badversar(?:y|ies|ial)\b", "attacker", "an adversary"),
    (r"\bthe way of a key\b", "how a key is stored", "the way of a key"),
    (r"\b(?:is|are|was|were|be) (?:said|told)\b(?! (?:apart|from))", "prints, reports, knows", "is said on stderr"),
    (r"\bthat which\b", "rewrite the sentence", "that which is left"),
    (r"\bof which (?:each|it|one)\b", "rewrite the sentence", "of which each has"),
    (r"\bother than the plainest\b", "builder for", "other than the plainest"),
    (r"\bwhat cannot be\b", "if no design fits", "what cannot be"),
    (r"\btaken in\b", "merged", "a filter that is taken in"),
    (r"\brid of\b", "avoid, remove, suppress", "to be rid of them"),
    (r"\bnone of (?:it|them) is lost\b", "nothing is lost", "none of them is lost"),
    (r"\bin vain\b", "without success", "it was sought in vain"),
    (r"\bhow often (?:keys|lines|a key|a line|an item) (?:came|comes|come)\b", "how often … occurs", "how often a key came"),
    (r"\b(?:keys?|lines?|items?|words?) (?:that|which) came\b(?! (?:from|one by one))", "keys that occurred", "keys that came twice"),
    (r"\b(?:mistakes?|errors?) (?:per|in a (?:million|thousand|hundred))\b", "false positives per", "one mistake in a million"),
    (r"\b(?:made|making) of\b", "built from, made from", "a filter made of lines"),
    (r"\bof (?:no|any|little) use\b", "useless, useful; has no effect", "it is of no use"),
    (r"\bparting\b|\bparts? (?:the|a) (?:log|stream|lines|keys)\b", "splits", "by parting lines"),
    (r"\b(?:is|are|was|were) not in(?=[.,;:)]|$)", "is not in the filter", "a key that is not in."),
    (r"\bin a hurry\b", "with fewer trials, quickly", "the lab in a hurry"),
    (r"\bout of the question\b", "impossible, does not fit", "it is out of the question"),
    (r"\bthousand million\b", "billion", "a thousand million"),
    (r"\bpass(?:es|ed) over (?:a|an|all|its|the) (?:keys?|lines?|records?|items?)\b|\bpassed over\b", "skips", "it passes over a line"),
]
PATTERNS = [(re.compile(phrase, re.IGNORECASE), instead) for phrase, instead, _ in BANNED]

SEARCHED = [
    "*.md",
    ".github/**/*.md",
    ".github/**/*.yml",
    "docs/*.md",
    "conformance/*.md",
    "crates/*/README.md",
    "crates/gardenia-cli/tests/help/80/*.txt",
    "crates/*/src/**/*.rs",
    "crates/gardenia-python/python/**/*.py",
    "crates/gardenia-python/python/**/*.pyi",
    "crates/gardenia-c/include/*",
    "crates/gardenia-explore/page/*.js",
    "crates/gardenia-explore/page/*.html",
]

# One token of a language that readers may see, or that would hide one: comments and literals.
RUST = re.compile(
    r"""(?P<doc>//[/!][^\n]*)|(?P<skip>//[^\n]*|/\*.*?\*/|b?'(?:[^'\\\n]|\\[^\n]{1,8}?)')"""
    r"""|(?P<raw>b?r(?P<fence>\#*)".*?"(?P=fence))|(?P<text>[bc]?"(?:[^"\\]|\\.)*")""",
    re.DOTALL,
)
C = re.compile(r"""(?P<doc>//[^\n]*|/\*.*?\*/)|(?P<skip>'(?:[^'\\]|\\.)*')|(?P<text>"(?:[^"\\\n]|\\.)*")""", re.DOTALL)
PYTHON = re.compile(
    r"""(?P<doc>\#[^\n]*)|(?P<text>(?:'''|\"\"\")(?:[^\\]|\\.)*?(?:'''|\"\"\")|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""",
    re.DOTALL,
)
SCRIPT = re.compile(
    r"""(?P<doc>//[^\n]*|/\*.*?\*/)|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)""", re.DOTALL
)
LANGUAGES = {".rs": RUST, ".h": C, ".hpp": C, ".py": PYTHON, ".pyi": PYTHON, ".yml": PYTHON, ".js": SCRIPT}
# What starts a line of a comment, quotes a literal, or continues one on the next line.
MARKS = re.compile(r"^\s*(?://[/!]?|/\*+|\*+/?|#+)|\*/\s*$|\\$", re.MULTILINE)


class Text:
    """Consecutive text, with the line of the file that each of its characters came from."""

    def __init__(self):
        self.words, self.starts, self.lines, self.length = [], [], [], 0

    def add(self, line, text):
        text = re.sub(r"\s+", " ", text.strip())
        if text:
            self.starts.append(self.length)
            self.lines.append(line)
            self.words.append(text)
            self.length += len(text) + 1

    def joined(self):
        return " ".join(self.words)

    def line(self, at):
        return self.lines[bisect.bisect_right(self.starts, at) - 1]


def paragraphs(source):
    """The paragraphs of a document: lines up to an empty one. Rows of tables and lines of code are
    texts of their own."""
    text, code = Text(), False
    for number, line in enumerate(source.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        code ^= fence
        alone = code or fence or line.startswith(("|", "#"))
        if alone or not line.strip():
            yield text
            text = Text()
        text.add(number, line)
        if alone:
            yield text
            text = Text()
    yield text


def literals(source, language):
    """The comments and literals of a program. Those that only white space, commas or an operator
    separate are one text, as a reader sees them."""
    text, end, kind = Text(), 0, None
    for token in language.finditer(source):
        if token.lastgroup == "skip" and token.group("skip"):
            continue
        this = "doc" if token.group("doc") else "text"
        if this != kind or source[end : token.start()].strip() not in ("", "+"):
            yield text
            text = Text()
        kind, end = this, token.end()
        line = source.count("\n", 0, token.start()) + 1
        words = token.group()
        if this == "text":
            words = re.sub(r"^[bcr]*#*(?:'''|\"\"\"|[\"'`])|(?:'''|\"\"\"|[\"'`])#*$", "", words)
        for offset, part in enumerate(words.split("\n")):
            if not part.strip(" /!*#"):
                yield text
                text = Text()
            text.add(line + offset, MARKS.sub(" ", part).replace("\\n", " "))
    yield text


def texts(path, source):
    """What readers see of a file."""
    if path.suffix == ".html":
        source = re.sub(r"<[^>]*>", lambda tag: "\n" * tag.group().count("\n"), source)
    language = LANGUAGES.get(path.suffix)
    return literals(source, language) if language else paragraphs(source)


def found(path, source, patterns):
    """The phrases in a file: its line, the phrase, the pattern, and what to write in its place."""
    lines = source.splitlines()
    for text in texts(path, source):
        joined = text.joined()
        for pattern, instead in patterns:
            for match in pattern.finditer(joined):
                first, last = text.line(match.start()), text.line(match.end() - 1)
                if not any("words: exempt" in line for line in lines[first - 1 : last]):
                    yield first, match.group(), pattern, instead


def sentences():
    """The old phrases of the two reviews, each with what took its place."""
    rows = [line.split("\t") for line in SENTENCES.read_text().splitlines() if line and not line.startswith("#")]
    for row in rows:
        assert len(row) == 4, row
    return [(re.compile(re.escape(old), re.IGNORECASE), f"{now} (sentence {number})") for number, _, old, now in rows]


def main():
    counts = {}
    patterns = PATTERNS + sentences()
    for searched in SEARCHED:
        for path in sorted(ROOT.glob(searched)):
            if not path.is_file() or path.is_symlink():
                continue
            for line, phrase, pattern, instead in found(path, path.read_text(errors="replace"), patterns):
                counts[pattern.pattern] = counts.get(pattern.pattern, 0) + 1
                if "--count" not in sys.argv:
                    print(f"{path.relative_to(ROOT)}:{line}: {phrase}: write: {instead}")
    if "--count" in sys.argv:
        for phrase, count in sorted(counts.items(), key=lambda item: -item[1]):
            print(count, phrase)
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
