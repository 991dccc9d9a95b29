"""The search finds what people look for, from a server and from disk."""

import tomllib

import pytest

from tests.browser.waiting import until

QUERIES = "tests/browser/queries.toml"
FOUND = "question => bookSearch(question).slice(0, 3).map(section => section.label)"


@pytest.fixture(scope="module")
def wanted(root) -> dict[str, str]:
    return tomllib.loads((root / QUERIES).read_text("utf-8"))


@pytest.fixture(params=["server", "disk"])
def searching(request, browser, addresses):
    page = browser.new_page()
    page.goto(f"{addresses[request.param]}/search.html")
    yield page
    page.close()


def test_the_wanted_section_is_among_the_first_three(searching, wanted):
    assert len(wanted) > 40
    missed = {
        question: found
        for question, section in wanted.items()
        if section not in (found := searching.evaluate(FOUND, question))
    }
    assert missed == {}, f"{len(missed)} of {len(wanted)}"


def test_a_question_in_the_address_is_answered(browser, addresses):
    page = browser.new_page()
    page.goto(f"{addresses['server']}/search.html?q=RequiredValueError")
    first = page.locator("#search-results li a").first
    first.wait_for()
    assert first.get_attribute("href") == "refs.html#refs-placeholder"
    assert "section" in page.locator("#search-said").inner_text()
    first.click()
    page.wait_for_url("**/refs.html#refs-placeholder")
    page.close()


def test_results_follow_what_is_typed(searching):
    field = searching.locator("#search-question")
    field.fill("Inferred Dims")
    href = searching.locator("#search-results li a").first.get_attribute("href")
    assert href == "ktyping.html#ktyping-inferred-dims"
    field.fill("zzzzzz")
    assert searching.locator("#search-results li").count() == 0
    assert "No section has that" in searching.locator("#search-said").inner_text()
    field.fill("")
    assert searching.locator("#search-said").inner_text() == ""


def test_nothing_that_is_asked_becomes_markup(browser, addresses):
    page = browser.new_page()
    page.goto(f"{addresses['server']}/search.html?q=<img src=x onerror=alert(1)>")
    until(page, "document.getElementById('search-question').value")
    assert page.locator("article img, .bd-search-container img").count() == 0
    page.close()
