"""Writes the page for addresses that lead nowhere: ``404.html``.

A host sends it for any address below the book, at any depth, so that it can refer to
nothing by a relative address: its styles stand in it. If the book's own address is
known (`html_baseurl`), so are its links'; else a few lines of script look for the book
in the folders above.
"""

import urllib.parse

PAGE = "404"


def collect(app):
    """Yield the page, which has no source, for Sphinx to write."""
    root = urllib.parse.urlsplit(app.config.html_baseurl).path
    chapters = app.env.toctree_includes.get(app.config.root_doc, [])
    names = [app.config.root_doc, *chapters]
    context = {
        "title": "No such page",
        "book_root": root if not root or root.endswith("/") else f"{root}/",
        "book_chapters": [(name, app.env.titles[name].astext()) for name in names],
    }
    yield PAGE, context, "404.html"


def setup(app):
    """Connect to where pages without a source are asked for."""
    app.connect("html-collect-pages", collect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
