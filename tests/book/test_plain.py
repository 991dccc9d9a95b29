"""The book as text: one file a page, an overview of them, and all of them in one."""

import re

import pytest
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt

from book.cells import pages
from book.what_ran import versions


@pytest.fixture(scope="module")
def out(built):
    return built[1] / "html"


def test_the_overview_has_the_form_that_llmstxt_org_describes(out):
    text = (out / "llms.txt").read_text("utf-8")
    kinds = [
        token.type
        for token in MarkdownIt().parse(text)
        if token.level == 0 and token.nesting >= 0
    ]
    assert kinds[:2] == ["heading_open", "blockquote_open"]
    assert text.startswith("# Kauldron, Executed\n\n> ")
    assert [line for line in text.splitlines() if line.startswith("##")] == [
        "## Begin",
        "## Parts that fit together",
        "## Training",
        "## In depth",
        "## From elsewhere",
        "## In the end",
    ]


def test_the_overview_lists_each_page_once_with_its_question(out, root):
    text = (out / "llms.txt").read_text("utf-8")
    listed = re.findall(r"^- \[(.+)\]\((.+)\.html\.md\): (.+)$", text, re.M)
    assert sorted(page for _, page, _ in listed) == pages()
    assert len(listed) == len(re.findall("^- ", text, re.M))
    for title, page, question in listed:
        source = (root / "docs" / f"{page}.md").read_text("utf-8")
        assert f"\n# {title}\n" in source
        box = source.split(":class: question\n")[1].split("\n:::")[0]
        assert question == " ".join(box.split())


def test_the_whole_book_is_its_pages_in_order(out):
    overview = (out / "llms.txt").read_text("utf-8")
    order = re.findall(r"\(([\w-]+)\.html\.md\)", overview)
    whole = (out / "llms-full.txt").read_text("utf-8")
    at = 0
    for page in order:
        text = (out / f"{page}.html.md").read_text("utf-8")
        at = whole.index(text, at) + len(text)
    assert at == len(whole)
    for name, version in versions().items():
        assert f"{name} {version}" in whole[: whole.index("Page: ")]


def test_each_heading_has_its_address(out):
    text = (out / "refs.html.md").read_text("utf-8")
    assert text.startswith("# Change one number, everything follows {#refs}\n")
    assert "\n## The schedule follows {#refs-ripple}\n" in text


def test_a_cell_stands_above_its_output_and_a_picture_says_what_it_shows(out):
    text = (out / "refs.html.md").read_text("utf-8")
    assert (
        "print(table(long=long, short=short))\n```\n\n```text\n"
        "               10 %       50 %       90 %\n" in text
    )
    assert "\n\nPicture: Curves of the learning rate over the share of" in text
    assert "% assert" not in text and "glue(" not in text


@pytest.mark.parametrize("page", pages())
def test_a_page_names_its_text(page, out):
    html = (out / f"{page}.html").read_text("utf-8")
    link = f'<link rel="alternate" type="text/markdown" href="{page}.html.md" />'
    assert html.count(link) == 1
    assert f'href="{page}.html.md">Read as Markdown' in html
    notebook = f'href="notebooks/{page}.ipynb" download>Download notebook'
    assert (notebook in html) == (out / "notebooks" / f"{page}.ipynb").exists()
    assert "colab.research" not in html


def test_a_menu_at_the_top_leads_to_notebook_and_text(out):
    for page, wanted in (
        ("refs", ["notebooks/refs.ipynb", "refs.html.md"]),
        ("how-it-is-built", ["how-it-is-built.html.md"]),
    ):
        html = (out / f"{page}.html").read_text("utf-8")
        soup = BeautifulSoup(html, "html.parser")
        menu = soup.find("summary", attrs={"aria-label": "Take this page away"}).parent
        assert [link["href"] for link in menu.find_all("a")] == wanted
