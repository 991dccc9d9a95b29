"""The content security policy: nothing of ours breaks it, and it holds."""

import pytest

from book.policy import guarded
from tests.browser.waiting import until

INTRUDER = "<script>window.intruded = 1</script>"
REFUSED = {
    "a script in the page": INTRUDER,
    "a handler": '<img src="_static/none.png" onerror="window.intruded = 1">',
    "a style": '<p id="styled" style="position: fixed">x</p>',
    "a frame": '<iframe src="search.html"></iframe>',
    "another origin's script": '<script src="http://127.0.0.1:9/x.js"></script>',
    "another origin's picture": '<img src="http://127.0.0.1:9/x.png">',
    "a base": '<base href="http://127.0.0.1:9/">',
}


@pytest.fixture(params=["server", "disk"])
def altered(request, browser, addresses, built):
    """Return a function that opens a page with something put in behind the build."""
    page = browser.new_page()
    path = built[1] / "html" / f"altered-{request.param}.html"

    def opened(markup: str, again: bool = False):
        whole = (built[1] / "html" / "refs.html").read_text("utf-8")
        text = whole.replace("</article>", f"{markup}</article>")
        assert text != whole
        path.write_text(guarded(text) if again else text, "utf-8")
        page.add_init_script(
            """window.refused = [];
            document.addEventListener("securitypolicyviolation", (event) =>
              window.refused.push(event.effectiveDirective));"""
        )
        page.goto(f"{addresses[request.param]}/{path.name}")
        return page

    yield opened
    page.close()
    path.unlink(missing_ok=True)


@pytest.mark.parametrize("what", REFUSED)
def test_what_was_not_built_is_refused(altered, what):
    page = altered(REFUSED[what])
    until(page, "window.refused.length > 0")
    assert page.evaluate("window.intruded") is None
    assert len(page.evaluate("window.refused")) == 1


def test_what_was_built_is_allowed(altered):
    """The probe above can tell: the same script runs when its hash is in the policy."""
    page = altered(INTRUDER, again=True)
    assert page.evaluate("window.intruded") == 1
    assert page.evaluate("window.refused") == []


def test_code_as_an_address_is_refused(altered):
    page = altered('<a id="code" href="javascript:window.intruded = 1">x</a>')
    page.evaluate("document.querySelector('#code').click()")
    until(page, "window.refused.length > 0")
    assert page.evaluate("window.intruded") is None
