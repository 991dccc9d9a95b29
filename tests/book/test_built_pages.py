"""What every built page owes its readers, read from the HTML."""

import pathlib
import re

import pytest
from bs4 import BeautifulSoup

from book.cells import pages
from book.what_ran import commit, versions

NOISE = {
    "a memory address": r"\b0x[0-9a-f]{6,}\b",
    "a temporary path": r"/tmp/|/var/folders/|ipykernel_\d+",
    "a start-up line": (
        r"TCP without encryption|oneDNN|cudart|TF-TRT|absl::|E0000|WARNING: All log"
    ),
    "the remains of a progress bar": r"\r|\d+%\|",
    "a terminal colour": r"\x1b\[",
}


# Read once for all tests of a page, which change nothing in it.
@pytest.fixture(scope="module", params=pages())
def page(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def html(page, built) -> BeautifulSoup:
    return BeautifulSoup(
        (built[1] / "html" / f"{page}.html").read_text("utf-8"), "html.parser"
    )


def outputs(html: BeautifulSoup) -> list[str]:
    return [
        block.get_text()
        for block in html.select("div.cell_output, .pasted-text, .pasted-inline")
    ]


def test_outputs_are_free_of_noise(page, html, root):
    found = outputs(html)
    assert found
    patterns = NOISE | {
        "a path of this machine": f"{re.escape(str(pathlib.Path.home()))}/|{root}"
    }
    for text in found:
        for what, pattern in patterns.items():
            assert not re.search(pattern, text), f"{page} shows {what}: {text}"


def test_every_heading_has_a_label_of_ours(page, html):
    headings = html.select(
        "article section > h1, article section > h2, article section > h3"
    )
    assert headings
    for heading in headings:
        link = heading.find("a", class_="headerlink")
        if heading.name == "h1":
            assert link["href"] == f"#{page}"
        else:
            assert link["href"].startswith(f"#{page}-"), heading.get_text()


def test_a_page_begins_with_a_question_and_ends_with_what_to_do_next(page, html):
    assert html.select_one("article .admonition.question p.admonition-title")
    titles = [h.get_text().rstrip("#") for h in html.select("article section > h2")]
    assert titles[-1] == "Next"
    if page not in ("index", "carry-away"):
        assert titles[-2] == "Carry away"


def test_pictures_say_what_they_show(html):
    for image in html.select("article img"):
        assert len(image["alt"]) > 40 and not image["alt"].startswith(("<", "_images"))


def test_the_foot_says_what_ran(html):
    foot = " ".join(html.select_one(".what-ran").get_text().split()).replace(
        "\xa0", " "
    )
    for name, version in versions().items():
        assert f"{name} {version}" in foot
    built_from = commit()
    if built_from:
        assert f"commit {built_from['short']} of {built_from['date']}" in foot


def test_nothing_comes_from_another_origin(html):
    for tag, attribute in (
        ("script", "src"),
        ("img", "src"),
        ("iframe", "src"),
        ("source", "src"),
        ("object", "data"),
    ):
        for node in html.find_all(tag, attrs={attribute: True}):
            assert not re.match(r"(https?:)?//", node[attribute]), node
    for link in html.find_all("link", href=True):
        assert not re.match(r"(https?:)?//", link["href"]), link


def test_there_are_no_widgets(html):
    assert not html.find_all("script", type=re.compile("widget"))


def test_no_style_asks_another_origin(built):
    sheets = list((built[1] / "html").rglob("*.css"))
    assert sheets
    for sheet in sheets:
        text = sheet.read_text("utf-8")
        assert not re.search(r"""(@import|url\()\s*["']?(https?:)?//""", text), sheet


def test_without_a_repository_there_are_no_buttons_to_one(html):
    for link in html.select("a[href]"):
        assert "/edit/" not in link["href"] and "/issues/new" not in link["href"]
