"""The Python blocks of the README, of docs/getting-started.md and of the package's README run, and
print what their comments say."""

import ast
import io
import pathlib
import re
import tokenize

import gardenia
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = ["README.md", "docs/getting-started.md", "crates/gardenia-python/README.md"]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def run(source):
    """Runs a block. The comment behind an expression starts with its value, unless that is None."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    names, shown = {}, 0
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), "page", "exec"), names)
            continue
        value = eval(compile(ast.Expression(statement.value), "page", "eval"), names)
        if value is not None:
            comment = comments.get(statement.end_lineno, "")
            assert re.match(re.escape(repr(value)) + r"(?:$|[:;])", comment), (ast.unparse(statement), value, comment)
            shown += 1
    return shown


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_python_prints(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bad = gardenia.Bloom(items=2, fpp=1e-6)  # what the page's commands build before
    bad.update(["203.0.113.7", "198.51.100.9"])
    bad.save("bad.gdn")
    found = blocks(page)
    assert found, page
    assert all(run(block) for block in found)


def test_a_wrong_comment_is_noticed():
    run("1 + 1  # 2: the sum\n")
    for source in ("1 + 1  # 3\n", "1 + 1\n", "1 + 1  # 22\n"):
        with pytest.raises(AssertionError):
            run(source)
