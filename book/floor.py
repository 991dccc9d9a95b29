"""Runs the cells of all pages in one plain process: the least that a build can take.

    python -m book.floor < cells.json

Nothing starts a kernel, looks at a value or renders a page, and what is imported is
imported once. `book.bench_builds` compares builds with it.
"""

import json
import os
import sys
import tempfile
import types


def run(cells: list[tuple[str, bool]]) -> None:
    """Run the cells of a page in a fresh module, in a folder of their own.

    Args:
      cells: their code, each with whether it may raise.

    Raises:
      Exception: what a cell raises that may not.
    """
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        os.chdir(folder)
        for source, may_raise in cells:
            try:
                exec(compile(source, "cell", "exec"), vars(module))
            except Exception:
                if not may_raise:
                    raise
        os.chdir("/")


if __name__ == "__main__":
    for name, cells in json.load(sys.stdin).items():
        print(name, file=sys.stderr)  # the last one is to blame
        run(cells)
