"""Runs pages, each in a kernel of its own, several at once.

There is one place that executes, so a failing cell can be reported with
``docs/page.md:LINE`` and its own traceback (MyST-NB warns, or raises without either:
MyST-NB #248, #616).
"""

import asyncio
import atexit
import contextlib
import os
import pathlib
import re
import sys
import time
import uuid
from collections.abc import Callable, Coroutine
from unittest import mock

import nbformat
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.paths import jupyter_runtime_dir
from myst_nb.core.read import read_myst_markdown_notebook
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets import CaselessStrEnum, default

from book import leash, warm
from book.cells import Cell, cells_of_text, environment_of
from book.verdict import NOT_RAISED, silent

# Seconds; generous, because a slow machine is no reason to fail.
CELL_TIMEOUT = 300

# Characters that one page may give; this book's longest gives a hundredth of it.
OUTPUT_LIMIT = 10_000_000

_WIDGET = "application/vnd.jupyter.widget-view+json"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_CELL_LINE = re.compile(r"Cell In\[(\d+)\], line (\d+)")


class _Loop(asyncio.SelectorEventLoop):
    """A loop without nbclient's signal handlers.

    They forget the kernel on Ctrl-C and then fail on its absence, with a traceback that
    asks to report a bug of Sphinx. Without them asyncio cancels the pages, and each
    page ends its kernel.
    """

    def add_signal_handler(self, *arguments: object) -> None:
        raise RuntimeError("nbclient takes this as: not in the main thread")


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


class WarmKernelManager(IpcKernelManager):
    """Starts kernels as forks of the process of `book.warm`."""

    @property
    def kernel_spec(self):
        """Return the kernel's specification, which names who starts it."""
        spec = super().kernel_spec
        spec.metadata["kernel_provisioner"] = {"provisioner_name": "book-warm"}
        return spec


class Fault(Exception):
    """A cell did what no cell may do."""


class Client(NotebookClient):
    """Runs a page as nbclient does, and stops at faults that it would pass over.

    Args:
      notebook: the page.
      manager: starts its kernel.
      folder: in which the kernel runs.
      **arguments: what else nbclient should do.
    """

    def __init__(
        self,
        notebook: nbformat.NotebookNode,
        manager: type[IpcKernelManager],
        folder: str,
        **arguments,
    ):
        super().__init__(
            notebook,
            timeout=CELL_TIMEOUT,
            # Outputs that come late on a busy machine would be lost in silence.
            iopub_timeout=60,
            raise_on_iopub_timeout=True,
            kernel_name="python3",
            kernel_manager_class=manager,
            coalesce_streams=True,
            record_timing=False,
            store_widget_state=False,
            resources={"metadata": {"path": folder}},
            on_cell_executed=self._look_at_reply,
            on_cell_error=self._end_gently,
            on_notebook_complete=self._end_gently,
            # A kernel that is stuck cannot be asked, and complains as it dies.
            shutdown_kernel="immediate",
            **arguments,
        )
        self.fault: Fault | None = None
        self._given = 0

    async def run(self, compiled: str, environment: dict[str, str]) -> None:
        """Run the page in a kernel that ends with it.

        Args:
          compiled: a folder for what the page compiles: a trainer that is made anew
            compiles its step anew, which is most of what some pages take. Empty at
            first, so nothing old is ever used.
          environment: variables that the page asks for.
        """
        await self.async_execute(
            preexec_fn=leash.die_with_parent,
            env=os.environ | {"JAX_COMPILATION_CACHE_DIR": compiled} | environment,
        )

    def output(self, outs, msg, *arguments):
        """Take an output, unless there is no end to them."""
        self._given += len(str(msg["content"]))
        if self._given <= OUTPUT_LIMIT:
            return super().output(outs, msg, *arguments)
        self.fault = Fault(f"a page that prints more than {OUTPUT_LIMIT:,} characters")
        self.task_poll_for_reply.cancel()  # nbclient takes it for a dead kernel
        return None

    def _end_gently(self, **arguments) -> None:
        """Let the kernel tidy up, the temporary folders of its page for one."""
        self.shutdown_kernel = "graceful"

    def _look_at_reply(self, cell, cell_index, execute_reply) -> None:
        reply = execute_reply["content"]
        if "fault" in reply:
            raise Fault(reply["fault"])
        if any(each["source"] == "ask_exit" for each in reply.get("payload", ())):
            raise Fault("a cell that ends its interpreter")


# Names the folder in which the tests keep what kernels compile, so that pytest, which
# runs the same cells, need not compile it again.
COMPILED = "BOOK_COMPILED"


def _give_compiled(compiled: str) -> None:
    """Add what a kernel has compiled to the folder of the tests, if there is one."""
    if folder := os.environ.get(COMPILED):
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        _link(pathlib.Path(compiled), pathlib.Path(folder))


def take_compiled(folder: pathlib.Path) -> None:
    """Add what kernels have compiled, for the tests, to the folder of a process."""
    if (kept := pathlib.Path(os.environ.get(COMPILED, ""))).is_absolute():
        _link(kept, folder)


def _link(source: pathlib.Path, target: pathlib.Path) -> None:
    # JAX writes a file in its place, where another process could read half of it; a
    # link is there at once. JAX never changes a file.
    for path in source.glob("*-cache"):
        # It may be there, or on another disk; then it is compiled again.
        with contextlib.suppress(OSError):
            (target / path.name).hardlink_to(path)


async def _run_page(
    text: str, name: str, manager: type[IpcKernelManager]
) -> tuple[nbformat.NotebookNode, str | None]:
    notebook = read_myst_markdown_notebook(text, add_source_map=True)
    started = []

    def note(cell, cell_index) -> None:
        started.append(cell)

    with leash.folder() as folder, leash.folder() as compiled:
        client = Client(notebook, manager, folder, on_cell_start=note)
        try:
            await client.run(compiled, environment_of(text))
        except (CellExecutionError, CellTimeoutError, DeadKernelError, Fault) as error:
            count = sum(cell.cell_type == "code" for cell in started)
            cell = cells_of_text(text)[count - 1]
            why = client.fault or error
            return notebook, _describe(name, cell, started[-1], why)
        except RuntimeError as error:
            # So nbclient says that the kernel did not start; it would complain once
            # more at the end of the process.
            atexit.unregister(client._cleanup_kernel)
            if manager is WarmKernelManager:
                raise warm.WarmKernelsFailed(str(error)) from error
            return notebook, f"{name}:1: no kernel: {error}"
        _give_compiled(compiled)
    drop_widgets(notebook)
    for index in silent(notebook):
        line = cells_of_text(text)[index].line
        return notebook, f"{name}:{line}: {NOT_RAISED}"
    return notebook, None


def drop_widgets(notebook: nbformat.NotebookNode) -> None:
    """Drop the widgets of an executed page.

    A progress bar that is switched off still leaves an empty one, whose id is another
    one in every run.
    """
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if _WIDGET not in o.get("data", {})]


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
    if isinstance(error, CellTimeoutError):
        return f"{name}:{cell.line}: TimeoutError: more than {CELL_TIMEOUT} seconds"
    for output in run.outputs:
        if output.output_type == "error":
            trace = plain("\n".join(output.traceback))
            line = cell.line + line_in_cell(trace, run.execution_count) - 1
            # IPython's own subclass on Python 3.13, for a cell that breaks off.
            kind = output.ename.replace("_IncompleteInputError", "SyntaxError")
            return f"{name}:{line}: {kind}: {output.evalue}\n\n{trace}"
    message = plain(str(error)).strip()
    if isinstance(error, DeadKernelError):
        message += ": by a crash, by os._exit, or killed for want of memory"
    return f"{name}:{cell.line}: {type(error).__name__}: {message}"


def plain(text: str) -> str:
    """Return a text without the codes that colour it in a terminal."""
    return _ANSI.sub("", text)


def line_in_cell(trace: str, execution_count: int | None) -> int:
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
    texts: dict[str, str],
    jobs: int,
    warm_up: bool | None = None,
    on_done: Callable[[str, nbformat.NotebookNode, str | None, float], None]
    | None = None,
) -> dict[str, tuple[nbformat.NotebookNode, str | None, float]]:
    """Run several pages, at most `jobs` at once.

    Kernels are forks of a process that has imported everything, or are started anew
    where that cannot be done, and for a single page: it imports only what it needs.

    Args:
      texts: the pages, by the name that a message should give them, such as
        ``docs/refs.md``; those that take long should come first.
      jobs: how many kernels may be alive at once.
      warm_up: whether to fork kernels; by default, if it is worth it.
      on_done: called for each page when it has run, with its name and what is
        returned for it: a build that is killed need not lose the others.

    Returns:
      For each page the notebook; `None` or ``name:LINE: error`` with the traceback; and
      how many seconds it took.
    """
    if warm_up is None:
        warm_up = warm_kernels() and (len(texts) > 1 or "BOOK_WARM" in os.environ)

    async def run_one(name: str, at_once: asyncio.Semaphore, forks: bool):
        async with at_once:
            started = time.monotonic()
            result = await _run_page_anyhow(texts[name], name, forks)
            result = *result, time.monotonic() - started
            if on_done:
                on_done(name, *result)
            return result

    async def run_all():
        at_once = asyncio.Semaphore(jobs)
        async with contextlib.AsyncExitStack() as stack:
            forks = warm_up
            if forks:
                try:
                    await stack.enter_async_context(warm.warm_process())
                except warm.WarmKernelsFailed as error:
                    _say_that_it_is_cold(error)
                    forks = False
            runs = (run_one(name, at_once, forks) for name in texts)
            return dict(zip(texts, await asyncio.gather(*runs), strict=True))

    try:
        return with_kernels(run_all())
    except KeyboardInterrupt:
        raise SystemExit("\nInterrupted; the book was not built.") from None


def with_kernels[T](coroutine: Coroutine[object, object, T]) -> T:
    """Run something that starts kernels, and return its result."""
    leash.remove_orphans()
    # The path of a socket may not be long, so it is not below TMPDIR.
    with (
        leash.folder("/tmp") as folder,
        mock.patch.dict("os.environ", JUPYTER_RUNTIME_DIR=folder),
    ):
        return asyncio.run(coroutine, loop_factory=_Loop)


async def _run_page_anyhow(
    text: str, name: str, forks: bool
) -> tuple[nbformat.NotebookNode, str | None]:
    if forks and not environment_of(text):
        try:
            return await _run_page(text, name, WarmKernelManager)
        except warm.WarmKernelsFailed as error:
            _say_that_it_is_cold(error)
    return await _run_page(text, name, IpcKernelManager)


def _say_that_it_is_cold(error: warm.WarmKernelsFailed) -> None:
    print(f"Ordinary kernels, since a warm one failed: {error}", file=sys.stderr)


def warm_kernels() -> bool:
    """Tell whether kernels may be forked: unless ``BOOK_KERNEL`` is ``cold``.

    Raises:
      SystemExit: if ``BOOK_KERNEL`` is neither ``cold`` nor ``warm``.
    """
    wanted = os.environ.get("BOOK_KERNEL") or "warm"
    if wanted not in ("cold", "warm"):
        raise SystemExit(f"BOOK_KERNEL should be cold or warm, not {wanted!r}.")
    return wanted == "warm" and hasattr(os, "fork")


def jobs() -> int:
    """Return how many pages run at once: ``BOOK_JOBS``, or the number of cores.

    Raises:
      SystemExit: if ``BOOK_JOBS`` is not a positive number.
    """
    wanted = os.environ.get("BOOK_JOBS") or str(os.cpu_count() or 1)
    if not wanted.isdecimal() or int(wanted) < 1:
        raise SystemExit(f"BOOK_JOBS should be a number of pages, not {wanted!r}.")
    return int(wanted)
