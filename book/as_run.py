"""Keeps the notebooks of a build as the kernels left them, beside the parsed pages.

MyST-NB takes the glued figures out of its own, and a build that only writes pages has
none: what is made of pages when they are written finds theirs here. They come and go
with Sphinx's parsed pages, so that there is one for each.
"""

import pathlib

import nbformat

from book.execution import executed


def keep(app, env, names: list[str]) -> None:
    """Write the notebooks of the pages that are about to be read."""
    for page in names:
        text = pathlib.Path(env.doc2path(page)).read_text("utf-8")
        _path(app, page).parent.mkdir(parents=True, exist_ok=True)
        _path(app, page).write_text(nbformat.writes(executed(text)), "utf-8")


def as_run(app, page: str) -> nbformat.NotebookNode:
    """Return a page as its kernel left it, also where the page has not been read."""
    return nbformat.read(_path(app, page), as_version=4)


def _path(app, page: str) -> pathlib.Path:
    return pathlib.Path(app.doctreedir, f"{page}.as-run.ipynb")


def setup(app):
    """Connect to the moment when the pages have run and MyST-NB has not seen them."""
    app.connect("env-before-read-docs", keep, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
