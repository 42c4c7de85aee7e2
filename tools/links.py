#!/usr/bin/env python3
"""Checks that every link between documents leads somewhere, and that the README stays short.

    tools/links.py            exit code 1 if a file or a heading that is linked to is missing
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = ["*.md", "docs/*.md", "crates/*/README.md", "conformance/*.md", ".github/**/*.md"]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
README_LINES = 119


def without_code(text):
    """The text without blocks and spans of code, whose brackets are no links."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "`", text)


def anchors(path):
    """The names that headings get, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    names = set()
    for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        names.add(name)
    return names | set(re.findall(r"id=\"([^\"]+)\"", text))


def main():
    wrong = []
    for pattern in DOCUMENTS:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_symlink():
                continue
            for match in LINK.finditer(without_code(path.read_text())):
                link = match.group(1) or match.group(2)
                if re.match(r"[a-z]+:", link):
                    continue
                target, _, anchor = link.partition("#")
                there = (path.parent / target) if target else path
                if not there.exists():
                    wrong.append(f"{path.relative_to(ROOT)}: {link}: there is no such file")
                elif anchor and there.suffix == ".md" and anchor not in anchors(there):
                    wrong.append(f"{path.relative_to(ROOT)}: {link}: there is no such heading")
    lines = len((ROOT / "README.md").read_text().splitlines())
    if lines > README_LINES:
        wrong.append(f"README.md: {lines} lines, {README_LINES} at most")
    print("\n".join(wrong) or "all links lead somewhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
