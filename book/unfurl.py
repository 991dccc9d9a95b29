"""Says in each page's head what a link to it shows: title, question and a picture.

The description stands there always, for search engines; the rest (Open Graph) only
where the book's address is known, since a picture is found by its full address only.
sphinxext-opengraph (0.13) writes a wrong address then, and passes over the box in which
a page of this book says what it is about.
"""

import html
import pathlib

from docutils import nodes
from sphinx.util import logging

from book import address, summary

logger = logging.getLogger(__name__)

FOLDER = "cards"
# Of a picture, in pixels, as those who show such pictures ask for.
SIZE = (1200, 630)


def tags(app, page: str) -> list[tuple[str, str, str]]:
    """Return the tags of a page: the attribute that names it, its name, its content."""
    of = summary.of_page(app.env, page)
    found = [("name", "description", of.question)]
    if app.config.html_baseurl:
        found += _open_graph(app, page, of)
    return [tag for tag in found if tag[2]]


def _open_graph(app, page: str, of: summary.Summary) -> list[tuple[str, str, str]]:
    return [
        ("property", "og:type", "article"),
        ("property", "og:site_name", app.config.project),
        ("property", "og:title", of.title),
        ("property", "og:description", of.question),
        ("property", "og:url", address.of_page(app, page)),
        ("property", "og:image", address.of_file(app, f"{FOLDER}/{page}.png")),
        ("property", "og:image:alt", alt(app, page)),
        ("property", "og:image:type", "image/png"),
        ("property", "og:image:width", str(SIZE[0])),
        ("property", "og:image:height", str(SIZE[1])),
        ("name", "twitter:card", "summary_large_image"),
    ]


def alt(app, page: str) -> str:
    """Return what the picture of a page says."""
    of = summary.of_page(app.env, page)
    return f"{app.config.project}: {of.title}. {of.question} {_foot(app)}"


def _foot(app) -> str:
    """Return what stands at the foot of a picture."""
    (library, version), (other, its), *_ = app.config.book_versions.items()
    return f"Ran with {library} {version} and {other} {its}"


def add(app, page, template, context, doctree: nodes.document | None) -> None:
    """Put the tags into a page's head, and draw its picture if there is one."""
    if doctree is None or page not in app.env.found_docs:
        return
    written = [
        f'<meta {kind}="{name}" content="{html.escape(content)}" />'
        for kind, name, content in tags(app, page)
    ]
    context["metatags"] += "\n".join(["", *written])
    if app.config.html_baseurl:
        from book import cards  # Matplotlib takes half a second to import

        of = summary.of_page(app.env, page)
        try:
            cards.draw(
                pathlib.Path(app.outdir, FOLDER, f"{page}.png"),
                book=app.config.project,
                title=of.title,
                question=of.question,
                foot=_foot(app),
            )
        except cards.DoesNotFit as error:
            logger.warning("%s", error, location=page, type="book", subtype="card")


def remove_others(app, exception) -> None:
    """Remove the pictures that no page has any more."""
    folder = pathlib.Path(app.outdir, FOLDER)
    known = app.env.found_docs if app.config.html_baseurl else ()
    for path in folder.glob("*.png"):
        if path.stem not in known:
            path.unlink()
    if folder.is_dir() and not known:
        folder.rmdir()


def setup(app):
    """Connect to the writing of each page, and to the end of the build."""
    app.setup_extension("book.summary")
    app.connect("html-page-context", add)
    app.connect("build-finished", remove_others)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
