"""Shows what the build says to a small page: for the page *how-it-is-checked*."""

import os
import pathlib
import subprocess
import sys
import tempfile

from book.cells import ROOT

_FRONT = "(page)=\n# A page\n"


def complaints(words: str) -> str:
    """Return what the build says to a page of a heading and some words, a line each.

    Args:
      words: Markdown, from the third line of the page on.

    Returns:
      Messages, each with the page's name and the line; '' if there are none.

    Raises:
      RuntimeError: if the build did not run.
    """
    with tempfile.TemporaryDirectory() as folder:
        docs = pathlib.Path(folder, "docs")
        docs.mkdir()
        (docs / "page.md").write_text(_FRONT + words, "utf-8")
        run = subprocess.run(
            [
                *(sys.executable, "-m", "sphinx", "--quiet", "--no-color"),
                *("-b", "dummy", "-c", str(ROOT), str(docs), f"{folder}/out"),
            ],
            cwd=ROOT,
            # One page, without links to others, and no section that wants a claim.
            env=os.environ | {"BOOK_PAGE": "page", "BOOK_REPOSITORY": ""},
            capture_output=True,
            text=True,
        )
    if run.returncode:
        raise RuntimeError(run.stderr)
    lines = run.stderr.replace(f"{docs}/", "").splitlines()
    said = [
        line.replace("WARNING: ", "").split(" [book")[0]
        for line in lines
        if "has no claim" not in line
    ]
    return "\n".join(sorted(said, key=lambda line: int(line.split(":")[1])))
