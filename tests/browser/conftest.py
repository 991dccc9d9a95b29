"""Opens the built book in Chromium, from disk and from a server."""

import contextlib
import functools
import http.server
import os
import pathlib
import shutil
import threading
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("BOOK_CHROMIUM") or shutil.which("chromium")

# No requests of the browser's own, and no sandbox, which containers do not allow.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items) -> None:
    """Skip these tests, with the reason, where there is no Chromium."""
    if CHROMIUM is None:
        reason = "no chromium on PATH (apt install chromium; or set BOOK_CHROMIUM)"
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


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    def log_message(self, *arguments):
        """Say nothing."""


@contextlib.contextmanager
def served(folder: pathlib.Path) -> Iterator[str]:
    """Serve a folder within the block, and return the address."""
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="session")
def serve() -> Callable:
    """Return the function that serves a folder."""
    return served


@pytest.fixture(scope="session")
def addresses(built):
    """Return where the book can be opened: from disk, and from a server."""
    run, out = built
    assert run.returncode == 0, run.stderr
    with served(out / "html") as server:
        yield {"disk": (out / "html").as_uri(), "server": server}
