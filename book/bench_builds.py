"""Measures how long builds take, against a stock build and against the code alone.

    make bench     # writes snippets/recorded/builds.json

All is measured in one run, in turns, on a copy of the repository, of which the pages of
the tutorial are built: with every page that is added a turn would take longer, and what
was measured would change. Of each time the median counts. What is not what it should be
(a build that fails, a stock build that leaves a cell out) ends the run with its name,
since its time would mean nothing. A run that was stopped goes on where it was, since
it takes an hour: each turn is in the record when it ends.
"""

import argparse
import contextlib
import dataclasses
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

import nbformat
import psutil

from book import bench, warm
from book.cells import Cell, cells_of_text
from book.copies import copy
from book.environment import ENVIRONMENT, prepare
from book.what_ran import versions

# What the book holds its builds to: at most so much.
TARGETS = {
    "cold, two jobs ÷ floor": 1.0,
    "cold, one job ÷ floor": 1.3,
    "cold, two jobs ÷ stock": 0.25,
    "no change, beyond Sphinx's own": 1.0,
    "a sentence, beyond Sphinx's own": 2.0,
    "160 pages ÷ 40, time": 4.2,
    "160 pages ÷ 40, builder's memory": 1.5,
}

# What is built; the first is the root.
PAGES = (
    *("index", "konfig", "refs", "kontext", "ktyping"),
    *("loss-and-metric", "trainer", "sweep", "resume"),
)

# A stock book of the same pages: MyST-NB alone, which starts a kernel for each page.
STOCK = """
extensions = ["myst_nb", "sphinx_copybutton"]
exclude_patterns = ["_*"]
root_doc = {root!r}
include_patterns = {chosen!r}
myst_enable_extensions = ["colon_fence", "deflist"]
nb_execution_mode = {mode!r}
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_output_stderr = "remove"
html_theme = "sphinx_book_theme"
"""

# The seconds of each thing that is measured, of one turn after the other.
Turns = Sequence[dict[str, float]]


class Failed(Exception):
    """What was to be measured did not do what it is measured for."""


@dataclasses.dataclass
class Memory:
    """The most memory, in MB, that a builder had at a time, and what it had started.

    A page that several processes share counts once in all: a fork is cheap.
    """

    builder: float = 0
    started: float = 0

    def look(self, pid: int) -> None:
        """Look at a builder and at the processes that it has started."""
        with contextlib.suppress(psutil.Error):
            builder = psutil.Process(pid)
            started = sum(map(_share, builder.children(recursive=True)))
            self.started = max(self.started, started)
            self.builder = max(self.builder, _share(builder))


def _share(process: psutil.Process) -> float:
    try:
        memory = process.memory_full_info()
    except psutil.Error:  # it has just ended
        return 0.0
    return getattr(memory, "pss", memory.uss) / 1e6


def run(
    what: str,
    command: list[str],
    folder: pathlib.Path,
    environment: dict[str, str],
    given: str = "",
    memory: Memory | None = None,
) -> tuple[float, str]:
    """Run a command, and return its seconds and what it printed.

    Args:
      what: is measured.
      command: to run.
      folder: to run it in.
      environment: besides that of this process.
      given: its input.
      memory: in which to keep how much it needs.

    Raises:
      Failed: if the command does.
    """
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as input_:
        input_.write(given)
        input_.seek(0)
        started = time.perf_counter()
        with subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | environment,
            stdin=input_,
            stdout=said,
            stderr=subprocess.STDOUT,
        ) as process:
            while memory and process.poll() is None:
                memory.look(process.pid)
                time.sleep(0.2)
            status = process.wait()
        seconds = time.perf_counter() - started
        said.seek(0)
        text = said.read()
    if status:
        raise Failed(f"{what}: exit status {status}\n{text[-4000:]}")
    return seconds, text


class Book:
    """A copy of the repository, which is built and edited instead of it.

    Args:
      folder: for the copy; it should not exist.
      pages: the texts of other pages, by name, instead of the book's.
      only: the pages to build, instead of all; the first of them is the root.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        pages: dict[str, str] | None = None,
        only: tuple[str, ...] = (),
    ):
        copy(folder)
        self.folder = folder
        self.docs = folder / "docs"
        self.only = only
        if pages:
            # Also what was published of the pages that are not there.
            for path in [*self.docs.glob("*.md"), *self.docs.glob("*.txt")]:
                path.unlink()
            for path in (folder / "snippets").glob("*.py"):
                if path.stem not in ("__init__", "showing"):
                    path.unlink()  # no page uses it now
            for name, text in pages.items():
                (self.docs / f"{name}.md").write_text(text, "utf-8")
        self.executed: dict[str, list[str]] = {}

    def cells(self) -> dict[str, tuple[Cell, ...]]:
        """Return the cells of each page that is built, as they stand there now."""
        paths = [self.docs / f"{name}.md" for name in self.only]
        paths = paths or sorted(self.docs.glob("*.md"))
        return {path.stem: cells_of_text(path.read_text("utf-8")) for path in paths}

    def build(self, what: str, jobs: int = 2, memory: Memory | None = None) -> float:
        """Build as the Makefile does, and return the seconds.

        Which pages were executed is kept under `what`.

        Raises:
          Failed: if the build does.
        """
        built = self.folder / "_build"
        seconds, said = run(
            what,
            [
                *(sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet"),
                *("--no-color", "-c", ".", "-d", str(built / "doctrees")),
                *("docs", str(built / "html")),
            ],
            self.folder,
            {
                "BOOK_JOBS": str(jobs),
                "BOOK_STORE": str(built / "executed"),
                "BOOK_PAGE": " ".join(self.only),
                "BOOK_REPOSITORY": "",
            },
            memory=memory,
        )
        self.executed[what] = re.findall(r"^ *\d+\.\d s  (\S+)", said, re.M)
        return seconds

    def cold(self, what: str, jobs: int = 2, memory: Memory | None = None) -> float:
        """Build with nothing kept from earlier builds, and return the seconds.

        Raises:
          Failed: if the build does, or leaves out a page.
        """
        shutil.rmtree(self.folder / "_build", ignore_errors=True)
        seconds = self.build(what, jobs, memory)
        left_out = {page for page, cells in self.cells().items() if cells}
        if left_out := left_out - set(self.executed[what]):
            raise Failed(f"{what}: {', '.join(sorted(left_out))} did not run")
        return seconds

    def names_anew(self, what: str) -> float:
        """Build with all kept but the answers of `book.names`; return the seconds."""
        (self.folder / "_build" / "names.json").unlink(missing_ok=True)
        return self.build(what)

    def after(self, what: str, file: str, edit: Callable[[str], str]) -> float:
        """Build after an edit, and return the seconds; then take the edit back.

        Args:
          what: is measured.
          file: to edit.
          edit: makes the new text from the old.

        Raises:
          Failed: if a build does, or if the edit changes nothing.
        """
        path = self.folder / file
        before = path.read_text("utf-8")
        if edit(before) == before:
            raise Failed(f"{what}: no change to {file}")
        path.write_text(edit(before), "utf-8")
        try:
            return self.build(what)
        finally:
            path.write_text(before, "utf-8")
            self.build(f"{what}, taken back")

    def stock(self, what: str, mode: str, *options: str) -> float:
        """Build with MyST-NB alone, and return the seconds.

        Args:
          what: is measured.
          mode: of execution: ``force``, or ``off``, which builds on what is there.
          options: of Sphinx.

        Raises:
          Failed: if the build does, or if a cell was not run.
        """
        out = self.folder.with_name(f"stock-{mode}")
        if mode == "force":
            shutil.rmtree(out, ignore_errors=True)
        out.mkdir(exist_ok=True)
        settings = out / "conf.py"
        if not settings.exists():
            chosen = [f"{name}.md" for name in self.only] or ["**"]
            root = self.only[0] if self.only else "index"
            text = STOCK.format(mode=mode, root=root, chosen=chosen)
            settings.write_text(text, "utf-8")
        seconds, said = run(
            what,
            [
                *(sys.executable, "-m", "sphinx", "--quiet", "--no-color", *options),
                *("-c", str(out), "-d", str(out / "doctrees")),
                *(str(self.docs), str(out / "html")),
            ],
            self.folder,
            ENVIRONMENT | {"PYTHONPATH": str(self.folder)},
        )
        if mode == "force":
            for page, cells in self.cells().items():
                _check_that_all_ran(what, out / "jupyter_execute", page, cells, said)
        return seconds

    def floor(self, what: str) -> float:
        """Run all cells in one plain process, and return the seconds.

        Raises:
          Failed: if a cell does.
        """
        cells = {
            page: [(cell.source, "raises-exception" in cell.tags) for cell in found]
            for page, found in self.cells().items()
        }
        command = [sys.executable, "-m", "book.floor"]
        given = json.dumps(cells)
        with tempfile.TemporaryDirectory() as compiled:  # as a page of ours has it
            environment = ENVIRONMENT | {
                "PYTHONPATH": str(self.folder),
                "JAX_COMPILATION_CACHE_DIR": compiled,
            }
            return run(what, command, self.folder, environment, given=given)[0]


def _check_that_all_ran(
    what: str, folder: pathlib.Path, page: str, cells: tuple[Cell, ...], said: str
) -> None:
    """Hold a stock build to the cells of a page: it warns of a failure and goes on."""
    path = folder / f"{page}.ipynb"
    if not path.exists():
        raise Failed(f"{what}: {page}.md was not built\n{said[-4000:]}")
    notebook = nbformat.read(path, as_version=4)
    ran = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for at, cell in enumerate(cells):
        outputs = ran[at].outputs if at < len(ran) and ran[at].execution_count else None
        raised = [o for o in outputs or () if o.output_type == "error"]
        if outputs is None or (raised and "raises-exception" not in cell.tags):
            raise Failed(f"{what}: {page}.md:{cell.line} did not run\n{said[-4000:]}")


# --- edits ----------------------------------------------------------------------------

_CELL = re.compile(r"^```\{code-cell\} python\n(?!---|:|\n)", re.M)


def a_sentence(text: str) -> str:
    """Return a page with a sentence more, above its last heading."""
    last = text.rindex("\n## ")
    label = text.rindex("\n(", 0, last)
    return f"{text[:label]}\nWords that were not here before.\n{text[label:]}"


def a_cell(text: str, number: int) -> str:
    """Return a page with a comment more in its first cell, another for each number."""
    return _CELL.sub(lambda cell: f"{cell.group()}# edited: {number}\n", text, count=1)


def a_module(text: str, number: int) -> str:
    """Return a module with a comment more, another one for each number."""
    return f"{text}\n# edited: {number}\n"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Edited:
    """The files that are edited.

    Attributes:
      page: a page of usual length.
      leaf: a module that only this page uses.
      shared: a module that most pages use.
    """

    page: str = "docs/refs.md"
    leaf: str = "snippets/refs.py"
    shared: str = "snippets/showing.py"


# --- measurements ---------------------------------------------------------------------


def measurements(
    book: Book, edited: Edited, number: int
) -> dict[str, Callable[[str], float]]:
    """Return what is measured in a turn; each is called with its name.

    Args:
      book: to build.
      edited: the files to edit.
      number: of the turn; no two edits are the same.
    """

    def cell(text: str) -> str:
        return a_cell(text, number)

    def module(text: str) -> str:
        return a_module(text, number)

    def live(what: str) -> float:
        """Build after an edit beside a process of kernels that is there already."""
        with warm.shared_process():
            book.after("to warm up", edited.page, lambda text: a_cell(text, -1))
            return book.after(what, edited.page, lambda text: a_cell(text, -2))

    def sphinx_alone(what: str) -> float:
        book.stock(what, "off")
        return book.stock(what, "off")

    return {
        # The builds after it find what it has kept.
        "cold, one job": lambda what: book.cold(what, jobs=1),
        "cold, two jobs": book.cold,
        "floor": book.floor,
        "stock": lambda what: book.stock(what, "force"),
        "stock, -j 2": lambda what: book.stock(what, "force", "-j", "2"),
        "names looked up": book.names_anew,
        "no change": book.build,
        "a sentence edited": lambda what: book.after(what, edited.page, a_sentence),
        "a cell edited": lambda what: book.after(what, edited.page, cell),
        "a cell edited, kept warm": live,
        "a leaf module edited": lambda what: book.after(what, edited.leaf, module),
        "a shared module edited": lambda what: book.after(what, edited.shared, module),
        "Sphinx's own, no change": sphinx_alone,
    }


def measure(
    book: Book, edited: Edited, repeats: int, kept: Turns = ()
) -> Iterator[dict]:
    """Measure in turns; yield after each what was found, so that a run can be stopped.

    Args:
      book: to build.
      edited: the files to edit.
      repeats: how many turns there shall be.
      kept: those that there are already.

    Raises:
      Failed: if something did not do what it is measured for.
    """
    memory, turns = Memory(), list(kept)
    # Uncounted: it writes the byte code.
    book.cold("cold, to look at the memory", memory=memory)
    while len(turns) < repeats:
        turn = {}
        for what, call in measurements(book, edited, len(turns)).items():
            turn[what] = round(call(what), 2)
            print(f"  {turn[what]:7.1f} s  {what}", flush=True)
        turns.append(turn)
        yield medians(turns) | {
            "compared": _compared(turns),
            **_made_of(book),
            "executed": {
                what: len(ran) for what, ran in book.executed.items() if what in turn
            },
            "megabytes": {
                "the builder": round(memory.builder),
                "what it starts": round(memory.started),
            },
        }


def _made_of(book: Book) -> dict[str, int]:
    """Return what has to be the same for turns to be compared."""
    return {"pages": len(book.cells()), "cells": sum(map(len, book.cells().values()))}


def medians(turns: Turns) -> dict:
    """Return the turns with the median of each of their times."""
    seconds = {
        what: round(statistics.median(turn[what] for turn in turns), 2)
        for what in turns[0]
    }
    return {"seconds": seconds, "turns": [*turns]}


def _compared(turns: Turns) -> dict[str, float]:
    """Return medians of what is compared within each turn.

    A machine that others use too may be twice as slow in the next turn.
    """

    def ratio(one: str, other: str) -> float:
        return round(statistics.median(turn[one] / turn[other] for turn in turns), 2)

    def beyond(one: str, other: str) -> float:
        return round(statistics.median(turn[one] - turn[other] for turn in turns), 1)

    own = "Sphinx's own, no change"
    return {
        "cold, two jobs ÷ floor": ratio("cold, two jobs", "floor"),
        "cold, one job ÷ floor": ratio("cold, one job", "floor"),
        "cold, two jobs ÷ stock": ratio("cold, two jobs", "stock"),
        "cold, two jobs ÷ stock, -j 2": ratio("cold, two jobs", "stock, -j 2"),
        "no change, beyond Sphinx's own": beyond("no change", own),
        "a sentence, beyond Sphinx's own": beyond("a sentence edited", own),
    }


def _circumstances() -> dict:
    tools = {tool: importlib.metadata.version(tool) for tool in ("sphinx", "myst-nb")}
    return {"machine": bench.machine(), "versions": versions() | tools}


def turns_kept(name: str, repeats: int, **same: int) -> Turns:
    """Return the turns of a run that was stopped, if they were measured as it is now.

    Args:
      name: of the record.
      repeats: how many turns make a whole run; after one, the next begins anew.
      same: what else has to be in the record as here.
    """
    path = bench.RECORDED / f"{name}.json"
    if not path.exists():
        return ()
    record = json.loads(path.read_text("utf-8"))
    turns = record.get("turns", ())
    now = _circumstances() | same
    is_same = all(record.get(what) == value for what, value in now.items())
    return turns if is_same and len(turns) < repeats else ()


def write(name: str, found: dict) -> None:
    """Write a record, and print it beside the targets."""
    targets = {
        what: limit for what, limit in TARGETS.items() if what in found["compared"]
    }
    more = {"repeats": len(found["turns"]), "targets": targets}
    bench.record(name, **found | _circumstances() | more)
    for what, value in found["compared"].items():
        limit = targets.get(what)
        judged = (
            ""
            if limit is None
            else f"  (at most {limit}{'' if value <= limit else ': MISSED'})"
        )
        print(f"  {value:9.2f}    {what}{judged}")
    for kind in ("executed", "megabytes"):
        for what, value in found.get(kind, {}).items():
            print(f"  {value:9}    {what}, {kind}")


def command(name: str, measure_in: Callable[[pathlib.Path, int], Iterator]) -> None:
    """Measure, and write a record after each turn; a failure is named, and ends it.

    Args:
      name: of the record.
      measure_in: measures, given an empty folder and how many turns.

    Raises:
      SystemExit: if something did not do what it is measured for.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=bench.REPEATS)
    repeats = parser.parse_args().repeats
    prepare()
    for variable in ("BOOK_KERNEL", "BOOK_WARM"):
        os.environ.pop(variable, None)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        try:
            for found in measure_in(pathlib.Path(folder), repeats):
                write(name, found)
        except Failed as failure:
            raise SystemExit(f"make bench: {failure}") from None


def main() -> None:
    """Measure the builds of the tutorial."""

    def measure_in(folder: pathlib.Path, repeats: int) -> Iterator[dict]:
        book = Book(folder / "book", only=PAGES)
        kept = turns_kept("builds", repeats, **_made_of(book))
        return measure(book, Edited(), repeats, kept)

    command("builds", measure_in)


if __name__ == "__main__":
    main()
