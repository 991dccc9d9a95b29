"""The markup of built pages: right by the parser of the standard, free of code."""

import collections

import html5lib
import pytest
from bs4 import BeautifulSoup

from book.policy import guarded, policy

# Elements that may stand in a summary, in a button, in a paragraph.
BLOCKS = ["p", "div", "ul", "ol", "table", "pre", "section", "details", "h1", "h2"]


@pytest.fixture(scope="module")
def texts(built) -> dict[str, str]:
    found = {p.name: p.read_text("utf-8") for p in (built[1] / "html").rglob("*.html")}
    assert {"refs.html", "search.html", "genindex.html", "404.html"} <= set(found)
    return found


@pytest.fixture(scope="module")
def soups(texts) -> dict[str, BeautifulSoup]:
    return {name: BeautifulSoup(text, "html.parser") for name, text in texts.items()}


def test_the_parser_has_nothing_to_mend(texts):
    for text in texts.values():
        html5lib.HTMLParser(strict=True).parse(text)


def test_the_parser_would_find_it(texts):
    for broken in ("<p><div></p>", "</section>", "<a href='x' href='y'>", "<b><i></b>"):
        text = texts["refs.html"].replace("</article>", f"{broken}</article>")
        with pytest.raises(html5lib.html5parser.ParseError):
            html5lib.HTMLParser(strict=True).parse(text)


def test_ids_are_given_once(soups):
    for name, html in soups.items():
        ids = collections.Counter(node["id"] for node in html.find_all(id=True))
        assert [i for i, times in ids.items() if times > 1] == [], name


def test_elements_stand_where_they_may(soups):
    for name, html in soups.items():
        for node in html.select("summary, button, a, p, span"):
            blocks = [b.name for b in node.find_all(BLOCKS)]
            assert blocks == [], (name, str(node)[:200])
        assert len(html.select("head > title")) == 1
        assert len(html.select("meta[name=viewport]")) == 1
        assert len(html.find_all("h1")) == 1, name


def test_no_page_has_code_or_styles_in_attributes(soups):
    for name, html in soups.items():
        for node in html.find_all(True):
            assert "style" not in node.attrs, (name, str(node)[:200])
            assert not [a for a in node.attrs if a.startswith("on")], (name, node.name)
            for address in ("href", "src", "action"):
                assert not node.get(address, "").startswith("javascript:"), name


def test_every_page_has_its_policy_before_all_else(texts, soups):
    for name, text in texts.items():
        first = soups[name].head.find(True)
        assert first.get("http-equiv") == "Content-Security-Policy", name
        assert first["content"] == policy(text)
        assert "unsafe" not in first["content"]
        assert guarded(text) == text
        scripts = soups[name].find_all("script", src=False)
        assert len(scripts) == (2 if name == "404.html" else 1)


def test_data_in_a_page_needs_no_leave():
    data = '<script type="application/ld+json">{}</script>'
    assert policy(data) == policy("")
    assert policy("<script type=module>go()</script>") != policy("")
    assert policy("<SCRIPT>go()</SCRIPT>") != policy("")
    assert policy("<style>p {}</style>") != policy("")
