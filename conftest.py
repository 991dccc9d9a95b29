"""Gives pytest the pages and modules as documents, in the kernels' environment."""

import contextlib
import os
import sys

from book import environment, leash

environment.prepare()  # before anything imports jax or TensorFlow

# As in a kernel: a trainer that is made anew compiles its step anew. Empty at first.
COMPILED = leash.folder()
os.environ["JAX_COMPILATION_CACHE_DIR"] = COMPILED.name
if "jax" in sys.modules:  # by the harness that tells lies; JAX reads variables once
    sys.modules["jax"].config.update("jax_compilation_cache_dir", COMPILED.name)

import pathlib  # noqa: E402

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from book import documents  # noqa: E402

# A run that passed passes again; random searches belong to `make proof`.
settings.register_profile("book", derandomize=True)
settings.load_profile("book")

pytest_plugins = ["pytester", "tests.building"]
pytest_collect_file = documents.collect


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what takes long, and say so, unless `make proof` runs."""
    if not os.environ.get("BOOK_PROOF"):
        for item in items:
            if item.get_closest_marker("proof"):
                item.add_marker(pytest.mark.skip(reason="takes long: make proof"))


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Refuse a file that leaves JAX's profiler on, as short trainings do.

    It would record all Python code of all later tests: with it they took twice the
    time and more than 20 GB.
    """
    last = nextitem is None or nextitem.path != item.path
    if last and "jax" in sys.modules:
        with contextlib.suppress(RuntimeError):  # that there is none to stop
            sys.modules["jax"].profiler.stop_trace()
            pytest.fail(f"{item.path.name} leaves JAX's profiler on; see trainer.md")


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    """Return the folder of the repository."""
    return pathlib.Path(__file__).parent
