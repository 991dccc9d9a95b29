"""Keeps executed pages, so that a page runs again only when it would come out anew.

An entry's name is a hash of all that a page is made from: its cells, the snippet
modules and records that they reach, what is installed, Python, and the environment of
the kernels. Prose is not part of it. jupyter-cache, which stock builds use, knows the
cells alone and keeps stale pages when a module changes (MyST-NB #299).

The folder can be deleted at any time. Entries are written whole or not at all, and
one that was damaged is not used.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import sys
import tempfile
import time

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook

from book.cells import ROOT, cells_of_text, environment_of, made_from
from book.environment import ENVIRONMENT, installed

# Enough for some branches of a book of fifty pages; the oldest go first.
ENTRIES = 400

# What else decides how a page comes out.
_ALWAYS = (
    "requirements.lock",
    "book/faults.py",
    "book/kernel.py",
    "book/running.py",
    "book/store.py",  # the form of an entry
)


def key(text: str, root: pathlib.Path = ROOT) -> str:
    r"""Return the hash of all that decides what the cells of a page give.

    >>> front = "---\njupytext:\n  text_representation:\n    format_name: myst\n---\n"
    >>> cell = "```{code-cell} python\n1 + 1\n```\n"
    >>> key(front + "Words.\n\n" + cell) == key(front + "Other words.\n\n" + cell)
    True
    >>> key(front + cell) == key(front + cell.replace("1", "2"))
    False
    """
    return _hash(json.dumps(_parts(text, root), sort_keys=True).encode())


def _parts(text: str, root: pathlib.Path = ROOT) -> dict[str, str]:
    """Return all that decides what a page gives, as hashes by name."""
    cells = cells_of_text(text)
    its_own = {
        "its cells": [(cell.source, cell.tags) for cell in cells],
        "its environment": environment_of(text),
    }
    paths = made_from([cell.source for cell in cells], root)
    return _hashes(its_own, paths, root) | of_all_pages(root)


def of_all_pages(root: pathlib.Path = ROOT) -> dict[str, str]:
    """Return what decides how every page comes out, as hashes by name."""
    parts = {
        "Python": sys.version,
        "the installed packages": installed(),
        "the environment": ENVIRONMENT,
    }
    return _hashes(parts, {root / name for name in _ALWAYS}, root)


def _hashes(
    parts: dict[str, object], paths: set[pathlib.Path], root: pathlib.Path
) -> dict[str, str]:
    hashes = {name: _hash(json.dumps(part).encode()) for name, part in parts.items()}
    files = {path.relative_to(root).as_posix(): path for path in sorted(paths)}
    return hashes | {name: _hash(path.read_bytes()) for name, path in files.items()}


class Store:
    """The folder of executed pages.

    Args:
      folder: where; by default ``BOOK_STORE``, or ``_build/executed``.
    """

    def __init__(self, folder: pathlib.Path | None = None):
        named = os.environ.get("BOOK_STORE")
        self.folder = folder or pathlib.Path(named or ROOT / "_build" / "executed")

    def load(self, text: str) -> nbformat.NotebookNode | None:
        """Return the page as a notebook with its outputs, or `None`."""
        path = self.folder / f"{key(text)}.json"
        try:
            check, outputs = path.read_text("utf-8").split("\n", 1)
        except (OSError, ValueError):
            return None
        if check != _hash(outputs.encode()):
            return None  # damaged: the page runs again and replaces it
        entry = json.loads(outputs)
        notebook = read_myst_markdown_notebook(text, add_source_map=True)
        # What a kernel says of its language; Sphinx highlights by it.
        notebook.metadata["language_info"] = nbformat.from_dict(entry["language"])
        code = (cell for cell in notebook.cells if cell.cell_type == "code")
        for cell, (count, kept) in zip(code, entry["outputs"], strict=True):
            cell.execution_count = count
            cell.outputs = [nbformat.from_dict(output) for output in kept]
        with contextlib.suppress(OSError):
            os.utime(path)  # it was used
        return notebook

    def save(
        self, name: str, text: str, notebook: nbformat.NotebookNode, seconds: float
    ) -> None:
        """Keep what a page gave; a page that failed should not come here.

        Args:
          name: the page's, to tell next time why it runs, and guess how long.
          text: the page.
          notebook: the same, executed.
          seconds: how long it ran.
        """
        outputs = [
            (cell.execution_count, cell.outputs)
            for cell in notebook.cells
            if cell.cell_type == "code"
        ]
        entry = {"outputs": outputs, "language": notebook.metadata["language_info"]}
        content = json.dumps(entry, sort_keys=True)
        self._write(f"{key(text)}.json", f"{_hash(content.encode())}\n{content}")
        self._write_last(name, seconds, _parts(text))
        entries = sorted(self.folder.glob("*.json"), key=lambda path: _age(path))
        for old in entries[ENTRIES:]:
            old.unlink(missing_ok=True)

    def seconds(self, name: str, text: str) -> float:
        """Return how long a page took when it last ran, or a guess from its cells."""
        return self._last(name).get("seconds", float(len(cells_of_text(text))))

    def note(self, name: str, text: str) -> None:
        """Remember a page that was taken from the store as it was when it last ran."""
        last = self._last(name)
        if last and last.get("parts") != (parts := _parts(text)):
            self._write_last(name, last["seconds"], parts)

    def why(self, name: str, text: str) -> list[str]:
        """Return what has changed since a page last ran, such as ``its cells``."""
        before, now = self._last(name).get("parts", {}), _parts(text)
        return [part for part in now if before.get(part) != now[part]] if before else []

    def _write_last(self, name: str, seconds: float, parts: dict[str, str]) -> None:
        last = {"seconds": seconds, "parts": parts}
        self._write(f"{pathlib.Path(name).stem}.last", json.dumps(last))

    def _last(self, name: str) -> dict:
        try:
            path = self.folder / f"{pathlib.Path(name).stem}.last"
            return json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}

    def _write(self, name: str, content: str) -> None:
        """Write a file in one step; a full disk costs the entry, not the build."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", dir=self.folder, suffix=".part", delete=False
            ) as file:
                file.write(content)
            os.replace(file.name, self.folder / name)
        except OSError as error:
            print(f"The store of executed pages: {error}", file=sys.stderr)
            with contextlib.suppress(OSError, NameError):
                os.unlink(file.name)


def _age(path: pathlib.Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:  # another build has just removed it
        return float("inf")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
