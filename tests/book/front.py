"""Small pages of the tests, and what their cells print."""

import pathlib

FRONT = """---
jupytext:
  text_representation:
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

"""

# The least of it.
BARE = "---\njupytext:\n  text_representation:\n    format_name: myst\n---\n\n"


def page(*cells: str) -> str:
    """Return a page of these cells."""
    return FRONT + "\n".join(
        f"```{{code-cell}} python\n{code}\n```\n" for code in cells
    )


def texts(notebook) -> list[str]:
    """Return what each cell of a notebook has printed."""
    return [
        "".join(output.get("text", "") for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def small_project(pytester, root: pathlib.Path, text: str) -> None:
    """Let pytest find one page, as `docs/page.md`, by the book's own set-up."""
    page = pytester.path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(text, "utf-8")
    pytester.makeini("[pytest]\naddopts = -p no:doctest -p no:cacheprovider")
    elsewhere = f"documents.pages.path = pathlib.Path({str(page.parent)!r})\n"
    text = (root / "conftest.py").read_text("utf-8")
    text = text.replace("pytest_collect_file", elsewhere + "pytest_collect_file", 1)
    (pytester.path / "conftest.py").write_text(text, "utf-8")
