"""Tells the scripts of a page what they need to make links into it.

The title of the book, for links in Markdown, and the repository, for reports: where it
is unknown, none is offered. The menu itself is ``docs/_static/linking.js``.
"""

import html


def add_context(app, pagename, templatename, context, doctree) -> None:
    """Add what the script reads to the head of a page."""
    found = {"book:title": app.config.project}
    if repository := app.config.html_context["book_repository"]:
        found["book:repository"] = repository
    context["metatags"] = context.get("metatags", "") + "".join(
        f'\n<meta name="{name}" content="{html.escape(value)}">'
        for name, value in found.items()
    )


def setup(app):
    """Connect to the rendering of each page."""
    app.connect("html-page-context", add_context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
