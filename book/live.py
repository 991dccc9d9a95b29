"""Serves the book while it is edited, and rebuilds on every save: ``make live``.

sphinx-autobuild does the work. All its builds fork their kernels from one process that
has imported everything, so that an edited cell costs its own time.
"""

import pathlib
import shutil
import subprocess
from collections.abc import Sequence

from sphinx_autobuild import __main__ as autobuild
from sphinx_autobuild import build
from sphinx_autobuild.utils import show_message

from book import environment, warm

DOCTREES = pathlib.Path("_build", "live", "doctrees")
ARGUMENTS = (
    *("--host", "127.0.0.1", "--port", "0", "--open-browser"),
    *("--watch", "snippets", "--watch", "book", "--watch", "conf.py"),
    *("--watch", "requirements.lock", "--ignore", "*/__pycache__/*"),
    *("--quiet", "-c", ".", "-d", str(DOCTREES), "docs", "_build/live/html"),
)


class Builder(build.Builder):
    """Builds as sphinx-autobuild does, and from nothing when that is needed."""

    def __call__(self, *, changed_paths: Sequence[pathlib.Path]) -> None:
        """Build, and say why if it is more than what was edited."""
        names = {path.name for path in changed_paths}
        if "requirements.lock" in names:
            show_message("requirements.lock has changed: all pages run again.")
            if subprocess.run(["make", "--silent", ".venv/.complete"]).returncode:
                return  # the set-up has said why; a build would be with what was there
        if "conf.py" in names:
            show_message("conf.py has changed: all pages are rendered again.")
            shutil.rmtree(DOCTREES, ignore_errors=True)
        super().__call__(changed_paths=changed_paths)


def main() -> None:
    """Serve until Ctrl-C."""
    environment.prepare()
    autobuild.Builder = Builder
    with warm.shared_process():
        autobuild.main(ARGUMENTS)


if __name__ == "__main__":
    main()
