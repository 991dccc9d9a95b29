"""What is sent for a page: no more than was recorded, and never very much."""

import json
import time

import pytest

from book.audit import RECORD, WATCH, open_page, pages

FIRST, NEXT, REQUESTS = 250_000, 40_000, 15
# The search page brings the text of all sections along, and grows with the book. Beyond
# this, the text should come in parts.
SEARCH = 260_000


@pytest.fixture(scope="module")
def record() -> dict:
    return json.loads(RECORD.read_text("utf-8"))["pages"]


def test_the_record_has_all_pages_and_no_others(built, record):
    assert sorted(record) == pages(built[1] / "html"), "make audit"


def test_no_page_has_grown_by_a_tenth(browser, built, site, record):
    grown = {}
    for page in pages(built[1] / "html"):
        first = open_page(browser, site, page)
        other = "index" if page != "index" else "refs"
        after = open_page(browser, site, page, coming_from=other)
        limit = FIRST if page != "search" else SEARCH + NEXT
        assert first["bytes"] <= limit and first["requests"] <= REQUESTS, page
        limit = SEARCH if page == "search" else NEXT
        assert after["bytes"] <= limit and after["requests"] <= REQUESTS, page
        for visit, now in (("first", first), ("next", after)):
            # A few bytes are the versions and the commit at the foot.
            if now["bytes"] > record[page][visit]["bytes"] * 1.1 + 100:
                grown[page, visit] = now["bytes"], record[page][visit]["bytes"]
    assert not grown, "if it is worth it, make audit"


@pytest.mark.parametrize("size", [(360, 8000), (1400, 8000)], ids=["narrow", "wide"])
def test_nothing_moves_while_a_page_loads(browser, built, site, size):
    moved = {}
    width, height = size  # so high that all pictures are in sight
    with browser.new_context(viewport={"width": width, "height": height}) as context:
        context.add_init_script(WATCH)
        page = context.new_page()
        # What comes late moves what stands below it, unless its place is kept free.
        page.route("**/_images/*", lambda route: (time.sleep(0.1), route.continue_()))
        page.route("**/site.js*", lambda route: (time.sleep(0.1), route.continue_()))
        for name in pages(built[1] / "html"):
            page.goto(f"{site.address}/{name}.html", wait_until="load")
            page.wait_for_timeout(150)
            # Below this nobody sees it; browsers call a tenth good.
            if (shift := page.evaluate("watched.shift")) > 0.001:
                moved[name] = shift
    assert not moved
