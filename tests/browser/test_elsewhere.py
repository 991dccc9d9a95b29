"""Addresses that lead nowhere, and where the book may stand."""

import pytest

from book.chromium import serving
from tests.browser.axe import found_by_axe
from tests.browser.waiting import until


def links(page) -> tuple[str, str, str]:
    """Return where the page's first link and its search lead, and what it suggests."""
    return tuple(
        page.evaluate(
            """[document.querySelector("main a").href, document.forms[0].action,
              document.forms[0].q.value]"""
        )
    )


@pytest.mark.parametrize("under", ["", "/repo", "/a/b"])
@pytest.mark.parametrize("depth", ["", "x/", "x/y/z/"])
def test_an_address_that_leads_nowhere_is_answered(browser, built, under, depth):
    with serving(built[1] / "html", under) as site, browser.new_context() as context:
        page = context.new_page()
        answer = page.goto(f"{site.address}/{depth}resume-after_crash.html")
        assert answer.status == 404
        home = f"{site.address}/index.html"
        until(page, f"document.querySelector('main a').href === '{home}'")
        assert links(page) == (
            f"{site.address}/index.html",
            f"{site.address}/search.html",
            "resume after crash",
        )
        # It has its styles in itself, whatever it can find.
        width = page.evaluate("document.querySelector('main').clientWidth")
        assert width < 800 < page.viewport_size["width"]
        page.click("main li:nth-child(2) a")
        page.wait_for_url(f"{site.address}/install.html")


def test_it_is_answered_without_scripts_too(browser, site):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{site.address}/none.html")
        assert page.locator("main").bounding_box()["width"] < 800
        page.click("main li:nth-child(2) a")
        page.wait_for_url(f"{site.address}/install.html")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_stands_in_the_way_of_who_comes_to_it(browser, site, theme, width):
    with browser.new_context(
        viewport={"width": width, "height": 740}, color_scheme=theme
    ) as context:
        page = context.new_page()
        page.goto(f"{site.address}/x/none.html", wait_until="load")
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert found_by_axe(page) == []


def test_the_address_of_the_book_is_used_where_it_is_known(root, build, tmp_path):
    base = "https://example.org/some/book"
    run = build(root, tmp_path, "-D", f"html_baseurl={base}", page="index")
    assert run.returncode == 0, run.stderr
    html = (tmp_path / "html" / "404.html").read_text("utf-8")
    assert 'href="/some/book/index.html"' in html
    assert 'action="/some/book/search.html"' in html
