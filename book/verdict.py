"""Finds code on which kernel and pytest would not agree.

Each cell is run twice: by a kernel, for the page, and by pytest. What only one of them
knows, or what means something else to the other, would pass in one and fail in the
other, or be shown and never tested. So a page does without.
"""

import ast
import re
from collections.abc import Collection, Iterator

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

NOT_RAISED = "the cell is tagged raises-exception, and raised nothing"

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_FILTERS = ("warnings.simplefilter", "warnings.filterwarnings")
_WAITING = (ast.Await, ast.AsyncFor, ast.AsyncWith)

# Names that a kernel gives to cells, or answers otherwise than Python does.
_OF_THE_KERNEL = {
    "In": "number the cells yourself, or do without",
    "Out": "give the value a name",
    "display": "write `from IPython.display import display` above it",
    "get_ipython": "pytest has none",
    "exit": "it ends the kernel; let the cell raise",
    "quit": "it ends the kernel; let the cell raise",
    "input": "nobody is there to answer",
    "breakpoint": "nobody is there to answer",
}


def disagreements(source: str, imported: Collection[str] = ()) -> list[tuple[int, str]]:
    r"""Return what kernel and pytest would treat unlike in a cell.

    Args:
      source: the code of the cell.
      imported: names that the cells before it have imported.

    Returns:
      Lines, counted from 1 for the first line of the cell, and messages.

    >>> disagreements("a = 1\nprint(_)")
    [(2, '`_` is the last output in a kernel only; give the value a name')]
    >>> disagreements("for _ in range(3):\n    print('again')")
    []
    >>> disagreements("a = 1\n%timeit a")
    [(2, 'IPython reads this otherwise than Python does; write plain Python')]

    What is wrong for both is none of these: the run says so.

    >>> disagreements("a = (")
    []
    """
    changed = _changed_by_ipython(source)
    if changed:
        message = "IPython reads this otherwise than Python does; write plain Python"
        return [(changed, message)]
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    own = imports(source) | set(imported)
    return sorted({*_at_top_level(tree), *_names(tree, own), *_calls(tree)})


def silent(notebook: nbformat.NotebookNode) -> list[int]:
    """Return which code cells should have raised and did not, counted from 0.

    A kernel takes the tag `raises-exception` as a permission, pytest as a promise.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        index
        for index, cell in enumerate(cells)
        if "raises-exception" in cell.metadata.get("tags", ())
        and not any(output.output_type == "error" for output in cell.outputs)
    ]


def imports(source: str) -> set[str]:
    r"""Return the names that a cell imports.

    >>> sorted(imports("import numpy as np\nfrom a import b, c as d"))
    ['b', 'd', 'np']
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set()
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def _changed_by_ipython(source: str) -> int:
    """Return the first line that IPython rewrites, counted from 1; 0 if none.

    Magics, ``!``, ``?``, prompts that are cut off, code that is indented as a whole.
    """
    lines = source.rstrip().splitlines()
    read = TransformerManager().transform_cell(source).rstrip().splitlines()
    for number, line in enumerate(lines, 1):
        if number > len(read) or read[number - 1] != line:
            return number
    return 0


def _at_top_level(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield what a kernel allows outside of functions, and Python does not."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _WAITING) or (
            isinstance(node, ast.comprehension) and node.is_async
        ):
            line = getattr(node, "lineno", None) or node.target.lineno
            yield line, "a top-level await, which only a kernel runs; do without"
        # What stands in a function runs when the function is called.
        if not isinstance(node, _FUNCTIONS):
            waiting += ast.iter_child_nodes(node)


def _names(tree: ast.Module, own: set[str]) -> Iterator[tuple[int, str]]:
    """Yield names that are not the same in both, where they are read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            yield node.lineno, "`from __future__` lasts in a kernel only; do without"
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        name = node.id
        if not name.strip("_"):
            yield (
                node.lineno,
                f"`{name}` is the last output in a kernel only; give the value a name",
            )
        elif name in _OF_THE_KERNEL and name not in own:
            why = _OF_THE_KERNEL[name]
            yield node.lineno, f"`{name}` is not the same in pytest; {why}"
        elif re.fullmatch(r"_i+|_i?[0-9]+|_[ido]h", name):
            yield node.lineno, f"`{name}` is a cell of the kernel's; give it a name"


def _calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield calls that depend on what else runs in the process."""
    undone = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        and any("catch_warnings" in ast.unparse(item) for item in node.items)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc:
            what = ast.unparse(node.exc).partition("(")[0]
            if what == "SystemExit":
                yield node.lineno, "`raise SystemExit` ends the kernel; raise another"
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        call = ast.unparse(node.func)
        if call == "asyncio.run" or call.endswith(".run_until_complete"):
            yield node.lineno, f"`{call}` raises in a kernel, where a loop runs already"
        elif call == "sys.exit":
            yield node.lineno, "`sys.exit` ends the kernel; let the cell raise"
        elif call in _FILTERS and node not in undone:
            yield (
                node.lineno,
                f"`{call}` lasts in a kernel only, pytest undoes it; write it below "
                "`with warnings.catch_warnings():`",
            )
