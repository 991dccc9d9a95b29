"""Makes the first cells of a notebook: where it comes from, and what it needs to run.

A reader opens it in an empty folder, on their own machine or on Colab. There is no
module of the book there, so the notebook writes those that it uses.
"""

import json
import pathlib
from collections.abc import Iterable

import nbformat

from book.cells import ROOT
from book.environment import ENVIRONMENT
from book.pins import of_the_snippets
from book.take_away import folded

# What readers' kernels have read, or do not read, when the first cell runs.
NOT_IN_A_CELL = (
    "PYTHONHASHSEED",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES",
    "JUPYTER_PREFER_ENV_PATH",
    "JUPYTER_NO_CONFIG",
    "PYDEVD_DISABLE_FILE_VALIDATION",
)

_ORIGIN = """\
> This notebook is a page of *{book}*: {title}.
>
> It ran with {versions}, and shows what was printed then.
> The figures in its sentences are of that run.{commit}
>
> To run it, run the next two cells first. It needs the packages of `requirements.txt`,
> which they write.
>
> Code: Apache-2.0. Prose and pictures: CC BY 4.0."""

# Colab shows the first line in the place of the code, where a cell is a form.
_WRITE = """\
# @title What this page imports, as it was when it ran, and the packages that it needs
import pathlib


def write(name, text):
    path = pathlib.Path(name)
    if path.exists():
        return print("is there, and stays as it is:", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
"""

_PREPARE = """\
import os
import sys

# As the page ran: without an accelerator, so that it prints the same everywhere.
os.environ |= {environment}

# On Colab, this installs what the page ran with. Elsewhere, do so in a terminal, in an
# environment of its own: pip install --no-deps --requirement requirements.txt
if "google.colab" in sys.modules:
    %pip install --quiet --no-deps --requirement requirements.txt
    # If Colab asks to restart the session: do, and begin again with the first cell."""


def origin(
    *, book: str, title: str, versions: dict[str, str], commit: dict | None = None
) -> nbformat.NotebookNode:
    """Return the cell that says where a notebook comes from.

    Args:
      book: the book's title.
      title: the page's, as a link to it.
      versions: what it ran with, by name.
      commit: of which build, as `book.what_ran.commit` says it.
    """
    *most, last = (f"{name} {version}" for name, version in versions.items())
    built = ""
    if commit:
        changed = ", with changes that are not committed" if commit["changed"] else ""
        built = f" Built from commit {commit['short']} of {commit['date']}{changed}."
    text = _ORIGIN.format(
        book=book,
        title=title,
        versions=f"{', '.join(most)} and {last}",
        commit=built,
    )
    return nbformat.v4.new_markdown_cell(text)


def write(files: Iterable[pathlib.Path]) -> nbformat.NotebookNode:
    """Return the cell that writes some files of this repository where it runs."""
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for path in sorted(files)
    }
    texts["requirements.txt"] = "\n".join(of_the_snippets()) + "\n"
    calls = [f'write("{name}", {literal(text)})' for name, text in texts.items()]
    cell = folded(nbformat.v4.new_code_cell("\n\n".join([_WRITE, *calls])))
    cell.metadata["cellView"] = "form"  # so does Colab
    return cell


def literal(text: str) -> str:
    r"""Return a text as Python writes it, so that its code can be read.

    >>> print(literal("a = 1\n"))
    r'''a = 1
    '''
    >>> print(literal("'''" + "\\"))
    "'''\\"
    """
    if "'''" in text or text.endswith(("'", "\\")):
        return repr(text)
    return f"r'''{text}'''"


def prepare(environment: dict[str, str]) -> nbformat.NotebookNode:
    """Return the cell that sets the environment, and installs packages on Colab.

    Args:
      environment: what the page asks for, beside what all pages have.
    """
    wanted = {k: v for k, v in ENVIRONMENT.items() if k not in NOT_IN_A_CELL}
    # JSON writes strings as Python does.
    text = _PREPARE.format(environment=json.dumps(wanted | environment, indent=4))
    return nbformat.v4.new_code_cell(text)
