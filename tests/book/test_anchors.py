"""Every address that was ever published leads somewhere, and none is forgotten."""

import subprocess

import pytest
from bs4 import BeautifulSoup

from book import anchors, moved
from book.anchors import Address, edition, ledger
from tests.book.front import BARE

FILE = "docs/anchors.txt"


@pytest.fixture(scope="module")
def published(root) -> dict[Address, tuple[int, str]]:
    return ledger((root / FILE).read_text("utf-8"))


@pytest.fixture(scope="module")
def built_pages(built) -> dict[str, BeautifulSoup]:
    return {
        path.stem: BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for path in (built[1] / "html").glob("*.html")
    }


def test_every_published_address_is_in_the_built_book(published, built_pages, root):
    elsewhere, _ = moved.moves((root / "docs/moved.txt").read_text("utf-8"))
    assert len(published) > 100
    for old in published:
        new = elsewhere.get(old, old)
        assert new.page in built_pages, f"{FILE}: {old} leads nowhere"
        if new.label:
            found = built_pages[new.page].find(id=new.label)
            assert found, f"{FILE}: {old} leads nowhere"


def test_every_address_of_the_built_book_is_published(published, built):
    for each in (built[1] / "anchors.txt").read_text("utf-8").split():
        assert anchors.address(each) in published, f"{each} is new: make accept"


def test_nothing_was_ever_taken_out(root):
    """A change of main is for good, so also what an earlier commit had counts."""
    log = subprocess.run(
        ["git", "log", "--format=", "--patch", "--no-renames", "--", FILE],
        cwd=root,
        capture_output=True,
        text=True,
    )
    if log.returncode:
        pytest.skip("no clone, so there are no earlier commits")
    now = {line.rstrip() for line in (root / FILE).read_text("utf-8").splitlines()}
    for line in log.stdout.splitlines():
        if line[:1] in "+-" and ".html" in line:
            assert line[1:].rstrip() in now, f"{FILE}: {line[1:]} was taken out"


def test_what_is_offered_as_a_link_is_an_address_of_ours(published, built_pages):
    """An automatic id moves when a heading or a footnote is added above it."""
    for page, html in built_pages.items():
        if page in anchors.GENERATED or not html.article:
            continue
        for link in html.article.select("a[href*='#']"):
            target, _, label = link["href"].partition("#")
            if "://" in target or link.get("id") == "moved-to":
                continue
            if page == "compatibility" and label.startswith("compat-"):
                continue  # a set of versions, there as long as the matrix has it
            offered = Address(target.removesuffix(".html") or page, label)
            assert offered in published, f"{page}: {link}"


def test_the_editions_are_tags_of_ours(published):
    assert {name for _, name in published.values()} >= {edition()}
    assert all(name.startswith("kauldron-1.") for _, name in published.values())


NOTES = (
    BARE
    + """(index)=
# Notes

One[^index-why], and again[^index-why]. Two[^two].

```{figure} picture.png
:alt: a picture of nothing, with a long alt text

A caption.
```

```{figure} picture.png
:alt: a picture of nothing, with a long alt text
:name: index-picture

A caption.
```

[^index-why]: Why.
[^two]: Other.
"""
)


def test_footnotes_and_captions_have_addresses_of_ours(refused):
    lines, out = refused({"index": NOTES})
    assert [line for line in lines if "footnote" in line or "caption" in line] == [
        "index.md:26: WARNING: the footnote 'two'; write [^index-…], its address "
        "[book.page]",
        "index.md:12: WARNING: the caption 'A caption.' has no label; write "
        ":name: index-… [book.page]",
    ]
    html = BeautifulSoup((out / "html/index.html").read_text("utf-8"), "html.parser")
    offered = {a["href"] for a in html.article.select("a[href^='#']")}
    assert offered >= {
        "#index-why",
        "#index-why-from-1",
        "#index-why-from-2",
        "#index-picture",
    }
    assert all(html.find(id=each[1:]) for each in offered)
    built = (out / "anchors.txt").read_text("utf-8").split()
    assert {"index.html#index-why-from-2", "index.html#index-picture"} <= {*built}


# --- what a build says ----------------------------------------------------------------

PAGE = (
    BARE
    + """(index)=
# One

(index-new)=
## Two
"""
)


def said(refused, **tables: str) -> list[str]:
    tables = {f"{name}.txt": text for name, text in tables.items()}
    lines, _ = refused({"index": PAGE, **tables})
    return [line for line in lines if ".txt" in line]


def test_an_address_that_is_lost_is_refused(refused):
    lines = said(
        refused,
        anchors="# all\nindex.html e-1\nindex.html#index-old e-1\ngone.html e-1\n",
    )
    assert lines == [
        "docs/anchors.txt:3: WARNING: index.html#index-old has been published and "
        "leads nowhere; keep (index-old)= above the section's new label, or write its "
        "new address into docs/moved.txt [book.anchor]",
        "docs/anchors.txt:4: WARNING: gone.html has been published and leads nowhere; "
        "write its new address into docs/moved.txt [book.anchor]",
    ]


MOVES = {
    "a.html": "two addresses",
    "b.html index": "'index' is no address; write page.html or page.html#label",
    "c.html other.html": "there is no page other.html",
    "d.html#a index.html#index-x": "no label index-x on index",
    "index.html index.html": "docs/index.md is still there",
    "index.html#index-new index.html": "(index-new)= is still on its page",
    "c.html index.html": "c.html stands here twice",
}


def test_a_move_that_cannot_be_is_refused(refused):
    lines = said(refused, moved="\n".join(MOVES))
    expected = [
        f"docs/moved.txt:{number}: WARNING: {message} [book.moved]"
        for number, message in enumerate(MOVES.values(), 1)
    ]
    assert sorted(lines) == expected


def test_a_ledger_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"docs/anchors.txt:1: an address and"):
        ledger("index.html")
