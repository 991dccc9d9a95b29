"""The page of versions in a browser: how old it says it is, and what a link unfolds."""

import datetime
import json

import pytest

from book.compatibility_page import RECORD

MEASURED = json.loads(RECORD.read_text("utf-8"))["measured"]


@pytest.fixture
def opened(browser, site):
    """Return a function that opens the page some days after the measurement."""
    with browser.new_context() as context:

        def open_after(days: int, fragment: str = ""):
            page = context.new_page()
            day = datetime.date.fromisoformat(MEASURED) + datetime.timedelta(days)
            page.clock.set_fixed_time(f"{day}T12:00:00Z")
            page.goto(f"{site.address}/compatibility.html{fragment}")
            return page

        yield open_after


def test_old_results_are_said_to_be_old(opened):
    assert opened(60).locator(".measured-long-ago").count() == 0
    page = opened(61)
    warning = page.locator(".measured-long-ago").inner_text()
    assert warning.startswith("These results are 61 days old.")
    first = page.locator("p:has(.measured)").first.inner_text()
    assert first == f"Measured {MEASURED} (61 days ago)."


def test_a_link_unfolds_what_was_found(opened):
    page = opened(0, "#compat-etils-alone-kontext")
    assert page.locator("#compat-etils-alone-kontext[open]").count() == 1
    page.locator("table.compat a[href='#compat-etils-alone-trainer']").click()
    assert page.locator("#compat-etils-alone-trainer[open]").count() == 1


def test_without_scripts_the_date_stands_there(browser, site):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{site.address}/compatibility.html")
        assert page.locator(".measured").first.inner_text() == MEASURED
        page.locator("#compat-etils-alone-trainer > summary").click()
        assert page.locator("#compat-etils-alone-trainer pre").first.is_visible()
