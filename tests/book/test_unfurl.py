"""What a link to a page shows elsewhere, and what search engines are told."""

import shutil
import struct
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from book import cards
from book.cells import pages
from tests.book.said import links

FILES = ("sitemap.xml", "robots.txt")
URL = "https://host.example/the-book/"
COLAB = "https://colab.research.google.com/github/us/book/blob/main/notebooks"
QUESTION = "I make a run shorter. What else must I remember to change?"


@pytest.fixture(scope="module")
def published(root, build, built, tmp_path_factory):
    """Return the folder of a build that knows its address."""
    out = tmp_path_factory.mktemp("published")
    run = build(root, out, "-D", f"book_colab={COLAB}", page="refs", url=URL)
    assert run.returncode == 0, run.stderr
    return out / "html"


def head(path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text("utf-8"), "html.parser").head


def content(soup: BeautifulSoup, name: str) -> str:
    kind = "property" if name.startswith("og:") else "name"
    (tag,) = soup.find_all("meta", attrs={kind: name})
    return tag["content"]


def test_a_link_shows_title_question_and_a_picture(published):
    soup = head(published / "refs.html")
    address = f"{URL}refs.html"
    assert content(soup, "og:title") == "Change one number, everything follows"
    assert content(soup, "og:description") == QUESTION
    assert content(soup, "description") == QUESTION
    assert content(soup, "og:url") == address
    assert content(soup, "og:image") == f"{URL}cards/refs.png"
    assert QUESTION in content(soup, "og:image:alt")
    assert "kauldron 1.4.4" in content(soup, "og:image:alt")
    assert content(soup, "og:site_name") == "Kauldron, Executed"
    (canonical,) = soup.find_all("link", rel="canonical")
    assert canonical["href"] == address


def test_the_picture_is_of_the_size_that_is_said(published):
    png = (published / "cards" / "refs.png").read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    soup = head(published / "refs.html")
    said = [int(content(soup, f"og:image:{side}")) for side in ("width", "height")]
    assert struct.unpack(">II", png[16:24]) == (*said,)
    assert b"Software" not in png and b"tIME" not in png


def test_search_engines_are_told_of_each_page(published):
    tree = ElementTree.parse(published / "sitemap.xml").getroot()
    assert tree.tag.endswith("}urlset")
    assert [each.text for each in tree.iter() if each.tag.endswith("}loc")] == [
        f"{URL}refs.html"
    ]
    robots = (published / "robots.txt").read_text("utf-8")
    assert f"Sitemap: {URL}sitemap.xml\n" in robots


def test_links_in_what_is_taken_away_are_whole(published):
    text = (published / "refs.html.md").read_text("utf-8")
    notebook = (published / "notebooks" / "refs.ipynb").read_text("utf-8")
    assert f"Page: <{URL}refs.html>" in text
    assert f"]({URL}refs.html)" in notebook
    assert [link for link in links(text) if not link.startswith("https://")] == []
    assert f"({URL}llms-full.txt)" in (published / "llms.txt").read_text("utf-8")


def test_colab_is_offered_where_somebody_says_that_it_opens(published):
    html = (published / "refs.html").read_text("utf-8")
    assert f'<a href="{COLAB}/refs.ipynb">Open in Colab</a>' in html


def test_without_an_address_nothing_wrong_is_said(built):
    out = built[1] / "html"
    for page in pages():
        soup = head(out / f"{page}.html")
        assert content(soup, "description")
        assert not soup.find_all("meta", property=True)
        assert not soup.find_all("link", rel="canonical")
    for name in (*FILES, "cards"):
        assert not (out / name).exists()


def test_a_build_that_has_lost_its_address_takes_back_what_it_said(
    root, build, published, tmp_path
):
    shutil.copytree(published.parent, tmp_path, dirs_exist_ok=True)
    said = [tmp_path / "html" / name for name in ("cards", *FILES)]
    assert all(path.exists() for path in said)
    run = build(root, tmp_path, page="refs", store=tmp_path / "an empty one")
    assert run.returncode == 0, run.stderr
    # Nothing was read or run again, and what is taken away is whole all the same.
    assert "No page needed to run again." in run.stdout
    notebook = (tmp_path / "html" / "notebooks" / "refs.ipynb").read_text("utf-8")
    assert "end of short: 9.549e-05" in notebook and URL not in notebook
    assert not any(path.exists() for path in said)
    assert URL not in (tmp_path / "html" / "refs.html").read_text("utf-8")


def test_an_address_that_cannot_be_one_is_refused(root, build, tmp_path):
    run = build(root, tmp_path, page="refs", url="example.org/book")
    assert run.returncode == 1
    assert "BOOK_URL should be like https://host/book/" in run.stderr


def test_every_card_has_room_for_its_words(built, tmp_path):
    drawn = set()
    for page in pages():
        soup = head(built[1] / "html" / f"{page}.html")
        path = tmp_path / f"{page}.png"
        draw(path, soup.title.get_text(), content(soup, "description"))
        drawn.add(path.read_bytes())
    assert len(drawn) == len(pages())


def test_a_card_is_drawn_alike_each_time(tmp_path):
    for turn in ("one", "other"):
        draw(tmp_path / turn, "Change one number, everything follows", QUESTION)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def draw(path, title: str, question: str) -> None:
    words = {"book": "Kauldron, Executed", "foot": "Ran with kauldron and jax"}
    cards.draw(path, title=title, question=question, **words)


def test_words_that_do_not_fit_are_refused(root, build, tmp_path):
    (tmp_path / "docs").mkdir()
    box = ":::{admonition} The question\n:class: question\n" + "So much? " * 90
    text = f"(index)=\n# Title\n\n{box}\n:::\n"
    (tmp_path / "docs" / "index.md").write_text(text)
    run = build(root, tmp_path, docs=str(tmp_path / "docs"), url=URL)
    assert run.returncode == 1
    assert "index.md: WARNING: title and question do not fit on a card" in run.stderr
    assert not (tmp_path / "html" / "cards" / "index.png").exists()


def test_no_line_is_wider_than_the_card(tmp_path):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

    canvas = FigureCanvasAgg(Figure(figsize=(12, 6.3), dpi=100))
    font = FontProperties(family="DejaVu Sans", size=24)
    words = f"{QUESTION} " * 3
    found = list(cards.lines(canvas, words, font))
    assert len(found) >= 3 and " ".join(found).split() == words.split()
    for line in found:
        width, _, _ = canvas.get_renderer().get_text_width_height_descent(
            line, font, ismath=False
        )
        assert width <= cards.WIDTH - 2 * 70
