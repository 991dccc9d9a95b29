"""Pages that break their kernel, or would: each is named, and the rest runs."""

import pytest

from book import running
from book.running import run_pages
from tests.book.front import FRONT, page, texts

SECOND = FRONT.count("\n") + 6  # the first line of a page's second cell

# The cell; in which of its lines it is at fault; and what is said of it.
BAD = {
    "raises": ("1 / 0", 1, "ZeroDivisionError: division by zero"),
    "exits": ("import sys\nsys.exit(3)", 1, "SystemExit: 3"),
    "asks-to-exit": ("1\nexit()", 1, "Fault: a cell that ends its interpreter"),
    "ends-the-process": ("import os\nos._exit(0)", 1, "DeadKernelError: Kernel died: "),
    "kills-its-kernel": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        1,
        "DeadKernelError: Kernel died: by a crash, by os._exit, or killed",
    ),
    "fills-memory": (
        "x = []\nwhile True:\n    x.append(bytearray(10**8))",
        3,
        "MemoryError: ",
    ),
    "fills-memory-in-jax": (
        "import jax.numpy as jnp\nx = [jnp.ones(10**8) for _ in range(100)]",
        2,
        "ValueError: RESOURCE_EXHAUSTED: Out of memory allocating",
    ),
    "forks": ("import os\nos.fork()", 1, "Fault: a fork of this cell ran on"),
    "prints-without-end": (
        "while True:\n    print('x' * 10**5)",
        1,
        "Fault: a page that prints more than 10,000,000 characters",
    ),
    "leaves-a-thread": (
        "import threading, time\n"
        "def talk():\n"
        "    while True:\n"
        "        print('.')\n"
        "        time.sleep(0.01)\n"
        "threading.Thread(target=talk, daemon=True).start()\n"
        "time.sleep(0.1)",
        1,
        "Fault: a thread prints that has not ended with its cell",
    ),
}

GOOD = {
    "forks-well": "import os\nif not os.fork():\n    os._exit(0)\nos.wait()\nprint(1)",
    "joins-its-thread": "import threading\n"
    "thread = threading.Thread(target=print, args=[1])\n"
    "thread.start()\n"
    "thread.join()",
    "has-a-silent-thread": "import threading\n"
    "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    "print(1)",
}


@pytest.fixture(scope="module")
def results():
    """What came of all these pages, run in one build."""
    pages = {name: page("0", code, "2") for name, (code, _, _) in BAD.items()}
    pages |= {name: page("0", code) for name, code in GOOD.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOK_MEMORY", "1.5")
        return run_pages(pages, 2)


@pytest.mark.parametrize("name", BAD)
def test_a_page_that_breaks_its_kernel_is_named(name, results):
    _, line, message = BAD[name]
    _, failure, _ = results[name]
    where = SECOND + line - 1
    assert failure.startswith(f"{name}:{where}: {message}"), failure


@pytest.mark.parametrize("name", GOOD)
def test_the_rest_runs(name, results):
    notebook, failure, _ = results[name]
    assert failure is None
    assert texts(notebook) == ["", "1\n"]


def test_a_thread_that_prints_after_its_cell_is_named():
    start = "import threading\ntimer = threading.Timer(0.5, print, [1])\ntimer.start()"
    wait = "import time\ntime.sleep(1)"
    ((_, failure, _),) = run_pages({"late": page(start, wait)}, 1).values()
    assert failure.startswith(
        f"late:{FRONT.count(chr(10)) + 8}: Fault: a thread prints"
    )


def test_a_cell_that_takes_too_long_is_named(monkeypatch):
    monkeypatch.setattr(running, "CELL_TIMEOUT", 1)
    ((_, failure, _),) = run_pages(
        {"sleeps": page("0", "import time\ntime.sleep(600)")}, 1
    ).values()
    assert failure == f"sleeps:{SECOND}: TimeoutError: more than 1 seconds"


def test_a_broken_page_says_nothing_besides(capfd):
    code, _, _ = BAD["prints-without-end"]
    run_pages({"prints": page("0", code)}, 1)
    assert capfd.readouterr() == ("", "")
