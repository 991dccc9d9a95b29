"""Builds that are killed at some moment: the next one is as if nothing had been."""

import hashlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from book.bench_builds import Book
from tests.book.alive import MARK, alive
from tests.book.front import FRONT

SEED = 20_261

CHAPTER = """({name})=
# A chapter

```{{code-cell}} python
from snippets.showing import Picture
from matplotlib.figure import Figure

figure = Figure()
figure.subplots().plot([1, {number}], label="line")
print({number} + 1)
```

```{{code-cell}} python
---
mystnb:
  image:
    alt: A straight line that climbs from left to right, on a white ground.
---
Picture(figure, "a line")
```

% invisible-code-block: python
%
% assert figure.axes
"""
START = """(index)=
# Start

```{toctree}
:glob:

*
```

```{code-cell} python
import jax.numpy as jnp

print(jnp.arange(3).sum())
```

% invisible-code-block: python
%
% assert jnp.arange(3).sum() == 3
"""


class SmallBook:
    """A copy of the book with three small pages, built by its own Makefile.

    Args:
      folder: of the copy.
      environment: of all processes.
    """

    def __init__(self, folder: pathlib.Path, environment: dict[str, str]):
        pages = {"index": FRONT + START}
        for number, name in enumerate(("one", "two"), 1):
            pages[name] = FRONT + CHAPTER.format(name=name, number=number)
        self.folder = Book(folder, pages).folder
        self.environment = environment
        # The set-up is done, with the Python that runs this.
        self.stamp = folder / "set-up"
        self.stamp.write_text(f"{folder} {environment.get('BOOK_PYTHON', '')}")

    def start(self) -> subprocess.Popen:
        return subprocess.Popen(
            ["make", "html", f"PYTHON={sys.executable}", f"STAMP={self.stamp.name}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def build(self) -> dict[str, str]:
        """Build, and return the hash of each file of the book."""
        build = self.start()
        said, _ = build.communicate(timeout=400)
        assert build.returncode == 0, said
        return self.tree()

    def tree(self) -> dict[str, str]:
        out = self.folder / "_build" / "html"
        return {
            path.relative_to(out).as_posix(): hashlib.sha256(
                path.read_bytes()
            ).hexdigest()
            for path in sorted(out.rglob("*"))
            if path.is_file()
        }

    def clean(self) -> None:
        shutil.rmtree(self.folder / "_build", ignore_errors=True)

    def kill(self, after: float) -> bool:
        """Kill a build after some seconds; tell whether it was still running."""
        build = self.start()
        time.sleep(after)
        running = build.poll() is None
        os.killpg(build.pid, signal.SIGKILL) if running else None
        build.communicate()
        return running


@pytest.fixture
def small_book(tmp_path, marked):
    environment = {k: v for k, v in marked.items() if not k.startswith("MAKE")}
    for name in ("BOOK_STORE", "BOOK_WARM", "BOOK_PAGE"):
        environment.pop(name, None)
    return SmallBook(tmp_path.resolve() / "the book", environment)


def survive(book: SmallBook, times: int, cold: bool) -> None:
    """Kill so many builds, and look at what the next one makes of it.

    Args:
      book: the small book.
      times: how many builds.
      cold: whether nothing has been executed before.
    """
    book.clean()
    started = time.monotonic()
    whole = book.build()
    assert {"index.html", "one.html", "two.html"} <= set(whole)
    if not cold:
        (book.folder / "docs" / "one.md").touch()
        started = time.monotonic()
        assert book.build() == whole
    took = time.monotonic() - started
    moments = random.Random(f"{SEED} {cold}")
    killed = 0
    for _ in range(times):
        if cold:
            book.clean()
        else:  # every page is read and written again
            shutil.rmtree(book.folder / "_build" / "doctrees")
        killed += book.kill(moments.uniform(0, took * 0.8))
        assert not alive(book.environment[MARK])
        assert book.build() == whole
    assert killed  # and not all had ended by themselves


def test_a_killed_build_leaves_nothing_behind(small_book):
    survive(small_book, 2, cold=True)
    survive(small_book, 1, cold=False)


@pytest.mark.proof
def test_fifty_killed_builds_leave_nothing_behind(small_book):
    survive(small_book, 25, cold=True)
    survive(small_book, 25, cold=False)


@pytest.mark.proof
def test_ten_cold_builds_are_the_same(small_book):
    trees = []
    for _ in range(10):
        small_book.clean()
        trees.append(small_book.build())
    assert all(tree == trees[0] for tree in trees)
