"""Small pages of the tests, and what their cells print."""

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
