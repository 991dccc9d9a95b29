"""Tells one lie to a copy of the book and sees whether anything turns red.

The judge is a process that has imported what the tests import. For each lie it forks,
so that a lie costs the run of one page and not ten seconds of imports. A lie about
upstream has to be told before its module is imported: those about Kauldron are judged
before the judge imports it, and those about what lies below it get a new Python.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from book import copies
from book.cells import ROOT
from tests.mutants.lies import Lie
from tests.mutants.upstream import Patch, hook

# Seconds; a lie may well turn a loop into one that does not end.
PATIENCE = 600

# What holds a page as a whole, built and parsed; and what holds the pages together.
OF_A_PAGE = (
    "test_cells.py::test_no_fence_that_looks_like_a_cell_is_passed_over",
    "test_cells.py::test_no_claim_is_passed_over",
    "test_build.py::test_a_page_builds_without_a_warning",
    "test_cells.py::test_pytest_runs_as_many_cells_as_the_build",
    "test_transcripts.py::test_a_page_prints_what_its_transcript_says",
)
OF_ALL_PAGES = [
    "tests/book/test_transcripts.py::"
    "test_every_page_has_a_transcript_and_every_transcript_a_page"
]

PROSE = (
    "a number in prose",
    "a name in prose",
    "a word of a quoted message",
    "a cell that no one runs",
    "stale output",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of one lie.

    Attributes:
      lie: the lie.
      caught: whether a test turned red.
      by: the first test that did, or what stopped the run.
      seconds: how long it took.
      said: what pytest printed.
    """

    lie: Lie
    caught: bool
    by: str
    seconds: float
    said: str = dataclasses.field(default="", repr=False)


class Broken(Exception):
    """The harness itself failed: this says nothing about the book."""


def tests_of(lie: Lie) -> list[str]:
    """Return what pytest has to run: all that the lie can touch, the cheap first.

    Raises:
      Broken: if there is nothing, since nothing would then be green.
    """
    module = lie.page.replace("-", "_")
    code = [f"docs/{lie.page}.md", f"snippets/{module}.py", f"tests/test_{module}.py"]
    if lie.path.startswith("snippets/"):
        own = pathlib.Path(lie.path).stem
        code += [lie.path, f"tests/test_{own}.py"]
    page = [f"tests/book/{test}[{lie.page}]" for test in OF_A_PAGE]
    if lie.kind == "a deleted page":
        return OF_ALL_PAGES
    if lie.kind in PROSE:
        return page
    found = [path for path in dict.fromkeys(code) if (ROOT / path).exists()]
    if not found:
        raise Broken(f"nothing tests {lie}")
    return found + page


def judge(lie: Lie, outputs: pathlib.Path) -> Verdict:
    """Tell a lie to a copy of the book, and run what it can touch.

    Args:
      lie: the lie.
      outputs: a store of executed pages of the book as it is.

    Raises:
      Broken: if the tests could not be run.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lie-") as folder:
        copy = pathlib.Path(folder) / "book"
        copies.copy(copy, ".git")
        _take_answers_along(copy)
        store = pathlib.Path(folder) / "executed"
        shutil.copytree(outputs, store)
        _tell(lie, copy, store)
        environment = {
            "BOOK_PAGE": lie.page,
            "BOOK_STORE": str(store),
            "BOOK_STORE_OF_TESTS": str(store),
        }
        arguments = [*tests_of(lie), "-x", "-q", "-p", "no:cacheprovider"]
        log = pathlib.Path(folder) / "log"
        log.touch()
        if lie.kind != "upstream":
            status = _in_a_fork(copy, arguments, environment, log)
        else:
            # Kernels and other processes of the page apply the patch when they start.
            os.environ.pop("BOOK_WARM", None)
            environment |= {"BOOK_KERNEL": "cold", "PYTHONPATH": str(copy)}
            late = lie.path.split(".")[0] in sys.modules
            run = _in_a_new_python if late else _in_a_fork
            status = run(copy, arguments, environment, log)
        text = log.read_text("utf-8", errors="replace")
    by = re.search(r"^(?:FAILED|ERROR) (.+)$", text, re.M)
    if status == 0 and not re.search(r"\d+ passed", text):
        raise Broken(f"{lie}: nothing was run:\n{text[-2000:]}")
    # 1: a test failed; 2: a module could not even be imported; below 0: killed.
    if status not in (0, 1, 2) and status > 0:
        raise Broken(f"{lie}: pytest ended with {status}:\n{text[-3000:]}")
    return Verdict(
        lie=lie,
        caught=status != 0,
        by=by[1][:160] if by else f"status {status}" if status else "",
        seconds=time.monotonic() - started,
        said=text,
    )


def _tell(lie: Lie, copy: pathlib.Path, store: pathlib.Path) -> None:
    if lie.kind == "upstream":
        module, before, after = json.loads(lie.text)
        patch = Patch(module=module, before=before, after=after, page=lie.page)
        (copy / "sitecustomize.py").write_text(hook(patch), "utf-8")
        shutil.rmtree(store)  # what was executed, was executed without the patch
    elif lie.kind == "stale output":
        _make_stale(lie, store)
    elif lie.text is None:
        (copy / lie.path).unlink()
    else:
        (copy / lie.path).write_text(lie.text, "utf-8")


def _take_answers_along(copy: pathlib.Path) -> None:
    """Spare the copy the imports of the libraries, to look up names that it knows."""
    kept = ROOT / "_build" / "names.json"
    if kept.exists():
        (copy / "_build").mkdir()
        shutil.copy(kept, copy / "_build")


def _make_stale(lie: Lie, store: pathlib.Path) -> None:
    """Give a cell another output, as an earlier state of its code would have."""
    from book.store import Store

    kept = Store(store)
    notebook = kept.load(lie.text)
    if notebook is None:
        raise Broken(f"{lie}: the page is not in the store")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    cell = code[int(lie.before.rsplit(" ", 1)[1])]
    old = {"output_type": "stream", "name": "stdout", "text": "earlier: 1\n"}
    cell.outputs = [*cell.outputs, type(cell)(old)]
    kept.save(lie.path, lie.text, notebook, 1.0)


def _in_a_new_python(
    copy: pathlib.Path, arguments: list[str], environment: dict, log: pathlib.Path
) -> int:
    """Run pytest with imports of its own."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=copy,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return _wait(process.pid)


def _in_a_fork(
    copy: pathlib.Path, arguments: list[str], environment: dict, log: pathlib.Path
) -> int:
    """Run pytest in a fork of this process, in the folder of the copy."""
    pid = os.fork()
    if pid:
        return _wait(pid)
    status = 70
    try:
        os.setsid()
        with log.open("wb") as file:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
        os.chdir(copy)
        os.environ.update(environment)
        # The copy's modules, not ours: those were imported to make the lies.
        ours = ("book", "snippets", "tests", "conftest", "conf")
        for name in [name for name in sys.modules if name.split(".")[0] in ours]:
            del sys.modules[name]
        sys.path[:] = [str(copy), *(p for p in sys.path if p not in ("", str(ROOT)))]
        patch = copy / "sitecustomize.py"
        if patch.exists():  # which Python imports when it starts, and has started
            exec(compile(patch.read_text("utf-8"), str(patch), "exec"), {})
        import pytest

        status = int(pytest.main(arguments))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _wait(pid: int) -> int:
    """Return the exit status of a run, which has a session of its own."""
    until = time.monotonic() + PATIENCE
    ended = 0
    while not ended and time.monotonic() < until:
        time.sleep(0.05)
        ended, status = os.waitpid(pid, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if not ended:
        os.waitpid(pid, 0)
        return -signal.SIGALRM  # what never ends is not green
    return os.waitstatus_to_exitcode(status)
