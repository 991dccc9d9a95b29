"""Copies the repository, to edit and build the copy instead."""

import pathlib
import shutil

from book.cells import ROOT

# What was made in the repository, and is made anew.
MADE = (".venv", ".tools", "_build", "__pycache__", ".*_cache", ".hypothesis")


def copy(folder: pathlib.Path, *left_out: str) -> None:
    """Copy the repository into a folder that does not exist yet.

    Args:
      folder: of the copy.
      left_out: patterns of names that are not wanted either, such as ``.git``.
    """
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*MADE, *left_out))
