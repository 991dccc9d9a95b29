"""One style sheet, one script: what is kept of them, and what of the other files."""

import re

import pytest
from bs4 import BeautifulSoup

from book.audit import pages
from book.bundle import SCRIPT, SHEET, shaken, used_in
from book.cells import DOCS

SHEETS = """
/* a comment */
@charset "utf-8";
@font-face { font-family: heavy; src: url(heavy.woff2) }
p, .unused { color: red }
.unused p { color: blue }
.used:not(.never)::after { content: "a;b}" }
a#place[href^="x"] > .used { --left: 1px; margin: var(--left) }
@media (min-width: 1px) { .unused { top: 0 } }
@container (width > 1px) { p { left: 0 } .unused { top: 0 } }
@media print { p { top: 0 } .unused { top: 0 } }
@supports (display: grid) { .made { display: grid; animation: turning 1s } }
@keyframes turning { from { top: 0 } to { top: 1px } }
@keyframes resting { from { top: 0 } to { top: 1px } }
:root { --left: 0; --used: var(--by-used); --by-used: 1; --unused: var(--by-unused);
  --by-unused: 1 }
body { top: var(--used) }
"""

# Pages that do what no other does.
WITH_SCRIPTS = ("compatibility", "errors", "search")


def test_only_what_may_be_used_stays():
    page = '<body><p class="used other"><a id="place">x</a></p></body>'
    assert shaken([SHEETS], used_in(page), words={"made"}).splitlines() == [
        "p{color: red}",
        '.used:not(.never)::after{content: "a;b}"}',
        'a#place[href^="x"] > .used{--left: 1px;margin: var(--left)}',
        "@container (width > 1px){p{left: 0}}",
        "@media print{p{top: 0}}",
        "@supports (display: grid){.made{display: grid;animation: turning 1s}}",
        "@keyframes turning{ from { top: 0 } to { top: 1px } }",
        ":root{--left: 0;--used: var(--by-used);--by-used: 1}",
        "body{top: var(--used)}",
    ]


def test_sheets_keep_their_order():
    assert shaken(["p {top: 0}", "p {top: 1px}"], {"p"}, set()) == (
        "p{top: 0}\np{top: 1px}\n"
    )


def test_a_sheet_that_asks_for_a_file_is_refused():
    with pytest.raises(ValueError, match=r"ask for url\(x.png\)"):
        shaken(["p {background: url(x.png)}"], {"p"}, set())
    data = "p {background: url('data:image/svg+xml,x')}"
    assert "data:" in shaken([data], {"p"}, set())


def test_what_cannot_be_read_is_refused():
    for unknown in ("p", "@import 'other.css';", "@layer x {p {top: 0}}"):
        with pytest.raises(ValueError, match="line 2"):
            shaken([f"p {{top: 0}}\n{unknown}"], {"p"}, set())


def test_every_page_has_one_sheet_and_one_script_of_its_version(built):
    out = built[1] / "html"
    versions = set()
    for name in pages(out):
        html = BeautifulSoup((out / f"{name}.html").read_text("utf-8"), "html.parser")
        sheets = [link["href"] for link in html.select("link[rel=stylesheet]")]
        scripts = [script["src"] for script in html.select("script[src]")]
        assert [re.sub(r"\?v=\w{8}$", "", sheet) for sheet in sheets] == [SHEET]
        assert re.sub(r"\?v=\w{8}$", "", scripts[0]) == SCRIPT
        if name not in WITH_SCRIPTS:
            assert len(scripts) == 1, name
        versions.add((sheets[0], scripts[0]))
    assert len(versions) == 1


def test_nothing_is_there_that_no_page_names(built):
    out = built[1] / "html"
    text = "".join(path.read_text("utf-8") for path in out.rglob("*.html"))
    scripts = "".join(path.read_text("utf-8") for path in out.rglob("*.js"))
    ours = {path.name for path in (DOCS / "_static").rglob("*")}
    for path in (out / "_static").rglob("*"):
        if path.is_file() and path.name not in ours:
            assert path.name in text or path.name in scripts, path
    assert not {"book.css", "book.js", "linking.js"} & {p.name for p in out.rglob("*")}
    assert not [p for p in out.rglob("*") if p.suffix in (".woff2", ".map")]
    assert "fontawesome" not in text
