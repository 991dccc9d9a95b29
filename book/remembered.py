"""Remembers, from one build to the next, what a function gave for some texts.

For work at the end of every build that comes out the same unless a page has changed. It
stands with Sphinx's parsed pages, and goes when they go.
"""

import hashlib
import pathlib
import pickle
from collections.abc import Callable


class Remembered:
    """Calls functions whose result depends on their arguments alone.

    Args:
      path: the file in which results are kept.
      code: of the functions; other code has other results.
    """

    def __init__(self, path: pathlib.Path, code: bytes):
        self._path, self._code = path, code
        try:
            self._before = pickle.loads(path.read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError):  # none, or cut off
            self._before = {}
        self._now: dict[str, object] = {}

    def __call__(self, function: Callable, *arguments):
        """Return what the function gives, without calling it if that is known.

        Args:
          function: to call.
          *arguments: texts, lists and sets of texts.
        """
        told = [sorted(a) if isinstance(a, set) else a for a in arguments]
        key = hashlib.sha256(self._code + repr((function.__name__, told)).encode())
        name = key.hexdigest()
        if name not in self._now:
            known = name in self._before
            self._now[name] = self._before[name] if known else function(*arguments)
        return self._now[name]

    def save(self) -> None:
        """Keep what was asked for in this build, and nothing older."""
        if self._now.keys() != self._before.keys():
            new = self._path.with_suffix(".new")
            new.write_bytes(pickle.dumps(self._now))
            new.replace(self._path)
