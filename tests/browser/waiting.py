"""Waits until a page has come so far."""

import time

from playwright.sync_api import Page


def until(page: Page, expression: str, seconds: float = 20) -> None:
    """Wait until an expression of JavaScript is true on a page.

    Playwright's own `wait_for_function` asks a second time by `eval` in the page, which
    our pages refuse: it fails whenever the machine is slow.

    Raises:
      TimeoutError: if it is not true in time.
    """
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        if time.monotonic() > end:
            raise TimeoutError(f"{expression} is not true after {seconds} seconds")
        page.wait_for_timeout(50)
