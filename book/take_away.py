"""Makes of the cells of an executed page those that a reader can take away.

A hidden cell glues the figures of the sentences round it. Taken away, it prints them,
by Python alone: MyST-NB is not needed then, and a reader sees where they come from.
"""

import ast
import copy

import nbformat

from book.transcripts import glued_text

# The page does not show this form of a value: some of it loads scripts from elsewhere.
LEFT_OUT = {"text/html"}
# Progress bars that are switched off, which are nothing without a kernel.
WIDGET = "application/vnd.jupyter.widget-view+json"
FIGURES = "# The figures in the sentences of this section.\n"


def taken(cell: nbformat.NotebookNode, alt: str = "") -> nbformat.NotebookNode:
    """Return a code cell for a notebook that runs without this book.

    Args:
      cell: the cell, as the kernel left it.
      alt: what its picture shows, in words.
    """
    new = nbformat.v4.new_code_cell(printing(cell.source))
    new.execution_count = cell.execution_count
    tags = cell.metadata.get("tags", ())
    if new.source != cell.source:
        new.source = FIGURES + new.source
    new.outputs = outputs(cell, alt)
    hidden = {"hide-input", "hide-cell", "remove-input", "remove-cell"} & set(tags)
    return folded(new) if hidden else new


def folded(cell: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a cell whose code is folded, where a program can fold it."""
    cell.metadata["jupyter"] = {"source_hidden": True}
    return cell


def outputs(cell: nbformat.NotebookNode, alt: str = "") -> list[nbformat.NotebookNode]:
    """Return what the page shows of a cell's outputs, and its figures as printed."""
    found: list[nbformat.NotebookNode] = []
    for output in cell.outputs:
        text = _printed(output)
        if text is None:
            found.append(_shown(output, alt))
        elif text and found and found[-1].output_type == "stream":
            found[-1].text += text
        elif text:
            found.append(nbformat.v4.new_output("stream", name="stdout", text=text))
    return found


def _printed(output: nbformat.NotebookNode) -> str | None:
    """Return what an output prints; '' if nothing is shown, `None` if it is a value."""
    if output.output_type == "stream":
        return output.text if output.name == "stdout" else ""
    if WIDGET in output.get("data", {}):
        return ""
    if output.get("metadata", {}).get("scrapbook"):
        return f"{output.metadata['scrapbook']['name']}: {glued_text(output)}\n"
    return None


def _shown(output: nbformat.NotebookNode, alt: str) -> nbformat.NotebookNode:
    new = copy.deepcopy(output)
    if "data" in new:
        new.data = {k: v for k, v in output.data.items() if k not in LEFT_OUT}
        pictures = [kind for kind in new.data if kind.startswith("image/")]
        new.metadata = {kind: {"alt": alt} for kind in pictures if alt}
    return new


def printing(source: str) -> str:
    r"""Return some code with `print` where it glues.

    >>> print(printing('''from myst_nb import glue
    ...
    ... glue("rate", f"{0.5:.3f}", display=False)'''))
    print("rate", f"{0.5:.3f}", sep=": ")
    """
    edits = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "myst_nb":
            edits.append((node, ""))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "glue":
            key, value = (ast.get_source_segment(source, each) for each in node.args)
            edits.append((node, f'print({key}, {value}, sep=": ")'))
    lines = [line.encode() for line in source.split("\n")]  # columns are counted so
    for node, instead in sorted(edits, key=lambda edit: -edit[0].lineno):
        first, last = node.lineno - 1, node.end_lineno - 1
        before = lines[first][: node.col_offset]
        after = lines[last][node.end_col_offset :]
        lines[first : last + 1] = [before + instead.encode() + after]
    code = b"\n".join(lines).decode()
    return code.lstrip("\n") if edits else source
