"""Opens the built book in Chromium, from disk and from a server."""

import contextlib
import pathlib
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import sync_playwright

from book.chromium import CHROMIUM, FLAGS, serving


def pytest_collection_modifyitems(items) -> None:
    """Skip these tests, with the reason, where there is no Chromium."""
    if CHROMIUM is None:
        reason = "no chromium on PATH (apt install chromium; or set CHROMIUM)"
        for item in items:
            if item.path.parent.name == "browser":
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="module")
def browser():
    """Return a headless Chromium.

    It is gone before the next file: while it runs, so does an event loop, in which no
    test could start one of its own.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def serve() -> Callable:
    """Return a function that serves a folder, and gives the address."""

    @contextlib.contextmanager
    def served(folder: pathlib.Path) -> Iterator[str]:
        with serving(folder) as site:
            yield site.address

    return served


@pytest.fixture(scope="session")
def site(built):
    """Serve the book, under a path that is not the root, as project pages are."""
    run, out = built
    assert run.returncode == 0, run.stderr
    with serving(out / "html", under="/repo") as site:
        yield site


@pytest.fixture(scope="session")
def addresses(built, site):
    """Return where the book can be opened: from disk, and from a server."""
    return {"disk": (built[1] / "html").as_uri(), "server": site.address}
