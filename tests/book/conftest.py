"""What the tests of the book's machinery share: imported modules, and bad pages."""

import os
import pathlib
import uuid
from collections.abc import Callable

import pytest

from tests.book.alive import MARK, alive


@pytest.fixture(scope="session", autouse=True)
def _warm(warm_kernels):
    """Fork all kernels of these tests from one process."""


@pytest.fixture(scope="session")
def refused(root, build, tmp_path_factory) -> Callable:
    """Return a function that builds small bad pages, which the build has to refuse.

    It takes their texts by name (and those of other files), and gives what the build
    said, a line each with pages as in ``index.md:4:``, and the folder it wrote to.
    """

    def build_them(pages: dict[str, str]) -> tuple[list[str], pathlib.Path]:
        docs, out = tmp_path_factory.mktemp("docs"), tmp_path_factory.mktemp("out")
        for name, text in pages.items():
            file = name if "." in name else f"{name}.md"
            (docs / file).write_text(text, "utf-8")
        (docs / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        run = build(root, out, docs=str(docs))
        assert run.returncode == 1
        return run.stderr.replace(f"{docs}/", "").splitlines(), out

    return build_them


@pytest.fixture
def marked():
    """An environment by which processes are known; none may be left in the end."""
    mark = uuid.uuid4().hex
    yield os.environ | {MARK: mark}
    left = alive(mark)
    for process in left:
        process.kill()
    assert not left
