"""Holds pasted figures together with the cells that make them, on each page by itself.

A figure that no cell makes, one that is made and pasted nowhere, and one of another
page (MyST-NB keeps its old value when that page changes, and fails in headings) are
warnings with file and line, and the build fails on warnings.
"""

import pathlib

import nbformat
from docutils import nodes
from docutils.parsers.rst import Directive
from myst_nb.core.variables import RetrievalError
from myst_nb.ext.glue.domain import NbGlueDomain
from myst_nb.ext.glue.roles import PasteTextRole
from myst_nb.ext.glue.utils import retrieve_glue_data
from sphinx.util import logging

from book.cells import cells_of_text
from book.execution import executed
from book.prose import line_of

logger = logging.getLogger(__name__)

NOT_TEXT = "paste text, ready for the sentence, with {glue:text}`key`"


class PasteText(PasteTextRole):
    """Pastes a figure and remembers its key."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the pasted text, or an empty node that says what is wrong."""
        key = self.text.rpartition(":")[0] or self.text
        if "::" in self.text:
            wrong = f"{self.text!r} is of another page; make the figure on this page"
            return [nodes.inline("", "", wrong=wrong)], []
        try:
            retrieve_glue_data(self.document, key)
        except RetrievalError:
            wrong = f"no cell of this page makes {key!r}; write glue({key!r}, …) in one"
            return [nodes.inline("", "", wrong=wrong)], []
        pasted, messages = super().run()
        for node in pasted:
            node["glued"] = key
        return pasted, messages


def other_role(*arguments: object, **options: object):
    """Stand in the place of the roles that paste anything else than text."""
    return [nodes.inline("", "", wrong=NOT_TEXT)], []


class OtherDirective(Directive):
    """Stands in the place of the directives that paste."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return an empty node that says what is wrong."""
        node = nodes.paragraph("", "", wrong=NOT_TEXT)
        node.line = self.lineno
        return [node]


def made(text: str, notebook: nbformat.NotebookNode) -> dict[str, int]:
    """Return what the cells of a page glue, as lines of the page by key.

    Args:
      text: the page.
      notebook: the page as the kernel left it.
    """
    found = {}
    outputs = (c.outputs for c in notebook.cells if c.cell_type == "code")
    for cell, printed in zip(cells_of_text(text), outputs, strict=True):
        for output in printed:
            glued = output.get("metadata", {}).get("scrapbook")
            if glued:
                found[glued["name"]] = cell.line + _line_in(cell.source, glued["name"])
    return found


def _line_in(source: str, key: str) -> int:
    """Return the line of a cell, counted from 0, that glues a key."""
    lines = source.split("\n")
    for call in (f'glue("{key}"', f"glue('{key}'", "glue("):
        for number, line in enumerate(lines):
            if call in line:
                return number
    return 0


def note_made(app, env, pages: list[str]) -> None:
    """Note what is glued, before MyST-NB takes it out of the notebooks."""
    for page in pages:
        text = pathlib.Path(env.doc2path(page)).read_text("utf-8")
        if cells_of_text(text):
            app.book_glued[page] = made(text, executed(text))


def check(app, doctree: nodes.document) -> None:
    """Warn where a page and its cells do not agree on what is pasted."""
    page = app.env.docname
    for node in doctree.findall(
        lambda node: "wrong" in getattr(node, "attributes", ())
    ):
        logger.warning(node["wrong"], location=(page, line_of(node)), type="book")
    pasted = {
        node["glued"] for node in doctree.findall(nodes.inline) if "glued" in node
    }
    for key, line in app.book_glued.get(page, {}).items():
        if key not in pasted:
            message = f"{key!r} is pasted nowhere on this page; paste it, or drop it"
            logger.warning(message, location=(page, line), type="book")


def setup(app):
    """Put our role in the place of MyST-NB's, and connect to the reading of pages."""
    app.book_glued = {}
    app.setup_extension("myst_nb")
    for name in NbGlueDomain.roles:
        role = PasteText() if name == "text" else other_role
        app.add_role_to_domain("glue", name, role, override=True)
    for name in NbGlueDomain.directives:
        app.add_directive_to_domain("glue", name, OtherDirective, override=True)
    app.add_role("glue", other_role, override=True)
    app.add_directive("glue", OtherDirective, override=True)
    app.connect("env-before-read-docs", note_made, priority=550)
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
