"""Raises errors as other machines raise them: what the page *errors* shows."""

import contextlib
import importlib.machinery
import re
import sys
from collections.abc import Iterator
from unittest import mock

from snippets.install import recorded


@contextlib.contextmanager
def hidden(package: str, *modules: str) -> Iterator[None]:
    """Let Python not find a package while the body runs, as if it were not installed.

    What has been imported from it is put back afterwards.

    Args:
      package: the name by which it is imported.
      *modules: modules that import it, to be imported anew.

    >>> with hidden("ipywidgets"):
    ...     import ipywidgets
    Traceback (most recent call last):
    ModuleNotFoundError: No module named 'ipywidgets'
    """
    find = importlib.machinery.PathFinder.find_spec

    def find_others(name: str, path=None, target=None):
        hides = name.split(".")[0] == package
        return None if hides else find(name, path, target)

    ours = {
        name: sys.modules[name]
        for name in sys.modules
        if name.split(".")[0] == package or name in modules
    }
    for name in ours:
        del sys.modules[name]
    try:
        with mock.patch.object(
            importlib.machinery.PathFinder, "find_spec", find_others
        ):
            yield
    finally:
        sys.modules.update(ours)


@contextlib.contextmanager
def in_a_script() -> Iterator[None]:
    """Let Kauldron take this process for a script, neither a notebook nor a test.

    In those it does without PyGrain's worker processes.

    >>> from etils import epy
    >>> with in_a_script():
    ...     print(epy.is_notebook(), epy.is_test())
    False False
    """
    with (
        mock.patch("etils.epy.is_notebook", lambda: False),
        mock.patch("etils.epy.is_test", lambda: False),
    ):
        yield


@contextlib.contextmanager
def without_paths() -> Iterator[None]:
    """Put an ellipsis for each absolute path in the message of an error of the body.

    A path differs from machine to machine.

    >>> with without_paths():
    ...     raise FileNotFoundError("nothing in /tmp/run.")
    Traceback (most recent call last):
    FileNotFoundError: nothing in ….
    """
    try:
        yield
    except Exception as error:
        error.args = tuple(map(_without_paths, error.args))
        if isinstance(error, ImportError):  # prints this, not its arguments
            error.msg = _without_paths(error.msg)
        raise


def _without_paths(part: object) -> object:
    if not isinstance(part, str):
        return part
    return re.sub(r"(?<![\w.])/[\w.+/-]*[\w/]", "…", part)


def older_runs(what: str) -> str:
    """Return what was recorded of an older Kauldron, as text.

    Args:
      what: what was tried, such as ``check a shape``.

    >>> print(older_runs("import the trainer").splitlines()[1])
    ok
    """
    lines = []
    for run in recorded("older-kauldron")["runs"]:
        names = (name for name in run if name != "results")
        lines.append(", ".join(f"{name} {run[name]}" for name in names))
        lines.append(f"{run['results'][what]}\n")
    return "\n".join(lines).rstrip()
