"""Has Sphinx read a page again when what it is made from has changed.

Sphinx knows that a page depends on its own file; MyST-NB knows its cells; neither
follows the imports (MyST-NB #299), so an edited snippet would leave the old output
on the page. Whether a page that is read runs again is for `book.store` to say.
"""

from book.cells import cells_of_text, made_from
from book.store import of_all_pages


def note_dependencies(app, docname, content) -> None:
    """Tell Sphinx which files a page is made from, besides its own."""
    sources = [cell.source for cell in cells_of_text(content[0])]
    if sources:
        for path in made_from(sources):
            app.env.note_dependency(str(path), docname=docname)


def setup(app):
    """Connect to the reading of each page; all are read when this value changes."""
    app.add_config_value("book_made_with", of_all_pages(), "env")
    app.connect("source-read", note_dependencies)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
