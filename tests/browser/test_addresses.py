"""Addresses that were published, opened in a browser; also after pages have moved."""

import collections
import re

import pytest

from book.anchors import ledger
from book.cells import pages

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


# --- a copy of the book in which much has moved ---------------------------------------


def edit(folder, page: str, change) -> None:
    path = folder / "docs" / f"{page}.md"
    before = path.read_text("utf-8")
    path.write_text(change(before), "utf-8")
    assert path.read_text("utf-8") != before


def move(folder, *lines: str) -> None:
    path = folder / "docs" / "moved.txt"
    path.write_text(path.read_text("utf-8") + "\n".join([*lines, ""]), "utf-8")


CLAIM = "\n% invisible-code-block: python\n%\n% assert len('ab') == 2\n\n"


def change(folder) -> None:
    """Insert, duplicate, rename and move headings, and rename a page."""
    # Inserted before the others, with the same words as another.
    more = "(refs-more)=\n## Calculate with references\n\nWords.\n" + CLAIM
    edit(folder, "refs", lambda t: t.replace("(refs-ripple)=", f"{more}(refs-ripple)="))
    # The words of a heading.
    edit(folder, "refs", lambda t: t.replace("# The schedule follows", "# It follows"))
    # A label; the old one stays above the new one.
    edit(folder, "refs", lambda t: t.replace("(refs-aux)=", "(refs-aux)=\n(refs-own)="))
    # A section that has left its page: its label is there no more.
    edit(folder, "konfig", lambda t: t.replace("(konfig-disk)=", "(konfig-file)="))
    # A page.
    for page in pages(folder / "docs"):
        path = folder / "docs" / f"{page}.md"
        text = path.read_text("utf-8").replace("how-it-is-built.md", "building.md")
        path.write_text(re.sub("^how-it-is-built$", "building", text, flags=re.M))
    old = folder / "docs" / "how-it-is-built.md"
    text = old.read_text("utf-8")
    label = re.compile(r"^\(how-it-is-built(.*)\)=$", re.M)
    text = label.sub(r"\g<0>\n(building\1)=", text)
    old.with_name("building.md").write_text(text, "utf-8")
    old.unlink()


@pytest.fixture(scope="module")
def moved_book(build, copy_of_book, tmp_path_factory):
    folder, out = copy_of_book(), tmp_path_factory.mktemp("moved")
    change(folder)
    refused = build(folder, out)
    move(
        folder,
        "how-it-is-built.html building.html",
        "how-it-is-built.html#how-it-is-built-key building.html#building-warm",
        "konfig.html#konfig-disk refs.html#refs-next",
    )
    run = build(folder, out)
    assert run.returncode == 0, run.stderr
    return refused, out / "html"


def test_a_change_that_loses_addresses_is_refused(moved_book):
    refused, _ = moved_book
    assert refused.returncode == 1
    lost = re.findall(r"(\S+) has been published and leads nowhere", refused.stderr)
    assert "how-it-is-built.html" in lost and "konfig.html#konfig-disk" in lost
    assert {page.partition("#")[0] for page in lost} == {
        "how-it-is-built.html",
        "konfig.html",
    }


@pytest.fixture
def opened(browser, moved_book, serve):
    page = browser.new_page()
    with serve(moved_book[1]) as address:
        yield lambda path: page.goto(f"{address}/{path}") and page
    page.close()


def test_a_label_holds_beside_new_and_renamed_headings(opened, root):
    page = opened("refs.html")
    labels = [
        each.label
        for each in ledger((root / "docs/anchors.txt").read_text("utf-8"))
        if each.page == "refs" and each.label
    ]
    assert page.evaluate(ASTRAY, labels) == []
    titles = {
        label: page.locator(f"section:has(> #{label}, > span#{label})").or_(
            page.locator(f"section#{label}")
        )
        for label in labels
    }
    assert "Calculate" in titles["refs-expressions"].first.inner_text()
    assert "It follows" in titles["refs-ripple"].first.inner_text()
    # The nearest label is the one that is offered now.
    assert page.locator("h2:has-text('cfg.aux') .headerlink").get_attribute("href") == (
        "#refs-own"
    )


def test_a_section_that_left_has_a_stub_with_its_new_address(opened):
    page = opened("konfig.html#konfig-disk")
    stub = page.locator(":target")
    assert "it is now" in stub.inner_text()
    stub.get_by_role("link").click()
    page.wait_for_url("**/refs.html#refs-next")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("how-it-is-built.html", "building.html"),
        (
            "how-it-is-built.html#how-it-is-built-steps",
            "building.html#how-it-is-built-steps",
        ),
        ("how-it-is-built.html#how-it-is-built-key", "building.html#building-warm"),
    ],
)
def test_an_old_page_leads_to_the_new_one_with_its_fragment(old, new, opened):
    page = opened(old)
    page.wait_for_url(f"**/{new}")
    if "#" in new:
        assert page.locator(":target").count() == 1


def test_an_old_page_leads_to_the_new_one_without_a_script(browser, moved_book):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((moved_book[1] / "how-it-is-built.html").as_uri())
    page.wait_for_url("**/building.html")
    page.context.close()
