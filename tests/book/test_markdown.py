"""Pages as Markdown: another parser reads in it what the page says, word for word."""

import hypothesis.strategies as st
import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.core import publish_doctree
from hypothesis import example, given
from myst_parser.parsers.docutils_ import Parser

from book.cells import pages
from book.markdown import code_span, escaped, fenced, parts
from tests.book.said import blocks, links, without_labels, words


@pytest.fixture(params=pages())
def page(request) -> str:
    return request.param


@pytest.fixture
def article(page, built) -> BeautifulSoup:
    html = (built[1] / "html" / f"{page}.html").read_text("utf-8")
    article = BeautifulSoup(html, "html.parser").select_one("article")
    for link in article.select("a.headerlink"):
        link.decompose()
    for image in article.select("img"):
        image.decompose()
    return article


@pytest.fixture
def text(page, built) -> str:
    return (built[1] / "html" / f"{page}.html.md").read_text("utf-8")


def test_the_words_are_those_of_the_page(page, article, text):
    # Neither code nor outputs, nor what only scripts show.
    for block in article.select("div.highlight, div.cell, .pst-js-only"):
        block.decompose()
    title, where, *rest = without_labels(text).split("\n\n")
    assert where == f"Page: <{page}.html>"
    body = [block for block in rest if not block.startswith("Picture: ")]
    said = words("\n\n".join([title, *body]))
    # HTML has blanks between its own tags, as before a full stop behind a link.
    assert "".join(said) == "".join(article.get_text().split())
    assert len(said) > 100


def test_the_code_and_the_outputs_are_those_of_the_page(article, text):
    shown = [block.get_text().rstrip() for block in article.select("div.highlight pre")]
    # Of a picture the page shows the drawing, and the Markdown the numbers.
    held = [block.rstrip() for block in blocks(text)]
    for block in shown:
        at = held.index(block)
        held = held[at + 1 :]
    assert len(shown) > 0


def test_nothing_of_myst_is_left(text):
    prose = words(without_labels(text))
    for mark in (":::", "invisible-code-block:", "{glue:text}", "{field}"):
        assert not [word for word in prose if word.startswith(mark)]


def test_links_lead_to_files_of_the_book(built, text):
    out = built[1] / "html"
    for link in links(text):
        if not link.startswith("https://"):
            name, _, fragment = link.partition("#")
            html = (out / name).read_text("utf-8")
            assert not fragment or f'id="{fragment}"' in html, link


def parsed(markdown: str) -> nodes.document:
    known = ["deflist", "colon_fence", "dollarmath"]
    settings = {"myst_enable_extensions": known, "doctitle_xform": False}
    return publish_doctree(markdown, parser=Parser(), settings_overrides=settings)


def written(markdown: str) -> str:
    return "\n\n".join(part.text for part in parts(parsed(markdown), str))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (":::{note}\nBeware.\n\nTwice.\n:::", "> **Note**\n>\n> Beware.\n>\n> Twice."),
        (":::{admonition} A b\nc\n:::", "> **A b**\n>\n> c"),
        ("Term\n: Means *this*.", "- **Term**\n\n  Means *this*."),
        ("- a\n- b\n  c", "- a\n- b\n  c"),
        ("- a\n\n  b\n- c", "- a\n\n  b\n\n- c"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("> a\n> b", "> a\n> b"),
        ("| a | b |\n|---|---|\n| `x\\|y` | c |", None),
        ("`` a`b ``", "``a`b``"),
        ("    1 < 2\n    3", "```\n1 < 2\n3\n```"),
        ("````\n```\n````", "````\n```\n````"),
        ("$$\na^2\n$$\n\nand $b_1$", "$$\na^2\n$$\n\nand $b_1$"),
        ("a **b *c*** d", "a **b *c*** d"),
        ("% a comment\n\nwords", "words"),
        ("a[^x]\n\n[^x]: b", "a[^1]\n\n---\n\n[^1]: b"),
        ("[a](https://host/b)", "[a](https://host/b)"),
        ("![what it shows](https://host/b.png)", None),
        ("a\n\n---\n\nb", "a\n\n---\n\nb"),
    ],
)
def test_a_construct_is_written_in_plain_markdown(source, expected):
    new = written(source)
    if expected is not None:
        assert new == expected
    assert words(new) == words(expected or source)


def test_bars_and_line_breaks_in_a_table_stay_in_their_cells():
    source = "| a | b |\n|---|---|\n| `x\\|y` | c \\| d |\n| e | f |"
    assert written(source).splitlines() == [
        "| a | b |",
        "| --- | --- |",
        r"| `x\|y` | c \| d |",
        "| e | f |",
    ]


TEXT = st.text(st.sampled_from("ab1 _*`<>[]()#+-.!&;$\\|~^\n"), min_size=1)


@given(TEXT)
@example("1. a\n# b\n> c\n- d")
@example("[a](b) and <b> &lt; __c__")
def test_escaped_words_read_as_they_were(text):
    plain = " ".join(text.split("\n")).split()
    lines = "\n".join(line.strip() for line in text.split("\n") if line.strip())
    assert words(f"x {escaped(lines)} x") == ["x", *plain, "x"]


@given(st.text(st.sampled_from("ab`| _*<"), min_size=1).filter(str.strip))
def test_a_code_span_holds_its_code(code):
    assert words(f"a {code_span(code)} b") == ["a", *code.split(), "b"]


@given(st.text(st.sampled_from("ab`~#\n "), min_size=1))
def test_a_block_holds_its_code(code):
    (held,) = blocks(fenced(code, "text"))
    assert held.rstrip() == code.rstrip()
