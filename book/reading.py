"""Reads pages as Sphinx parses them, without running a cell: a tenth of a second each.

For what needs the words and the code of all pages, and no output.
"""

import contextlib
import io
import pathlib
import tempfile
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

from book.cells import DOCS, ROOT, pages


@contextlib.contextmanager
def unexecuted(docs: pathlib.Path = DOCS) -> Iterator[dict[str, nodes.document]]:
    """Give all pages as Sphinx has parsed them; code is there, outputs are not."""
    with tempfile.TemporaryDirectory() as out:
        app = Sphinx(
            docs,
            ROOT,
            out,
            pathlib.Path(out, "doctrees"),
            "dummy",
            status=None,
            warning=io.StringIO(),
        )
        found = {}
        for page in pages(docs):
            app.builder.read_doc(page)
            found[page] = app.env.get_doctree(page)
        yield found
