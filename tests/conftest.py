"""Builds the book once for all tests that look at what was built."""

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from book import warm

IGNORED = shutil.ignore_patterns(
    ".venv", ".tools", "_build", "__pycache__", ".*_cache", ".hypothesis"
)


def sphinx(
    root: pathlib.Path,
    out: pathlib.Path,
    *arguments: str,
    docs: str = "docs",
    page: str = "",
    repository: str = "",
    store: pathlib.Path | None = None,
) -> subprocess.CompletedProcess:
    """Build the book in `root` as the Makefile does, below `out`.

    What has been executed is kept in `store`, by default one folder for all tests, so
    that no page is run by a kernel twice unless a test wants it.
    """
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "--fail-on-warning",
            "--quiet",
            "--no-color",  # CI=true would make Sphinx colour its messages
            "-c",
            ".",
            "-d",
            str(out / "doctrees"),
            *arguments,
            docs,
            str(out / "html"),
        ],
        cwd=root,
        env=os.environ
        | {"BOOK_PAGE": page, "BOOK_REPOSITORY": repository}
        | ({"BOOK_STORE": str(store)} if store else {}),
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="session", autouse=True)
def store_of_the_tests(tmp_path_factory):
    """Begin with an empty store: what a test sees has run in this session.

    The harness that lies to the book hands over one in which most pages are.
    """
    given = os.environ.get("BOOK_STORE_OF_TESTS")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOK_STORE", given or str(tmp_path_factory.mktemp("executed")))
        yield


@pytest.fixture(scope="session")
def warm_kernels():
    """Import everything once for all kernels of the tests."""
    with warm.shared_process():
        yield


@pytest.fixture(scope="session")
def build(warm_kernels) -> Callable:
    """Return the function that builds a book."""
    return sphinx


@pytest.fixture(scope="session")
def copy_of_book(root, tmp_path_factory) -> Callable[[], pathlib.Path]:
    """Return a function that copies the repository into a folder of another name."""

    def copy() -> pathlib.Path:
        folder = tmp_path_factory.mktemp("a copy") / "the book"
        shutil.copytree(root, folder, ignore=IGNORED)
        return folder

    return copy


@pytest.fixture(scope="session")
def built(
    root, build, tmp_path_factory
) -> tuple[subprocess.CompletedProcess, pathlib.Path]:
    """Return the finished build of the book and the folder that it wrote to.

    ``BOOK_PAGE`` builds that page alone, for those who run only tests of one page.
    """
    out = tmp_path_factory.mktemp("built")
    return build(root, out, page=os.environ.get("BOOK_PAGE", "")), out
