"""Reads from the lock which packages, in which versions, some others need.

The lock names for each package those that want it, so that it can be followed from the
packages that are wanted to all that come with them.
"""

import functools
import re
from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from book.cells import ROOT
from book.project import project

# Whoever opens a notebook has these, and it runs in them.
HAS = {"ipykernel", "ipython"}


def pins(lock: str, wanted: Iterable[str], has: Iterable[str] = HAS) -> list[str]:
    r"""Return the lines of a lock, without hashes, that some packages need to run.

    Args:
      lock: as uv has compiled it.
      wanted: the names of the packages.
      has: packages that are there, with all that they need themselves.

    Returns:
      Such as ``jax==0.12.0``; a marker follows where the package is needed only there.

    >>> lock = "a==1 \\\n  # via us\nb==2 ; os_name == 'nt' \\\n  # via\n  #   a\n"
    >>> pins(lock, ["a"])
    ['a==1', "b==2 ; os_name == 'nt'"]
    >>> pins(lock, ["b"]), pins(lock, ["a"], has=["b"])
    (["b==2 ; os_name == 'nt'"], ['a==1'])
    """
    entries = _entries(lock)
    found: set[str] = set()
    waiting = {canonicalize_name(name) for name in wanted} - set(has)
    while waiting:
        found |= waiting
        needed = {name for name, _, by in entries if by & waiting}
        waiting = needed - found - set(has)
    return [line for name, line, _ in entries if name in found]


def _entries(lock: str) -> list[tuple[str, str, set[str]]]:
    """Return for each line of a lock its package, the line, and who wants it."""
    found = []
    for entry in re.split(r"\n(?=[A-Za-z])", lock):
        if entry.startswith("#"):
            continue
        line = entry.split("\n", 1)[0].rstrip(" \\")
        by = entry.partition("# via")[2].replace("#", "").split()
        name = canonicalize_name(Requirement(line).name)
        found.append((name, line, set(by)))
    return found


@functools.cache
def of_the_snippets() -> list[str]:
    """Return what has to be installed to run any code that the book shows.

    >>> "kauldron==1.4.4" in of_the_snippets()
    True
    """
    wanted = [Requirement(line).name for line in project()["dependencies"]]
    return pins((ROOT / "requirements.lock").read_text("utf-8"), wanted)
