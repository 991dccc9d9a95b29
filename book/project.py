"""Reads what `pyproject.toml` says of the project."""

import functools
import tomllib

from book.cells import ROOT


@functools.cache
def project() -> dict:
    """Return the table ``[project]``.

    >>> project()["name"]
    'kauldron-executed'
    """
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
