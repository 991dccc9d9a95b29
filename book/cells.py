"""Reads the code cells of a page, as the build sees them.

The build, the report of a failing cell and the tests all take their cells from
here. MyST-NB's own reader finds them, because a second parser would sooner or
later disagree with it on which blocks are cells (Sybil's passes over a cell with
``ipython3``, a trailing space or ``:::`` in silence).
"""

import ast
import dataclasses
import functools
import pathlib
import re
from collections.abc import Iterator

from markdown_it.renderer import RendererHTML
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from book.verdict import disagreements, imports

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

_RECORDED = re.compile(r"""\brecorded\(["']([\w-]+)["']\)""")
_PRINTED = re.compile(r"""\bprinted\(\s*["']([\w-]+)["']""")
_MODULE = re.compile(r"(?:snippets|book)(?:\.\w+)+")
# Directives that show what stands in them as it is.
_LITERAL = ("{code", "{literalinclude", "{parsed-literal", "{raw", "{math")
_OPTION = re.compile(r"^\s*:[\w-]+:.*$")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell:
    """A code cell of a page.

    Attributes:
      line: the line of the page on which the code begins, counted from 1.
      source: the code, without the fence and the cell's options.
      tags: the cell's tags, such as ``remove-cell``.
    """

    line: int
    source: str
    tags: tuple[str, ...] = ()


def pages(docs: pathlib.Path = DOCS) -> list[str]:
    """Return the names of all pages, sorted.

    >>> "refs" in pages()
    True
    """
    return sorted(path.stem for path in docs.glob("*.md"))


def problems(text: str) -> list[tuple[int, str]]:
    """Return what a page must not hold, as lines and messages.

    All of it would be run by one of the two, kernel and pytest, and not by the other.

    >>> problems("# Title\\n")
    []
    """
    if not is_myst_markdown_notebook(text):
        return []
    try:
        notebook = read_myst_markdown_notebook(text, add_source_map=True)
    except Exception as error:  # of the front matter, or of a cell's options
        return [(1, f"cannot be read: {error}")]
    found = [
        (line, "a cell inside of something, where nothing runs it; move it out")
        for line in _nested_cells(text)
    ]
    if "mystnb" in notebook.metadata:
        found.append((1, "`mystnb` in the front matter: book.execution runs the pages"))
    asked = notebook.metadata.get("environment", {})
    if not isinstance(asked, dict) or not all(
        isinstance(value, str) for value in asked.values()
    ):
        found.append((1, "`environment` in the front matter: names and strings"))
    kernel = notebook.metadata.get("kernelspec", {}).get("name", "python3")
    if kernel != "python3":
        found.append((1, f"a kernel {kernel!r}, which no one else has, not 'python3'"))
    lines = text.split("\n")
    imported: set[str] = set()
    for cell, after_fence in zip(
        notebook.cells, notebook.metadata.source_map, strict=True
    ):
        if cell.cell_type == "raw":
            found.append((after_fence, "a raw cell, which nothing runs"))
        if cell.cell_type != "code":
            continue
        fence = lines[after_fence - 1].strip()
        if fence != "```{code-cell} python":
            found.append(
                (
                    after_fence,
                    f"a cell begins with ```{{code-cell}} python, not {fence}",
                )
            )
        if "load" in cell.metadata:
            found.append((after_fence, "a cell holds its code itself; `load` hides it"))
        if "skip-execution" in cell.metadata.get("tags", ()):
            found.append((after_fence, "a cell that nothing runs"))
        if not cell.source.strip():
            found.append((after_fence, "an empty cell"))
        first = _first_line(lines, after_fence)
        for line, message in disagreements(cell.source, imported):
            found.append((first + line - 1, message))
        imported |= imports(cell.source)
    return sorted(found)


def _nested_cells(text: str, offset: int = 0) -> Iterator[int]:
    """Yield the lines of cells that MyST-NB's reader passes over.

    They stand in a list, a quotation, another directive, or behind colons.

    Args:
      text: the page, or what stands in a directive.
      offset: how many lines of the page stand before it.
    """
    settings = MdParserConfig(
        enable_extensions={"colon_fence", "deflist"}, disable_syntax=["inline"]
    )
    depth = 0
    for token in create_md_parser(settings, RendererHTML).parse(text + "\n"):
        depth += token.nesting
        if token.type not in ("fence", "colon_fence"):
            continue
        line = offset + token.map[0] + 1
        if token.info.startswith(("{code-cell}", "{raw-cell}")):
            if offset or depth or token.type == "colon_fence":
                yield line
        elif token.info.startswith("{") and not token.info.startswith(_LITERAL):
            yield from _nested_cells(token.content, line)


@functools.cache
def environment_of(text: str) -> dict[str, str]:
    r"""Return the variables that a page asks for, beside those of all pages.

    They stand in its front matter, under ``environment``. Such a page gets a kernel
    that is started anew, since JAX reads them only once.

    >>> flags = "--xla_force_host_platform_device_count=8"
    >>> front = "---\nfile_format: mystnb\nenvironment:\n  XLA_FLAGS: {}\n---\n\n"
    >>> environment_of(front.format(flags)) == {"XLA_FLAGS": flags}
    True
    >>> environment_of("# Title\n")
    {}
    """
    if not is_myst_markdown_notebook(text):
        return {}
    return dict(read_myst_markdown_notebook(text).metadata.get("environment", {}))


@functools.cache
def cells_of_text(text: str) -> tuple[Cell, ...]:
    r"""Return the code cells of a page's text, in order.

    >>> front = "---\nfile_format: mystnb\n---\n\n"
    >>> cells_of_text(front + "```{code-cell} python\n:tags: [x]\n\n1 + 1\n```\n")
    (Cell(line=8, source='1 + 1', tags=('x',)),)

    A text without the front matter of a notebook has none, whatever it holds:
    the build would not run them either.
    """
    if not is_myst_markdown_notebook(text):
        return ()
    notebook = read_myst_markdown_notebook(text, add_source_map=True)
    lines = text.split("\n")  # as editors count them; a form feed is no new line
    found = []
    for cell, after_fence in zip(
        notebook.cells, notebook.metadata.source_map, strict=True
    ):
        if cell.cell_type != "code":
            continue
        tags = tuple(cell.metadata.get("tags", ()))
        found.append(
            Cell(
                line=_first_line(lines, after_fence), source=str(cell.source), tags=tags
            )
        )
    return tuple(found)


def cells(page: str, docs: pathlib.Path = DOCS) -> tuple[Cell, ...]:
    """Return the code cells of a page, in order.

    >>> cells("refs")[0].source.splitlines()[0]
    'from kauldron import konfig'
    """
    return cells_of_text((docs / f"{page}.md").read_text("utf-8"))


def is_snippet(source: str) -> bool:
    """Tell whether a file is a module whose examples are run.

    >>> is_snippet(str(ROOT / "snippets" / "refs.py")), is_snippet("docs/refs.md")
    (True, False)
    """
    return pathlib.Path(source).parent == ROOT / "snippets"


def made_from(sources: list[str], root: pathlib.Path = ROOT) -> set[pathlib.Path]:
    """Return the files that some code depends on, directly or through others.

    These are the modules of the project that it imports, the records that it reads by
    ``recorded("name")``, and the transcripts that it quotes by ``printed("page", …)``.

    >>> sorted(path.name for path in made_from(["from snippets.konfig import diff"]))
    ['__init__.py', 'konfig.py']
    """
    found: set[pathlib.Path] = set()
    waiting = list(sources)
    while waiting:
        source = waiting.pop()
        for record in _RECORDED.findall(source):
            found.add(root / "snippets" / "recorded" / f"{record}.json")
        for page in _PRINTED.findall(source):
            found.add(root / "tests" / "transcripts" / f"{page}.txt")
        for name in _imports(source):
            path = root.joinpath(*name.split("."))
            for file in (path.with_suffix(".py"), path / "__init__.py"):
                if file.is_file() and file not in found:
                    found.add(file)
                    waiting.append(file.read_text("utf-8"))
    # What is not there cannot change; whoever asks for it says so when it runs.
    return {path for path in found if path.is_file()}


def _imports(source: str) -> set[str]:
    """Name every module of ours that could be meant in `source`.

    That is by an import, or by a string that is a module's name: `python -m` takes one.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:  # the run will say so, with the line
        return set()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and _MODULE.fullmatch(str(node.value)):
            names.add(node.value)
    ours = {name for name in names if name.split(".")[0] in ("snippets", "book")}
    return ours | {name.split(".")[0] for name in ours}


def _first_line(lines: list[str], after_fence: int) -> int:
    """Return the line, counted from 1, of a cell's first line of code.

    Args:
      lines: the lines of the page.
      after_fence: the index of the line behind the opening fence.
    """
    at = after_fence
    if lines[at].strip() == "---":  # options as a YAML block
        at = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == "---") + 1
    else:
        while _OPTION.match(lines[at]):
            at += 1
    while at + 1 < len(lines) and not lines[at].strip():
        at += 1
    return at + 1
