"""Turns pages and modules into documents that pytest runs, with the help of Sybil.

Each page is one document with one namespace, run from top to bottom in a temporary
folder of its own, as the build does. What a cell raises, its test reports, at the
page's true line.
"""

import os
import tempfile
from collections.abc import Iterable

import pytest
from sybil import Document, Region, Sybil
from sybil.evaluators.doctest import DocTestEvaluator
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.abstract import AbstractCodeBlockParser
from sybil.parsers.abstract.doctest import DocTestStringParser
from sybil.parsers.myst.lexers import DirectiveInPercentCommentLexer
from sybil.region import Lexeme

from book.cells import ROOT, cells_of_text

FOLDER = "__folder_of_this_document__"


class CellParser:
    """Finds the cells that the build runs, by the build's own reader.

    Sybil's parser passes over a cell that it does not recognise, in silence.
    """

    evaluate = PythonEvaluator()

    def __call__(self, document: Document) -> Iterable[Region]:
        """Yield a region for each cell, placed so that tracebacks name its lines."""
        starts = [0]
        for line in document.text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        for cell in cells_of_text(document.text):
            start = starts[cell.line - 1]
            parsed = Lexeme(cell.source, offset=0, line_offset=-1)
            yield Region(start, start + len(cell.source), parsed, self.run)

    def run(self, example) -> None:
        """Run a cell; one tagged `raises-exception` has to raise."""
        __tracebackhide__ = True
        cells = cells_of_text(example.document.text)
        tags = next(cell.tags for cell in cells if cell.line == example.line)
        if "raises-exception" in tags:
            with pytest.raises(Exception):  # noqa: B017  any, as for the kernel
                self.evaluate(example)
        else:
            self.evaluate(example)


class ClaimParser(AbstractCodeBlockParser):
    """Finds the claims: blocks behind ``%``, which no reader sees."""

    def __init__(self):
        lexer = DirectiveInPercentCommentLexer("invisible-code-block", "python")
        super().__init__([lexer], "python", PythonEvaluator())


class DoctestParser:
    """Finds ``>>>`` examples in a docstring."""

    parse = DocTestStringParser(DocTestEvaluator())

    def __call__(self, document: Document) -> Iterable[Region]:
        """Yield a region for each example."""
        return self.parse(document.text, document.path)


def enter(namespace: dict) -> None:
    """Give a document its own folder, and the name that a kernel gives its cells."""
    namespace["__name__"] = "__main__"
    folder = tempfile.TemporaryDirectory(prefix="page-")
    namespace[FOLDER] = folder, os.getcwd()
    os.chdir(folder.name)


def leave(namespace: dict) -> None:
    """Go back, and remove the folder."""
    folder, before = namespace.pop(FOLDER)
    os.chdir(before)
    folder.cleanup()


pages = Sybil(
    [CellParser(), ClaimParser()],
    path=str(ROOT / "docs"),
    pattern="*.md",
    setup=enter,
    teardown=leave,
    name="page",
)
doctests = Sybil(
    [DoctestParser()],
    path=str(ROOT),
    patterns=["snippets/*.py", "book/*.py"],
    setup=enter,
    teardown=leave,
    name="doctest",
)
