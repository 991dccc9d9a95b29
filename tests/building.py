"""Builds the book once for all tests that look at what was built.

A plugin of all of pytest, since pages too gain from it: what their kernels have
compiled need not be compiled a second time.
"""

import os
import pathlib
import pickle
import subprocess
import sys
from collections.abc import Callable

import filelock
import pytest

from book import copies, running, warm

# Where JAX keeps what this process compiles. Read now, as a test may take it away.
FOLDER = pathlib.Path(os.environ["JAX_COMPILATION_CACHE_DIR"])

# Whether a test has begun, and the file that the last one was of.
BEGUN, LAST = pytest.StashKey[bool](), pytest.StashKey[pathlib.Path]()


def sphinx(
    root: pathlib.Path,
    out: pathlib.Path,
    *arguments: str,
    docs: str = "docs",
    page: str = "",
    repository: str = "",
    url: str = "",
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
        | {"BOOK_URL": url, "BOOK_COLAB": ""}
        | ({"BOOK_STORE": str(store)} if store else {}),
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="session")
def shared(pytestconfig, tmp_path_factory) -> pathlib.Path:
    """Return a temporary folder that all processes of this run have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if hasattr(pytestconfig, "workerinput") else own


@pytest.fixture(scope="session", autouse=True)
def store_of_the_tests(shared):
    """Begin with an empty store: what a test sees has run in this session.

    The harness that lies to the book hands over one in which most pages are.
    """
    given = os.environ.get("BOOK_STORE_OF_TESTS")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOK_STORE", given or str(shared / "executed"))
        patch.setenv(running.COMPILED, str(shared / "compiled"))
        yield


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup(item) -> None:
    """Build before all else, if any test of this session needs the book.

    Then hand what the kernels have compiled to each file that begins.
    """
    stash, request = item.config.stash, getattr(item, "_request", None)
    if request and BEGUN not in stash:
        stash[BEGUN] = True
        fixtures = [getattr(each, "fixturenames", ()) for each in item.session.items]
        if any("built" in names for names in fixtures):
            request.getfixturevalue("built")
    if item.path != stash.get(LAST, None):
        stash[LAST] = item.path
        running.take_compiled(FOLDER)


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
def copy_of_book(tmp_path_factory) -> Callable[[], pathlib.Path]:
    """Return a function that copies the repository into a folder of another name."""

    def copy() -> pathlib.Path:
        folder = tmp_path_factory.mktemp("a copy") / "the book"
        copies.copy(folder)
        return folder

    return copy


@pytest.fixture(scope="session")
def built(
    root, build, shared, store_of_the_tests
) -> tuple[subprocess.CompletedProcess, pathlib.Path]:
    """Return the finished build of the book and the folder that it wrote to.

    The process that needs it first builds it for all. ``BOOK_PAGE`` builds that page
    alone, for those who run only tests of one page.
    """
    out, done = shared / "built", shared / "built.pickle"
    with filelock.FileLock(shared / "built.lock"):
        if not done.exists():
            run = build(root, out, page=os.environ.get("BOOK_PAGE", ""))
            done.write_bytes(pickle.dumps(run))
    return pickle.loads(done.read_bytes()), out
