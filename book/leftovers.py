"""Removes from the built book what an earlier build left there.

Sphinx writes pages and pictures and never takes one away, so that a page which was
removed would stay readable, and a build in an old folder would not be the same as a
fresh one.
"""

import pathlib


def remove_stylesheet(app) -> None:
    """Remove a style sheet that MyST-NB writes at the end of each build.

    Sphinx puts the hash of a sheet that it finds behind the sheet's address, so that
    the pages of a second build differed from those of a first.
    """
    if app.builder.format == "html":
        for path in pathlib.Path(app.outdir).glob("_static/mystnb.*.css"):
            path.unlink()


def remove(app, exception) -> None:
    """Remove pages and pictures that this book does not have."""
    if exception is not None or app.builder.format != "html":
        return
    out = pathlib.Path(app.outdir)
    kept = {f"{page}.html" for page in app.env.found_docs | app.book_rendered}
    kept |= {name for pages, name in app.env.images.values()}
    (out / "searchindex.js").unlink(missing_ok=True)  # once made, and asked by nobody
    for path in [*out.glob("*.html"), *out.glob("_images/*")]:
        if path.name not in kept:
            path.unlink()


def note(app, pagename, templatename, context, doctree) -> None:
    """Note a page that is written; those that come from no source always are."""
    app.book_rendered.add(pagename)


def setup(app):
    """Connect to the beginning and to the end of the build, and to each page."""
    app.book_rendered = set()
    app.connect("builder-inited", remove_stylesheet)
    app.connect("html-page-context", note)
    app.connect("build-finished", remove)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
