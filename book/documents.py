"""Turns pages and modules into documents that pytest runs, with the help of Sybil.

Each page is one document with one namespace, run from top to bottom in a temporary
folder of its own, as the build does. What a cell raises, its test reports, at the
page's true line.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import types
from collections.abc import Iterable
from typing import NoReturn

import pytest
from sybil import Document, Region, Sybil
from sybil.evaluators.doctest import DocTestEvaluator
from sybil.evaluators.python import PythonEvaluator
from sybil.integration.pytest import SybilItem
from sybil.parsers.abstract import AbstractCodeBlockParser
from sybil.parsers.abstract.doctest import DocTestStringParser
from sybil.parsers.myst.lexers import DirectiveInPercentCommentLexer
from sybil.region import Lexeme

from book import leash
from book.cells import ROOT, cells_of_text, environment_of
from book.environment import ASKED_FOR
from book.running import CELL_TIMEOUT
from book.transcripts import errors
from book.verdict import NOT_RAISED

FOLDER = "__folder_of_this_document__"
MODULE = "__module_of_this_document__"


class Page(Document):
    """A document whose namespace is that of a module, as in a kernel.

    What looks for the names of `__main__` there (pickle, configs, type hints of a
    class) finds the page's.
    """

    def __init__(self, text: str, path: str):
        super().__init__(text, path)
        module = types.ModuleType("__main__")
        self.namespace = vars(module)
        self.namespace[MODULE] = module


class CellParser:
    """Finds the cells that the build runs, by the build's own reader.

    Sybil's parser passes over a cell that it does not recognise, in silence.
    """

    evaluate = PythonEvaluator()

    def __call__(self, document: Document) -> Iterable[Region]:
        """Yield a region for each cell, placed so that tracebacks name its lines."""
        starts = [0]
        for line in document.text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        for cell in cells_of_text(document.text):
            start = starts[cell.line - 1]
            parsed = Lexeme(cell.source, offset=0, line_offset=-1)
            yield Region(start, start + len(cell.source), parsed, self.run)

    def run(self, example) -> None:
        """Run a cell; one tagged `raises-exception` has to raise what is recorded.

        A cell has as much time as in the build.
        """
        __tracebackhide__ = True
        cells = cells_of_text(example.document.text)
        index = [cell.line for cell in cells].index(example.line)
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(CELL_TIMEOUT)
        try:
            if "raises-exception" in cells[index].tags:
                self.raises(example, index)
            else:
                self.evaluate(example)
        finally:
            signal.alarm(0)

    def raises(self, example, index: int) -> None:
        """Run a cell that has to raise what it raised in the kernel.

        Args:
          example: the cell.
          index: which of the page's code cells it is, counted from 0.
        """
        page = pathlib.Path(example.path)
        kept = page.parent.parent / "tests" / "transcripts" / f"{page.stem}.txt"
        recorded = errors(example.document.text, kept.read_text("utf-8"))[index]
        try:
            self.evaluate(example)
        except BaseException as error:  # SystemExit too: no error ends a kernel
            if type(error).__name__ == recorded:
                return
            error.add_note(f"The transcript says: {recorded or 'nothing raised'}.")
            raise
        raise AssertionError(f"docs/{page.name}:{example.line}: {NOT_RAISED}")


def _too_long(*arguments: object) -> NoReturn:
    raise TimeoutError(f"the cell ran for more than {CELL_TIMEOUT} seconds")


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
    folder = leash.folder()
    namespace[FOLDER] = folder, os.getcwd(), sys.modules["__main__"]
    sys.modules["__main__"] = namespace.get(MODULE, sys.modules["__main__"])
    os.chdir(folder.name)


def leave(namespace: dict) -> None:
    """Go back, and remove the folder."""
    folder, before, main = namespace.pop(FOLDER)
    sys.modules["__main__"] = main
    os.chdir(before)
    folder.cleanup()


class OwnEnvironment(pytest.File):
    """A page that asks for an environment: JAX would not look at it a second time."""

    def collect(self) -> Iterable[pytest.Item]:
        """Yield one test, which runs the page in a new process."""
        yield InOwnProcess.from_parent(self, name="in its own environment")


class InOwnProcess(pytest.Item):
    """Runs all cells and claims of a page, with pytest, where its variables are set."""

    def runtest(self) -> None:
        """Run them.

        Raises:
          PageFailed: with what pytest printed, if one of them fails.
        """
        asked_for = json.dumps(environment_of(self.path.read_text("utf-8")))
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", self.path],
            cwd=self.config.rootpath,
            env=os.environ | {ASKED_FOR: asked_for},
            capture_output=True,
            text=True,
        )
        if run.returncode:
            raise PageFailed(run.stdout + run.stderr)

    def repr_failure(self, excinfo, style=None):
        """Show what that pytest printed, which names the line."""
        if isinstance(excinfo.value, PageFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class PageFailed(Exception):
    """A cell or a claim failed in a process of its own."""


def collect(file_path: pathlib.Path, parent: pytest.Collector) -> pytest.File | None:
    """Collect a page or module; see ``pytest_collect_file`` of pytest."""
    if file_path.suffix == ".md" and file_path.parent == pathlib.Path(pages.path):
        asked_for = environment_of(file_path.read_text("utf-8"))
        if asked_for.items() - os.environ.items():
            return OwnEnvironment.from_parent(parent, path=file_path)
    return _collect(file_path, parent)


# Sybil 10.1 cuts the traceback of every error in a chain, and fails on a cause that has
# one frame only; a misspelt field of a config is such an error.
_cut = SybilItem._traceback_filter


def _cut_if_long(self: SybilItem, excinfo: pytest.ExceptionInfo):
    try:
        return _cut(self, excinfo)
    except IndexError:
        return excinfo.traceback


SybilItem._traceback_filter = _cut_if_long

pages = Sybil(
    [CellParser(), ClaimParser()],
    path=str(ROOT / "docs"),
    pattern="*.md",
    document_types={".md": Page},
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
_collect = (pages + doctests).pytest()
