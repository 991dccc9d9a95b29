"""Runs the pages, each in a kernel of its own, before Sphinx reads them.

As many run at once as there are cores; ``BOOK_JOBS`` sets another number.

Sphinx's own part is rendering: MyST-NB is given the executed notebooks and never
runs anything itself. So there is one place that executes, and a failing cell can
be reported with ``docs/page.md:LINE`` and its own traceback (MyST-NB warns, or
raises without either: MyST-NB #248, #616).
"""

import asyncio
import atexit
import ctypes
import os
import pathlib
import re
import signal
import sys
import tempfile
import time
import uuid
from typing import NoReturn
from unittest import mock

import nbformat
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.paths import jupyter_runtime_dir
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets import CaselessStrEnum, default

from book.cells import Cell, cells_of_text, problems

# Seconds; generous, because a slow machine is no reason to fail.
CELL_TIMEOUT = 300

_WIDGET = "application/vnd.jupyter.widget-view+json"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_CELL_LINE = re.compile(r"Cell In\[(\d+)\], line (\d+)")

# The executed pages of this build, by the text of the page.
_executed: dict[str, nbformat.NotebookNode] = {}


class _Loop(asyncio.SelectorEventLoop):
    """A loop without nbclient's signal handlers.

    They forget the kernel on Ctrl-C and then fail on its absence, with a traceback that
    asks to report a bug of Sphinx. Without them asyncio cancels the pages, and each
    page ends its kernel.
    """

    def add_signal_handler(self, *arguments: object) -> None:
        raise RuntimeError("nbclient takes this as: not in the main thread")


def _die_with_parent() -> None:
    """Ask Linux to kill this process, a kernel, when the build dies.

    A kernel notices by itself, unless it is busy in native code.
    """
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


class IpcKernelManager(AsyncKernelManager):
    """Talks to kernels over sockets in the file system.

    Kernels on TCP race for ports when several start at once, and say on standard
    error that their traffic is not encrypted.
    """

    transport = CaselessStrEnum(["tcp", "ipc"], default_value="ipc", config=True)

    @default("ip")
    def _socket_path(self) -> str:
        """Absolute, since the kernel's working directory is not ours."""
        return str(pathlib.Path(jupyter_runtime_dir()) / uuid.uuid4().hex[:8])

    def format_kernel_cmd(self, extra_arguments=None) -> list[str]:
        """Start ``book.kernel`` where the kernel's specification starts IPython's."""
        command = super().format_kernel_cmd(extra_arguments)
        command[command.index("ipykernel_launcher")] = "book.kernel"
        return command


async def run_page(text: str, name: str) -> tuple[nbformat.NotebookNode, str | None]:
    """Run the cells of a page and return the executed notebook, and what failed.

    Args:
      text: the page.
      name: its path as a reader of the message knows it, such as ``docs/refs.md``.

    Returns:
      The notebook, and `None` or ``name:LINE: error`` with the traceback.
    """
    notebook = read_myst_markdown_notebook(text, add_source_map=True)
    started = []
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        client = NotebookClient(
            notebook,
            timeout=CELL_TIMEOUT,
            kernel_name="python3",
            kernel_manager_class=IpcKernelManager,
            coalesce_streams=True,
            record_timing=False,
            store_widget_state=False,
            resources={"metadata": {"path": folder}},
            on_cell_start=lambda cell, cell_index: started.append(cell),
        )
        try:
            await client.async_execute(preexec_fn=_die_with_parent)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            count = sum(cell.cell_type == "code" for cell in started)
            cell = cells_of_text(text)[count - 1]
            return notebook, _describe(name, cell, started[-1], error)
        except RuntimeError as error:
            # So nbclient says that the kernel did not start; it would complain once
            # more at the end of the process.
            atexit.unregister(client._cleanup_kernel)
            return notebook, f"{name}:1: no kernel: {error}"
    # A progress bar that is switched off still leaves an empty widget, whose id is
    # another one in every run.
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if _WIDGET not in o.get("data", {})]
    return notebook, None


def _describe(
    name: str, cell: Cell, run: nbformat.NotebookNode, error: Exception
) -> str:
    """Return ``name:LINE: error``, and the traceback if the cell's own code raised.

    Args:
      name: of the page.
      cell: the cell as it stands on the page.
      run: the same cell in the notebook, with its outputs.
      error: what nbclient raised.
    """
    for output in run.outputs:
        if output.output_type == "error":
            trace = _ANSI.sub("", "\n".join(output.traceback))
            line = cell.line + _line_in_cell(trace, run.execution_count) - 1
            # IPython's own subclass on Python 3.13, for a cell that breaks off.
            kind = output.ename.replace("_IncompleteInputError", "SyntaxError")
            return f"{name}:{line}: {kind}: {output.evalue}\n\n{trace}"
    message = _ANSI.sub("", str(error)).strip()
    return f"{name}:{cell.line}: {type(error).__name__}: {message}"


def _line_in_cell(trace: str, execution_count: int | None) -> int:
    """Return the line of a cell that its traceback reached last, counted from 1.

    Other frames may lie in earlier cells: of a function that is defined there, or of an
    error that was raised there and is the cause of this one.
    """
    lines = [
        int(line)
        for cell, line in _CELL_LINE.findall(trace)
        if execution_count in (int(cell), None)
    ]
    return lines[-1] if lines else 1


def run_pages(
    texts: dict[str, str], jobs: int
) -> dict[str, tuple[nbformat.NotebookNode, str | None, float]]:
    """Run several pages, at most `jobs` at once.

    Args:
      texts: the pages, by the name that a message should give them.
      jobs: how many kernels may be alive at once.

    Returns:
      For each page what `run_page` returns, and how many seconds it took.
    """

    async def run_one(name: str, at_once: asyncio.Semaphore):
        async with at_once:
            started = time.monotonic()
            notebook, failure = await run_page(texts[name], name)
            return notebook, failure, time.monotonic() - started

    async def run_all():
        at_once = asyncio.Semaphore(jobs)
        # Long pages first, so that none of them is left over at the end.
        names = sorted(texts, key=lambda name: -len(cells_of_text(texts[name])))
        results = await asyncio.gather(*(run_one(name, at_once) for name in names))
        return dict(zip(names, results, strict=True))

    # The path of a socket may not be long, so it is not below TMPDIR.
    with (
        tempfile.TemporaryDirectory(prefix="book-", dir="/tmp") as folder,
        mock.patch.dict("os.environ", JUPYTER_RUNTIME_DIR=folder),
    ):
        try:
            return asyncio.run(run_all(), loop_factory=_Loop)
        except KeyboardInterrupt:
            raise SystemExit("\nInterrupted; the book was not built.") from None


def run_outdated_pages(app, env, pages: list[str]) -> None:
    """Run the pages that Sphinx is about to read; stop the build if a cell fails."""
    texts, docnames, failures = {}, {}, []
    for page in pages:
        path = pathlib.Path(env.doc2path(page))
        name = str(path.relative_to(app.srcdir.parent))
        if path.suffix != ".md" or path.parent != app.srcdir:
            failures.append(f"{name}:1: not a page of the book, which are docs/*.md")
            continue
        text = path.read_text("utf-8")
        wrong = problems(text)
        failures += [f"{name}:{line}: {message}" for line, message in wrong]
        if not wrong and cells_of_text(text):
            texts[name], docnames[name] = text, page
    if failures:
        stop(failures)
    for name, (notebook, failure, seconds) in run_pages(texts, jobs()).items():
        _executed[texts[name]] = notebook
        app.book_seconds[docnames[name]] = seconds
        if failure:
            failures.append(failure)
    if failures:
        stop(failures)


def stop(failures: list[str]) -> NoReturn:
    """End the build with the failures, and nothing else.

    Not by a SphinxError: Sphinx 9 wraps those in a page of its own state and asks the
    reader to report a bug of Sphinx.

    Raises:
      SystemExit: always.
    """
    raise SystemExit("\n\n".join(["", *sorted(failures), "The book was not built."]))


def jobs() -> int:
    """Return how many pages run at once: ``BOOK_JOBS``, or the number of cores.

    Raises:
      SystemExit: if ``BOOK_JOBS`` is not a positive number.
    """
    wanted = os.environ.get("BOOK_JOBS") or str(os.cpu_count() or 1)
    if not wanted.isdecimal() or int(wanted) < 1:
        raise SystemExit(f"BOOK_JOBS should be a number of pages, not {wanted!r}.")
    return int(wanted)


def executed(text: str) -> nbformat.NotebookNode:
    """Return the page as MyST-NB renders it: a notebook, executed if it has cells.

    MyST-NB calls this for every ``.md`` file (``nb_custom_formats`` in conf.py).
    """
    if text in _executed:
        return _executed[text]
    if is_myst_markdown_notebook(text):
        return read_myst_markdown_notebook(text, add_source_map=True)
    cell = nbformat.v4.new_markdown_cell(text)
    # MyST-NB takes it that a blank line comes first, as behind front matter.
    return nbformat.v4.new_notebook(cells=[cell], metadata={"source_map": [-1]})


def print_times(app, exception) -> None:
    """Print how long each page took that ran in this build, and where the book is.

    To the terminal only: a built page holds no time of its build.
    """
    if exception is None and app.builder.format == "html":
        if app._warncount:
            print("The book has warnings, see above.")
            return
        for page, seconds in sorted(
            app.book_seconds.items(), key=lambda item: -item[1]
        ):
            print(f"{seconds:6.1f} s  {page}")
        if not app.book_seconds:
            print("No page needed to run again.")
        print(f"The book is at {app.outdir / (app.config.root_doc + '.html')}")


def setup(app):
    """Connect to the moment before pages are read, and to the end of the build."""
    app.book_seconds = {}
    app.connect("env-before-read-docs", run_outdated_pages)
    app.connect("build-finished", print_times)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
