"""Makes of each page a notebook that runs without this book: ``notebooks/refs.ipynb``.

It is made from the page as it was resolved and from its run, so nothing is executed a
second time: prose as Markdown, cells with their outputs, and cells before them that
write what the page imports. A page whose shown cells import the book's own machinery
has none; it is about this book, and runs in its repository only.
"""

import ast
import hashlib
import pathlib

import nbformat
from docutils import nodes

from book import address, first_cells, former, markdown
from book.as_run import as_run
from book.cells import is_snippet, made_from
from book.take_away import taken

FOLDER = "notebooks"


def notebook(app, page: str, doctree: nodes.document) -> nbformat.NotebookNode | None:
    """Return a page as a notebook; `None` if it can only run in this repository."""
    run = as_run(app, page)
    parts = markdown.parts(doctree, lambda to: address.of_link(app, page, to))
    parts = with_hidden(parts, run)
    sources = {p.cell: run.cells[p.cell].source for p in parts if p.cell is not None}
    if not sources:
        return None
    of_the_book = need_the_book(sources)
    if any("remove-cell" not in tags(run.cells[i]) for i in of_the_book):
        return None
    # The figures of these are of other pages; the sentences have them.
    parts = [part for part in parts if part.cell not in of_the_book]
    kept = [source for i, source in sources.items() if i not in of_the_book]
    # A page can also run a module that it shows, as a program.
    kept += [f"import {module}" for module in included(doctree)]
    title = markdown.escaped(doctree.next_node(nodes.title).astext())
    cells = [
        first_cells.origin(
            book=app.config.project,
            title=f"[{title}]({address.of_page(app, page)})",
            versions=app.config.book_versions,
            commit=app.config.book_commit,
        ),
        first_cells.write(made_from(kept)),
        first_cells.prepare(run.metadata.get("environment", {})),
        *_cells(parts, run),
    ]
    known = "kernelspec", "language_info"
    metadata = {name: run.metadata[name] for name in known if name in run.metadata}
    return nbformat.v4.new_notebook(cells=_with_ids(cells), metadata=metadata)


def tags(cell: nbformat.NotebookNode) -> list[str]:
    """Return the tags of a cell."""
    return cell.metadata.get("tags", [])


def need_the_book(sources: dict[int, str]) -> set[int]:
    """Return the cells that import this book's machinery, or use what those made.

    Args:
      sources: the code of the cells of a page, in order, by their place.

    >>> need_the_book({1: "from book import store\\nkept = store", 2: "x = kept"})
    {1, 2}
    >>> need_the_book({1: "import snippets.refs", 2: "kept = 1"})
    set()
    """
    found, made = set(), set()
    for place, source in sources.items():
        binds, uses = _names(source)
        if "book" in uses or made & (uses - binds):
            found.add(place)
            made |= binds
        else:
            made -= binds
    return found


def _names(source: str) -> tuple[set[str], set[str]]:
    """Return the names that some code binds, and those that it uses or imports from."""
    binds, uses = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            (uses if isinstance(node.ctx, ast.Load) else binds).add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
            uses |= {module.partition(".")[0] for module in modules}
            binds |= {a.asname or a.name.partition(".")[0] for a in node.names}
    return binds, uses


def included(doctree: nodes.document) -> set[str]:
    """Return the modules of snippets of which a page shows some code."""
    blocks = doctree.findall(nodes.literal_block)
    shown = {block.get("source", "") for block in blocks}
    return {f"snippets.{pathlib.Path(s).stem}" for s in shown if is_snippet(s)}


def with_hidden(
    parts: list[markdown.Part], run: nbformat.NotebookNode
) -> list[markdown.Part]:
    """Return the parts of a page with the cells that it hides, each in its place."""
    shown = {part.cell for part in parts}
    parts = list(parts)
    for i, cell in enumerate(run.cells):
        if cell.cell_type == "code" and i not in shown:
            line = run.metadata.source_map[i]
            behind = (at for at, part in enumerate(parts) if part.line > line)
            hidden = markdown.Part(line=line, cell=i)
            parts.insert(next(behind, len(parts)), hidden)
    return parts


def _cells(
    parts: list[markdown.Part], run: nbformat.NotebookNode
) -> list[nbformat.NotebookNode]:
    """Return the parts as cells; a section begins a new one."""
    cells: list[nbformat.NotebookNode] = []
    for part in parts:
        if part.cell is not None:
            cell = run.cells[part.cell]
            image = cell.metadata.get("mystnb", {}).get("image", {})
            cells.append(taken(cell, image.get("alt", "")))
        elif not part.label and cells and cells[-1].cell_type == "markdown":
            cells[-1].source += f"\n\n{part.text}"
        else:
            cells.append(nbformat.v4.new_markdown_cell(part.text))
    return cells


def _with_ids(cells: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Give each cell an id that depends on what it says, so that builds are alike."""
    seen: dict[str, int] = {}
    for cell in cells:
        seen[cell.source] = seen.get(cell.source, 0) + 1
        text = f"{seen[cell.source]} {cell.cell_type} {cell.source}"
        cell.id = hashlib.sha256(text.encode()).hexdigest()[:12]
    return cells


def write(app, page, template, context, doctree) -> None:
    """Write the notebook of a page, and tell the page's template where it is."""
    if doctree is None or page not in app.env.found_docs:
        return
    path = pathlib.Path(app.outdir, FOLDER, f"{page}.ipynb")
    made = notebook(app, page, doctree)
    if made is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(exist_ok=True)
    path.write_text(nbformat.writes(made, version=nbformat.NO_CONVERT) + "\n", "utf-8")
    context["book_notebook"] = f"{FOLDER}/{page}.ipynb"
    if app.config.book_colab:
        context["book_colab"] = f"{app.config.book_colab}/{page}.ipynb"


def finish(app, exception) -> None:
    """Remove the notebooks of pages that are gone, but for those that have moved."""
    if exception is None and app.builder.format == "html":
        kept = former.copies(app, pathlib.Path(app.outdir, FOLDER), ".ipynb")
        for path in pathlib.Path(app.outdir, FOLDER).glob("*.ipynb"):
            if path.stem not in app.env.found_docs | kept:
                path.unlink()


def setup(app):
    """Connect to the writing of each page, and to the end of the build."""
    app.setup_extension("book.as_run")
    app.add_config_value("book_colab", "", "html")
    app.connect("html-page-context", write)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
