"""Addresses that were published, opened in a browser; also after pages have moved."""

import collections
import re

import pytest

from book.anchors import ledger
from book.bench_builds import Book
from tests.book.front import FRONT

# Goes to each label of the page that is open, and returns those where that fails.
ASTRAY = """
async (labels) => {
  const astray = [];
  for (const label of labels) {
    location.hash = "";
    window.scrollTo(0, 0);
    location.hash = label;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    const place = document.getElementById(label);
    const box = place && place.getBoundingClientRect();
    const bottom = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    if (!place || box.top > innerHeight || (box.top < -5 && !bottom) ||
        document.querySelector(":target") !== place) {
      astray.push(label);
    }
  }
  return astray;
}
"""


def test_every_published_address_opens(browser, addresses, root):
    labels = collections.defaultdict(list)
    for each in ledger((root / "docs/anchors.txt").read_text("utf-8")):
        labels[each.page] += [each.label] if each.label else []
    assert len(labels) > 15
    page = browser.new_page()
    for name, of_page in labels.items():
        page.goto(f"{addresses['server']}/{name}.html", wait_until="load")
        assert page.evaluate(ASTRAY, of_page) == [], name
    page.close()


# --- a small book in which much has moved ---------------------------------------------

LABELS = {
    "index": ["index", "index-next"],
    "refs": ["refs", "refs-ripple", "refs-expressions", "refs-aux", "refs-next"],
    "konfig": ["konfig", "konfig-merge", "konfig-disk"],
    "built": ["built", "built-steps", "built-key", "built-warm"],
}
CLAIM = "\n% invisible-code-block: python\n%\n% assert len('ab') == 2\n\n"
# No page has a cell, so that no kernel starts.
SHOWN = "\n```{literalinclude} ../snippets/showing.py\n:pyobject: raises\n```\n"
TREE = "\n```{toctree}\n:hidden:\n\nrefs\nkonfig\nbuilt\n```\n"
# So many that a browser has to scroll.
WORDS = "These are the words of a section.\n\n" * 20


def page_of(name: str) -> str:
    """Return a page with these labels, whose headings are the words of the labels."""
    sections = [
        f"({label})=\n{'#' if label == name else '##'} About {label}\n\n{WORDS}"
        for label in LABELS[name]
    ]
    text = FRONT + CLAIM.join([*sections, ""]) + SHOWN
    return text + TREE if name == "index" else text


def edit(folder, page: str, before: str, after: str) -> None:
    path = folder / "docs" / f"{page}.md"
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")


def change(folder) -> None:
    """Insert, duplicate, rename and move headings, and rename a page."""
    # Inserted before the others, with the same words as another.
    more = f"(refs-more)=\n## About refs-expressions\n\nWords.\n{CLAIM}"
    edit(folder, "refs", "(refs-ripple)=", f"{more}(refs-ripple)=")
    # The words of a heading.
    edit(folder, "refs", "# About refs-ripple", "# It follows")
    # A label; the old one stays above the new one.
    edit(folder, "refs", "(refs-aux)=", "(refs-aux)=\n(refs-own)=")
    # A section that has left its page: its label is there no more.
    edit(folder, "konfig", "(konfig-disk)=", "(konfig-file)=")
    # A page.
    edit(folder, "index", "\nbuilt\n", "\nbuilding\n")
    for label in LABELS["built"]:
        new = label.replace("built", "building")
        edit(folder, "built", f"({label})=", f"({label})=\n({new})=")
    (folder / "docs" / "built.md").rename(folder / "docs" / "building.md")


MOVES = """\
built.html building.html
built.html#built-key building.html#building-warm
konfig.html#konfig-disk refs.html#refs-next
"""


@pytest.fixture(scope="module")
def moved_book(build, tmp_path_factory):
    folder, out = tmp_path_factory.mktemp("book"), tmp_path_factory.mktemp("moved")
    book = Book(folder / "copy", {name: page_of(name) for name in LABELS})
    published = [f"{page}.html" for page in LABELS]
    published += [
        f"{page}.html#{label}" for page, labels in LABELS.items() for label in labels
    ]
    lines = [f"{each}  first-edition\n" for each in published]
    (book.docs / "anchors.txt").write_text("".join(lines), "utf-8")
    change(book.folder)
    refused = build(book.folder, out)
    (book.docs / "moved.txt").write_text(MOVES, "utf-8")
    run = build(book.folder, out)
    assert run.returncode == 0, run.stderr
    return refused, out / "html"


def test_a_change_that_loses_addresses_is_refused(moved_book):
    refused, _ = moved_book
    assert refused.returncode == 1
    lost = re.findall(r"(\S+) has been published and leads nowhere", refused.stderr)
    assert sorted(lost) == ["built.html", "konfig.html#konfig-disk"]


@pytest.fixture
def opened(browser, moved_book, serve):
    page = browser.new_page()
    with serve(moved_book[1]) as address:
        yield lambda path: page.goto(f"{address}/{path}") and page
    page.close()


def test_a_label_holds_beside_new_and_renamed_headings(opened):
    page = opened("refs.html")
    assert page.evaluate(ASTRAY, LABELS["refs"]) == []
    titles = {
        label: page.locator(f"section:has(> #{label}, > span#{label})").or_(
            page.locator(f"section#{label}")
        )
        for label in LABELS["refs"]
    }
    assert "About" in titles["refs-expressions"].first.inner_text()
    assert "It follows" in titles["refs-ripple"].first.inner_text()
    # The nearest label is the one that is offered now.
    link = page.locator("h2:has-text('About refs-aux') .headerlink")
    assert link.get_attribute("href") == "#refs-own"


def test_a_section_that_left_has_a_stub_with_its_new_address(opened):
    page = opened("konfig.html#konfig-disk")
    stub = page.locator(":target")
    assert "it is now" in stub.inner_text()
    stub.get_by_role("link").click()
    page.wait_for_url("**/refs.html#refs-next")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("built.html", "building.html"),
        ("built.html#built-steps", "building.html#built-steps"),
        ("built.html#built-key", "building.html#building-warm"),
    ],
)
def test_an_old_page_leads_to_the_new_one_with_its_fragment(old, new, opened):
    page = opened(old)
    page.wait_for_url(f"**/{new}")
    if "#" in new:
        assert page.locator(":target").count() == 1


def test_an_old_page_leads_to_the_new_one_without_a_script(browser, moved_book):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((moved_book[1] / "built.html").as_uri())
    page.wait_for_url("**/building.html")
    page.context.close()
