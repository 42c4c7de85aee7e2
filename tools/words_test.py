#!/usr/bin/env python3
"""Plants every phrase of tools/words.py in every kind of file, and lines that are too long for
tools/width.py, and looks whether they are found.

    tools/words_test.py
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import width
import words

# A file's name, and text in which a phrase goes over the end of a line: `{0}` and `{1}` are its two halves.
PLACES = [
    ("docs/page.md", "A sentence that begins here, {0}\n{1} and ends there.\n"),
    ("docs/list.md", "* An item, {0}\n  {1} in a list.\n"),
    ("docs/table.md", "| a | b |\n|---|---|\n| c | {0} {1} |\n"),
    ("docs/code.md", "```sh\ngardenia build   # {0} {1}\n```\n"),
    (".github/check.yml", "# A comment, {0}\n# {1} and more\non: push\n"),
    ("help/80/build.txt", "  --option\n          What it does, {0}\n          {1}\n"),
    ("src/doc.rs", "/// A comment, {0}\n/// {1} of a function.\nfn f() {{}}\n"),
    ("src/module.rs", "//! A comment, {0}\n//! {1} of a module.\n"),
    ("src/text.rs", 'const A: &str = "words, {0} \\\n    {1} and more";\n'),
    ("src/plain.rs", "fn f(c: char) -> bool {{ c == '\"' || c == '\\'' }}\nconst A: &str = \"words, {0} {1}\";\n"),
    ("src/raw.rs", 'const A: &str = r#"words, "{0}"\n{1} and more"#;\n'.replace('"{0}"', "{0}")),
    ("src/concat.rs", 'const A: &str = concat!("words, {0} {1}", "and more");\n'),
    ("python/doc.py", 'def f():\n    """A docstring, {0}\n    {1} and more."""\n'),
    ("python/text.py", 'raise ValueError("words, {0} "\n                 "{1} and more")\n'),
    ("python/types.pyi", "class A:\n    '''A docstring, {0}\n    {1} and more.'''\n"),
    ("include/line.h", "/* first */\n// A comment, {0}\n// {1} of a function.\nint f(void);\n"),
    ("include/block.hpp", "/* A comment, {0}\n * {1} of a function. */\nint f(void);\n"),
    ("page/comment.js", "// A comment, {0}\n// {1}\nlet a = 1;\n"),
    ("page/text.js", 'say("words, {0} " +\n    "{1} and more");\n'),
    ("page/template.js", "say(`words, {0}\n    {1} and ${{more}}`);\n"),
    ("page/index.html", "<p>Words, {0}\n<b>{1}</b> and more.</p>\n"),
]


def halves(phrase):
    """A phrase cut at a space, as a line may end there."""
    first, _, second = phrase.rpartition(" ")
    return first, second


class Words(unittest.TestCase):
    def search(self, name, source, patterns):
        return [(line, pattern) for line, _, pattern, _ in words.found(pathlib.Path(name), source, patterns)]

    def test_every_phrase_is_found_in_every_kind_of_file(self):
        for (pattern, instead), (_, _, example) in zip(words.PATTERNS, words.BANNED, strict=True):
            matched = pattern.search(example)
            self.assertIsNotNone(matched, f"{pattern.pattern} is not in {example!r}")
            for name, text in PLACES:
                source = text.format(*halves(example))
                self.assertIn(pattern, [p for _, p in self.search(name, source, [(pattern, instead)])], (name, source))

    def test_every_old_sentence_is_found_in_a_document(self):
        for pattern, instead in words.sentences():
            old = pattern.pattern.replace("\\", "")
            for source in (f"Before that, {old} stood there.\n", "Before,\n" + old.replace(" ", "\n") + "\n"):
                if "|" not in old or old in source:
                    self.assertTrue(self.search("docs/page.md", source, [(pattern, instead)]), source)

    def test_the_lists_are_complete(self):
        numbers = {row.split("\t")[0] for row in words.SENTENCES.read_text().splitlines() if not row.startswith("#")}
        self.assertEqual({f"E{i}" for i in range(1, 64)} - numbers, set())
        self.assertEqual({f"A{i}" for i in range(1, 16)} - numbers, set())
        self.assertGreaterEqual(len(words.BANNED), 30)

    def test_every_new_sentence_stands_somewhere(self):
        pages = {path for pattern in words.SEARCHED for path in words.ROOT.glob(pattern) if path.is_file()}
        text = "\n".join(t.joined() for page in sorted(pages) for t in words.texts(page, page.read_text(errors="replace")))
        for row in words.SENTENCES.read_text().splitlines():
            now = row.split("\t")[-1]
            if not row.startswith("#") and not now.startswith("gone"):
                self.assertIn(now.lower(), text.lower(), row)

    def test_the_line_is_that_of_the_phrase(self):
        pattern = [p for p in words.PATTERNS if p[0].search("at hand")]
        source = "/// One.\n///\n/// Keys that are at\n/// hand.\nfn f() {}\n"
        self.assertEqual([line for line, _ in self.search("a.rs", source, pattern)], [3])
        self.assertEqual([line for line, _ in self.search("a.py", 'x = 1\ny = """a\nb at\nhand"""\n', pattern)], [3])

    def test_what_is_exempt_or_not_prose_is_left_alone(self):
        for name, source in [
            ("a.md", "The folder that Redis names. <!-- words: exempt -->\n"),
            ("a.rs", 'const A: &str = "in a folder"; // words: exempt\n'),
            ("a.rs", "fn folder() { let folder = 1; }\n"),
            ("a.rs", "/// `Err(Full)`, ERR and so many that it overflows.\nfn f() -> Result<(), ()> { Err(()) }\n"),
            ("a.py", "folder = err = 1\n"),
            ("a.md", "They cannot be told apart.\n"),
        ]:
            self.assertEqual(self.search(name, source, words.PATTERNS), [], source)

    def test_texts_that_do_not_belong_together_are_not_joined(self):
        self.assertEqual(self.search("a.rs", '/// At\nconst A: &str = "hand";\n', words.PATTERNS), [])
        self.assertEqual(self.search("a.md", "It is at\n\nhand over.\n", words.PATTERNS), [])
        self.assertEqual(self.search("a.rs", "/// It is at\n///\n/// hand over.\n", words.PATTERNS), [])


class Width(unittest.TestCase):
    LONG = ("word " * 30).strip()

    def wrong(self, name, source):
        fixed, numbers = width.examined(pathlib.Path(name), source, True)
        if numbers:
            self.assertEqual(width.examined(pathlib.Path(name), fixed, False), (fixed, []), "wrapping is not enough")
            self.assertEqual(fixed.replace("//!", "").replace("///", "").split(), source.replace("//!", "").replace("///", "").split())
        else:
            self.assertEqual(fixed, source)
        return numbers

    def test_long_prose_is_found_and_wrapped(self):
        self.assertEqual(self.wrong("a.md", f"Short.\n\n{self.LONG}\n"), [3])
        self.assertEqual(self.wrong("a.md", f"* item\n* {self.LONG}\n  more\n* last\n"), [2])
        self.assertEqual(self.wrong("a.md", f"1. {self.LONG}\n"), [1])
        self.assertEqual(self.wrong("a.rs", f"fn f() {{}}\n    /// {self.LONG}\n    /// more\n"), [2])
        self.assertEqual(self.wrong("a.rs", f"//! {self.LONG}\n"), [1])

    def test_code_tables_and_headings_are_left_alone(self):
        for source in (f"```sh\n{self.LONG}\n```\n", f"| {self.LONG} |\n", f"# {self.LONG}\n", f">>> {self.LONG}\n{self.LONG}\n"):
            self.assertEqual(self.wrong("a.md", source), [])
        self.assertEqual(self.wrong("a.rs", f"/// ```\n/// {self.LONG}\n/// ```\nfn f() {{}} // {self.LONG}\n"), [])

    def test_code_is_not_broken_and_no_list_begins(self):
        words_ = ("word " * 18) + "`a span of code that is long` - more - " * 3
        fixed, _ = width.examined(pathlib.Path("a.md"), words_ + "\n", True)
        self.assertEqual([line for line in fixed.splitlines() if line.count("`") % 2 or line.startswith("- ")], [])


if __name__ == "__main__":
    unittest.main()
