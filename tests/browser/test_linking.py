"""The menu at each heading: link, Markdown, report; by mouse, by keyboard, without."""

import re
import urllib.parse

import pytest

from book.what_ran import versions
from tests.browser.waiting import until

REPOSITORY = "https://example.org/book"


@pytest.fixture(scope="module")
def with_repository(root, build, serve, tmp_path_factory):
    """Return the address of a page that knows its repository."""
    out = tmp_path_factory.mktemp("repository")
    run = build(root, out, page="refs", repository=REPOSITORY)
    assert run.returncode == 0, run.stderr
    with serve(out / "html") as address:
        yield address


@pytest.fixture
def page(browser):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    yield context.new_page()
    context.close()


def menu(page, heading: str):
    return page.locator(f"section#{heading} > details.section-menu")


COPIED = "navigator.clipboard.readText()"


@pytest.mark.parametrize("where", ["server", "disk"])
def test_a_link_is_copied(page, addresses, where):
    page.goto(f"{addresses[where]}/refs.html?q=x#refs-aux")
    menu(page, "refs-copies").locator("summary").click()
    page.get_by_role("button", name="Copy link").locator("visible=true").click()
    until(page, "document.querySelector('.section-said').textContent")
    assert page.locator(".section-said").inner_text() == "Link copied"
    assert page.evaluate(COPIED) == f"{addresses[where]}/refs.html#refs-copies"
    assert page.locator("details.section-menu[open]").count() == 0


def test_markdown_is_copied_by_keyboard(page, addresses):
    page.goto(f"{addresses['server']}/konfig.html")
    summary = menu(page, "konfig-merge").locator("summary")
    summary.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.section-said').textContent")
    assert page.evaluate(COPIED) == (
        "[Merge two configs with | — Kauldron, Executed]"
        f"({addresses['server']}/konfig.html#konfig-merge)"
    )
    assert summary.evaluate("node => node === document.activeElement")


def test_escape_and_a_click_elsewhere_close_the_menu(page, addresses):
    page.goto(f"{addresses['server']}/refs.html")
    summary = menu(page, "refs-aux").locator("summary")
    opened = page.locator("details.section-menu[open]")
    summary.click()
    assert opened.count() == 1
    page.keyboard.press("Escape")
    assert opened.count() == 0
    summary.click()
    page.locator("article p").first.click()
    assert opened.count() == 0


def test_a_report_names_the_section_and_what_ran(page, with_repository):
    page.goto(f"{with_repository}/refs.html")
    menu(page, "refs-frozen").locator("summary").click()
    link = menu(page, "refs-frozen").get_by_role("link")
    address, _, query = link.get_attribute("href").partition("?")
    asked = urllib.parse.parse_qs(query)
    assert address == f"{REPOSITORY}/issues/new"
    assert asked["template"] == ["section.yml"]
    assert asked["section"] == [f"{with_repository}/refs.html#refs-frozen"]
    assert asked["title"] == ["The same edit without a reference: "]
    assert f"kauldron\xa0{versions()['kauldron']}" in asked["versions"][0] or (
        f"kauldron {versions()['kauldron']}" in asked["versions"][0]
    )


def test_the_form_has_the_fields_that_a_report_fills(root):
    form = (root / ".github/ISSUE_TEMPLATE/section.yml").read_text("utf-8")
    assert {"section", "versions"} <= set(re.findall(r"^    id: (\w+)$", form, re.M))


def test_without_a_repository_no_report_is_offered(page, addresses):
    page.goto(f"{addresses['server']}/refs.html")
    assert page.locator("details.section-menu").count() > 5
    assert page.locator("details.section-menu a").count() == 0


def test_without_a_script_the_plain_link_remains(browser, addresses):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{addresses['server']}/refs.html")
    assert page.locator("details.section-menu").count() == 0
    link = page.locator("#refs-copies h2 > a.headerlink")
    assert link.get_attribute("href") == "#refs-copies"
    page.context.close()
