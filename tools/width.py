#!/usr/bin/env python3
"""Keeps prose in documents and doc comments within 100 columns. Code, tables, headings and words
that are longer than a line are exempt.

    tools/width.py                 exit code 1 if a line is longer
    tools/width.py --fix           wraps the paragraphs with such lines again
    tools/width.py [--fix] FILE …  these files alone
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 100
# Their comments are copied, line by line, into gardenia.h and the docstrings and type stubs of Python.
COPIED = ("crates/gardenia-c/src/", "crates/gardenia-python/src/")

DOC = re.compile(r"^(\s*//[/!])( .*|)$")
ITEM = re.compile(r"^(\s*)([*+-] |\d+[.)] )(.*)$")
# A line that must stay as it is: a heading, a row, a tag, a picture, a link's target, an example.
ALONE = re.compile(r"^\s*(?:#{1,6} |\||<|!\[[^\]]*\]\([^)]*\)$|\[[^\]]+\]: |\[\^)")
# What is not broken: code, links, and a word with what follows it directly.
ATOM = re.compile(r"(?:`+[^`]+`+|!?\[[^\]]*\]\([^)]*\)|\[[^\]]*\]|[^\s`\[]|\[|`)+")
# What would mean something else at the start of a line.
MEANING = re.compile(r"^(?:[*+#>|-]+|\d+[.)]|>>>|\.\.\.)$")


def wrapped(words, first, rest):
    """The words as lines: `first` stands before the first one, `rest` before the others."""
    lines, line, before = [], "", first
    for word in words:
        fits = len(before) + len(line) + 1 + len(word) <= WIDTH
        if line and not fits and not MEANING.match(word):
            lines.append(before + line)
            line, before = word, rest
        else:
            line = f"{line} {word}" if line else word
    return [*lines, before + line]


def blocks(lines):
    """Runs of lines that belong together, each with whether it is prose that may be wrapped."""
    block, code, example, indent = [], False, False, 0
    for line in lines:
        fence = line.lstrip().startswith(("```", "~~~"))
        item = ITEM.match(line)
        empty = not line.strip()
        example = not empty and (example or line.lstrip().startswith(">>> "))
        deep = len(line) - len(line.lstrip()) >= indent + 4
        if code or fence or empty or example or ALONE.match(line) or (deep and not block and not item):
            if block:
                yield block, True
                block = []
            yield [line], False
            code ^= fence
            continue
        if item and block:
            yield block, True
            block = []
        if item:
            indent = len(item.group(1)) + len(item.group(2))
        elif not block and not line.startswith(" "):
            indent = 0
        block.append(line)
    if block:
        yield block, True


def checked(lines, prefix, fix):
    """The lines, wrapped if asked to, and the offsets of those that were too long."""
    out, wrong, at = [], [], 0
    for block, prose in blocks(lines):
        long = [at + i for i, line in enumerate(block) if prose and len(prefix) + len(line) > WIDTH]
        at += len(block)
        item = ITEM.match(block[0])
        first = item.group(1) + item.group(2) if item else re.match(r"\s*", block[0]).group()
        rest = " " * len(first)
        text = " ".join([block[0][len(first) :], *block[1:]])
        new = wrapped(ATOM.findall(text), prefix + first, prefix + rest)
        # A word that is longer than a line cannot be helped.
        if long and new != [prefix + line for line in block]:
            wrong += long
            out += [line[len(prefix) :] for line in new] if fix else block
        else:
            out += block
    return out, wrong


def examined(path, source, fix):
    """The source, wrapped if asked to, and the numbers of the lines that were too long."""
    lines = source.split("\n")
    if path.suffix == ".md":
        out, wrong = checked(lines, "", fix)
        return "\n".join(out), [number + 1 for number in wrong]
    out, wrong, at = [], [], 0
    while at < len(lines):
        doc = DOC.match(lines[at])
        if not doc:
            out.append(lines[at])
            at += 1
            continue
        run, start = [], at
        while at < len(lines) and (next := DOC.match(lines[at])) and next.group(1) == doc.group(1):
            run.append(next.group(2)[1:])
            at += 1
        new, long = checked(run, doc.group(1) + " ", fix)
        out += [(doc.group(1) + " " + line).rstrip() for line in new]
        wrong += [start + number + 1 for number in long]
    return "\n".join(out), wrong


def main():
    fix = "--fix" in sys.argv
    named = [name for name in sys.argv[1:] if not name.startswith("--")]
    listed = subprocess.run(["git", "ls-files", "*.md", "*.rs"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = named or [name for name in listed.stdout.split() if not name.startswith(COPIED)]
    bad = False
    for name in names:
        path = ROOT / name
        if path.is_symlink() or path.suffix not in (".md", ".rs"):
            continue
        source = path.read_text()
        new, wrong = examined(path, source, fix)
        if fix and new != source:
            path.write_text(new)
            continue
        for number in wrong:
            bad = True
            print(f"{name}:{number}: longer than {WIDTH} columns: tools/width.py --fix wraps it")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
