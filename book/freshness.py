"""Runs a page again when what it is made from has changed, or the lock.

Sphinx knows that a page depends on its own file; MyST-NB knows its cells; neither
follows the imports (MyST-NB #299), so an edited snippet would leave the old output
on the page.
"""

from book.cells import ROOT, cells_of_text, made_from


def note_dependencies(app, docname, content) -> None:
    """Tell Sphinx which files a page is made from, besides its own."""
    sources = [cell.source for cell in cells_of_text(content[0])]
    if sources:
        for path in made_from(sources) | {ROOT / "requirements.lock"}:
            app.env.note_dependency(str(path), docname=docname)


def setup(app):
    """Connect to the reading of each page."""
    app.connect("source-read", note_dependencies)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
