"""Knows where the book is published, if it is: ``BOOK_URL``, as ``html_baseurl``.

Where it is not known, nothing is said of it, rather than something wrong: links in what
readers take away then name the page's file.
"""

import re


def of_file(app, name: str) -> str:
    """Return the address of a file of the book, in full if that is known.

    Args:
      app: Sphinx.
      name: such as ``refs.html#refs-frozen`` or ``notebooks/refs.ipynb``.
    """
    base = app.config.html_baseurl
    return f"{base.rstrip('/')}/{name}" if base else name


def of_page(app, page: str) -> str:
    """Return the address of a page."""
    return of_file(app, app.builder.get_target_uri(page))


def of_link(app, page: str, to: str) -> str:
    """Return where a link of a page leads that stays within the book.

    Args:
      app: Sphinx.
      page: the page that the link stands on.
      to: such as ``refs.html#refs-frozen``, or ``#refs-frozen`` for the page itself.
    """
    if not to or to.startswith("#"):
        to = app.builder.get_target_uri(page) + to
    return of_file(app, to)


def check(app, config) -> None:
    """Refuse an address that cannot be one.

    Raises:
      SystemExit: if it does not begin with ``http://`` or ``https://``.
    """
    if config.html_baseurl and not re.match(r"https?://[^/]", config.html_baseurl):
        where = config.html_baseurl
        raise SystemExit(f"BOOK_URL should be like https://host/book/, not {where!r}.")


def setup(app):
    """Connect to the moment when the settings are known."""
    app.connect("config-inited", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
