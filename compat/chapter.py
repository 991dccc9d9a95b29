"""Runs a page's cells and claims in the kernel of another environment.

The page is read, driven and compared here, with the book's own packages; only the
kernel is the other environment's. So nothing of the book has to run beside old ones.

A page is not stopped by a failing cell, since what fails further down may be another
break. What only follows from an earlier failure is left out: a `NameError` for a name
that a failed cell should have made, and the same message once more.
"""

import ast
import dataclasses
import pathlib
import re
from collections.abc import Iterator

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook

from book.cells import cells_of_text, environment_of
from book.claims import HEADER
from book.running import (
    drop_widgets,
    line_in_cell,
    with_kernels,
)
from book.transcripts import (
    cells_by_section,
    compare,
    labels,
    transcript,
    unexpected,
)
from compat.kernels import execute
from compat.tracebacks import cut, readable, shortened

PATCH = "from snippets.install import patch_etils\n\npatch_etils()"

_NAME = re.compile(r"name '(\w+)' is not defined")
_PLACE = re.compile(r"docs/(.+)\.md, section (.*), cell (\d+):")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Piece:
    """A cell or a claim, in the place where it runs.

    Attributes:
      line: of the page, where its code begins.
      section: the label of its section.
      cell: its number among the cells of the section; 0 for a claim.
      source: its code.
      may_raise: whether its error is what the page shows.
    """

    line: int
    section: str
    cell: int
    source: str
    may_raise: bool = False


@dataclasses.dataclass(kw_only=True)
class Finding:
    """What is otherwise than on the page, in one place.

    Attributes:
      section: the label of the section.
      line: of the page, when it was run.
      cell: the number of the cell in its section; 0 for a claim.
      kind: ``fails`` (a cell raised), ``differs`` (it printed something else) or
        ``claim`` (what a sentence says does not hold).
      text: the traceback, or the difference.
      again: how many places further down failed with the same message.
    """

    section: str
    line: int
    cell: int
    kind: str
    text: str
    again: int = 0


def run(
    page: str,
    text: str,
    kept: str,
    python: pathlib.Path,
    *,
    patch: bool = False,
    version: tuple[int, int] = (3, 12),
    forks: bool = False,
) -> list[Finding]:
    """Run a page in an environment, and return where it is not as it should be.

    Args:
      page: its name.
      text: the page.
      kept: its transcript.
      python: the interpreter of the environment, which has ipykernel.
      patch: whether to call `patch_etils` first.
      version: that interpreter's; what may differ there is no finding.
      forks: whether the kernel may be a fork; see `compat.kernels`.
    """
    pieces = pieces_of(text)
    if patch:
        pieces.insert(0, Piece(line=1, section=page, cell=0, source=PATCH))
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(piece.source) for piece in pieces]
    )
    stopped = with_kernels(execute(notebook, environment_of(text), python, forks))
    failed = list(_failures(pieces, notebook, stopped))
    found = [finding for finding in failed if finding.text]
    if stopped is None:
        silent = {(finding.section, str(finding.cell)) for finding in failed}
        printed = transcript(page, _outputs(text, pieces, notebook))
        for difference in unexpected(compare(page, kept, printed), version):
            place, _, lines = difference.partition("\n")
            section, cell = _PLACE.fullmatch(place).group(2, 3)
            if (section, cell) not in silent:
                found.append(_differs(pieces, section, int(cell), lines))
    return sorted(found, key=lambda finding: finding.line)


def result_of(findings: list[Finding]) -> str:
    """Return the one word for a chapter: ``same``, ``differs`` or ``fails``."""
    if any(finding.kind == "fails" for finding in findings):
        return "fails"
    return "differs" if findings else "same"


def pieces_of(text: str) -> list[Piece]:
    r"""Return the cells and claims of a page in the order in which pytest runs them.

    >>> front = "---\nfile_format: mystnb\n---\n\n(a)=\n# A\n\n"
    >>> cell = "```{code-cell} python\nx = 1\n```\n\n"
    >>> claim = "% invisible-code-block: python\n%\n% assert x == 1\n"
    >>> for piece in pieces_of(front + cell + claim):
    ...     print(piece.line, piece.section, piece.cell, piece.source)
    9 a 1 x = 1
    14 a 0 assert x == 1
    """
    numbered = cells_by_section(read_myst_markdown_notebook(text))
    found = [
        Piece(
            line=cell.line,
            section=section,
            cell=number,
            source=cell.source,
            may_raise="raises-exception" in cell.tags,
        )
        for cell, (section, number, _) in zip(
            cells_of_text(text), numbered, strict=True
        )
    ]
    return sorted([*found, *_claims(text)], key=lambda piece: piece.line)


def _claims(text: str) -> Iterator[Piece]:
    lines = text.split("\n")
    for start, line in enumerate(lines):
        if line.strip() != f"% {HEADER}":
            continue
        end = start + 1
        while end < len(lines) and lines[end].startswith("%"):
            end += 1
        body = [each[1:].removeprefix(" ") for each in lines[start + 1 : end]]
        blank = next(i for i, each in enumerate(body) if each)
        yield Piece(
            line=start + 2 + blank,
            section=["", *labels("\n".join(lines[:start]))][-1],
            cell=0,
            source="\n".join(body[blank:]),
        )


def _failures(
    pieces: list[Piece], notebook: nbformat.NotebookNode, stopped: str | None
) -> Iterator[Finding]:
    """Yield a finding for each piece that failed; without a text if one explains it."""
    missing: set[str] = set()
    said: dict[str, Finding] = {}
    ran = [n for n, cell in enumerate(notebook.cells) if cell.execution_count]
    for number, (piece, cell) in enumerate(zip(pieces, notebook.cells, strict=True)):
        finding = Finding(
            section=piece.section,
            line=piece.line,
            cell=piece.cell,
            kind="fails" if piece.cell else "claim",
            text="",
        )
        error = next((o for o in cell.outputs if o.output_type == "error"), None)
        if stopped and number == max(ran, default=0):
            yield dataclasses.replace(finding, kind="fails", text=stopped)
            return
        if error is None or piece.may_raise:
            missing -= bound(piece.source)
            continue
        missing |= bound(piece.source)
        if (name := _NAME.search(error.evalue)) and name[1] in missing:
            yield finding
            continue
        trace = "\n".join(error.traceback)
        finding.line += line_in_cell(readable(trace), cell.execution_count) - 1
        message = readable(f"{error.ename}: {error.evalue}")
        if message in said and error.evalue:
            said[message].again += 1
            yield finding
            continue
        finding.text = shortened(trace, message)
        said[message] = finding
        yield finding


def _outputs(
    text: str, pieces: list[Piece], ran: nbformat.NotebookNode
) -> nbformat.NotebookNode:
    """Return the page as a notebook with what its cells gave, without the claims."""
    notebook = read_myst_markdown_notebook(text, add_source_map=True)
    given = [
        cell.outputs
        for cell, piece in zip(ran.cells, pieces, strict=True)
        if piece.cell
    ]
    code = (cell for cell in notebook.cells if cell.cell_type == "code")
    for cell, outputs in zip(code, given, strict=True):
        cell.outputs = outputs
    drop_widgets(notebook)
    return notebook


def _differs(pieces: list[Piece], section: str, cell: int, text: str) -> Finding:
    line = next((p.line for p in pieces if (p.section, p.cell) == (section, cell)), 1)
    text = cut([line.removeprefix("  ") for line in readable(text).split("\n")])
    return Finding(section=section, line=line, cell=cell, kind="differs", text=text)


def bound(source: str) -> set[str]:
    r"""Return the names that some code makes.

    >>> sorted(bound("import a.b, c as d\ne = 1\ndef f(): pass"))
    ['a', 'd', 'e', 'f']
    """
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(a.asname or a.name).split(".")[0] for a in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names
