"""Holds the snippets to their purpose: a page shows or imports each, and tests run it.

Code that no page uses any more would be kept up for nobody, and code that a page shows
and nothing runs may be wrong. Each is a warning with file and line, and the build fails
on warnings.
"""

import ast
import functools
import pathlib
import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.util import logging

from book.cells import DOCS, ROOT, cells, pages

logger = logging.getLogger(__name__)

SNIPPETS = ROOT / "snippets"
# A module, and a class or function at its top level.
Name = tuple[str, str]


def check_shown(app, doctree: nodes.document) -> None:
    """Warn for each snippet that a page shows and that no test runs."""
    for block in doctree.findall(nodes.literal_block):
        path = pathlib.Path(block.get("source", ""))
        if path.parent != SNIPPETS:
            continue
        unrun = [
            name
            for name in shown(path.read_text("utf-8"), block.astext())
            if (path.stem, name) not in run_by_pytest()
        ]
        if unrun:
            message = f"no test runs {unrun[0]!r} of snippets/{path.name}; write one"
            logger.warning(message, location=block, type="book", subtype="snippet")


def check_used(app, env) -> None:
    """Warn for each snippet module that no page shows or imports."""
    if app.config.include_patterns != ["**"]:  # one page alone
        return
    used = {
        pathlib.Path(app.srcdir, path).resolve()
        for paths in env.dependencies.values()
        for path in paths
    }
    for path in unused(SNIPPETS, used):
        message = "no page shows or imports this module; use it, or remove it"
        where = f"{path.relative_to(ROOT)}:1"
        logger.warning(message, location=where, type="book", subtype="snippet")


def unused(folder: pathlib.Path, used: set[pathlib.Path]) -> list[pathlib.Path]:
    """Return the modules of a folder that are not among those used."""
    return sorted(
        p for p in folder.glob("*.py") if p.stem != "__init__" and p not in used
    )


def shown(source: str, text: str) -> list[str]:
    r"""Return the functions and classes of a module that a block of its code is of.

    Args:
      source: the module.
      text: the block; indented otherwise than in the module, if it is a method.

    >>> shown("class A:\n  def f(): ...\ndef g(): ...\n", "def f(): ...")
    ['A']
    """
    lines = [line.strip() for line in source.splitlines()]
    wanted = [line.strip() for line in text.strip().splitlines()]
    starts = range(len(lines) - len(wanted) + 1)
    found = [at for at in starts if lines[at : at + len(wanted)] == wanted]
    # A block that was changed on the way could be of any.
    first, last = (found[0] + 1, found[0] + len(wanted)) if found else (1, len(lines))
    return [
        top.name
        for top in ast.parse(source).body
        if isinstance(top, ast.ClassDef | ast.FunctionDef)
        and top.lineno <= last
        and top.end_lineno >= first
    ]


@functools.cache
def run_by_pytest() -> set[Name]:
    """Return the functions and classes of the snippets that pytest runs.

    Those are the ones that a test, a cell, a claim or an example in a docstring names,
    and those that these name in turn.
    """
    uses = dict(_definitions())
    waiting = {name for source in _sources() for name in _named(source, uses)}
    found: set[Name] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= {other for other in uses[name] if other in uses}
    return found


def _definitions() -> Iterator[tuple[Name, set[Name]]]:
    """Yield what the snippets define at top level, and what each definition names."""
    for path in SNIPPETS.glob("*.py"):
        source = path.read_text("utf-8")
        modules = {path.stem} | _modules(source)
        for top in ast.parse(source).body:
            if isinstance(top, ast.ClassDef | ast.FunctionDef):
                inner = list(ast.walk(top))
                words = {n.id for n in inner if isinstance(n, ast.Name)}
                words |= {n.attr for n in inner if isinstance(n, ast.Attribute)}
                yield (path.stem, top.name), {(m, w) for m in modules for w in words}


def _sources() -> Iterator[str]:
    """Yield the code that pytest runs: of a page, of a test module, the examples."""
    for page in pages(DOCS):
        text = (DOCS / f"{page}.md").read_text("utf-8")
        claims = re.findall(r"^% (?!invisible)(.*)$", text, re.M)
        yield "\n".join([*(cell.source for cell in cells(page)), *claims])
    for path in (ROOT / "tests").glob("**/*.py"):
        yield path.read_text("utf-8")
    for path in SNIPPETS.glob("*.py"):
        text = path.read_text("utf-8")
        examples = re.findall(r"^ *(?:>>>|\.\.\.) (.*)$", text, re.M)
        # A page runs a module that is a program with `python -m`.
        program = text.partition("\nif __name__ ==")[2]
        yield "\n".join([f"from snippets.{path.stem} import *", program, *examples])


def _named(source: str, defined: dict[Name, set[Name]]) -> set[Name]:
    """Return the definitions that some code names, of the modules that it imports."""
    words = re.findall(r"\w+", source)
    return {(m, w) for m in _modules(source) for w in words} & set(defined)


def _modules(source: str) -> set[str]:
    """Return the snippet modules that some code imports itself, without `snippets.`."""
    # Line by line: examples are cut out of docstrings, and do not parse as a whole.
    found = re.findall(r"^ *(?:from|import) snippets\.(\w+)", source, re.M)
    several = r"^ *from snippets import ([^(\n]+|\([^)]*\))"
    for names in re.findall(several, source, re.M):
        found += re.findall(r"\w+", names.replace(" as ", ", "))
    return set(found)


def setup(app):
    """Connect to the reading of each page, and to the moment when all are read."""
    app.connect("doctree-read", check_shown)
    app.connect("env-check-consistency", check_used)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
