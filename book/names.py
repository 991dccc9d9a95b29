"""Holds the names in sentences to the libraries: a name that leads nowhere is an error.

A code span of prose that is an expression, such as ``optax.adam`` or
``konfig.resolve(cfg)``, has its dotted names looked up if they begin with a library, or
its usual alias (see book.resolving), and bare public names of Kauldron as well. Two
roles say more about a name:

* ``{field}`Trainer.model` `` is a field, a parameter or another member of its owner; a
  leading ``~`` shows only the last part, and ``()`` or ``=value`` may follow.
* ``{absent}`kd.metrics.min_field` `` does not exist, and has to go on not existing.

What the pages say and run is kept per page, for the page that lists all names. The
names are looked up when all pages have been read, at once.
"""

import ast
import builtins
import dataclasses
import pathlib
import re
import types
from collections.abc import Iterator, Mapping

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from book.cells import ROOT
from book.kept import keep, kept
from book.prose import section_of, words
from book.public import bare
from book.resolving import ALIASES, answers

logger = logging.getLogger(__name__)

_NOTHING: Mapping[str, str] = types.MappingProxyType({})
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclasses.dataclass(frozen=True, order=True)
class Use:
    """A name on a page.

    Attributes:
      name: the name in full, such as ``kauldron.kd.train.Trainer``.
      section: the label of the section that it stands in.
    """

    name: str
    section: str


@dataclasses.dataclass
class Page:
    """The names of a page.

    Attributes:
      asked: what is to be looked up, as line and question to `book.resolving`.
      said: the names of Kauldron that its sentences mention.
      ran: the names of Kauldron in code that it shows and runs.
    """

    asked: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    said: set[Use] = dataclasses.field(default_factory=set)
    ran: set[Use] = dataclasses.field(default_factory=set)


class NameRole(SphinxRole):
    """Shows a name as code, and keeps what is said of it."""

    def run(self):
        """Return the code span; its text is the name that readers see."""
        full = self.text.removeprefix("~")
        name, _, _ = full.removesuffix("()").partition("=")
        node = nodes.literal(self.rawtext, full)
        if not _DOTTED.fullmatch(name):
            logger.warning(
                "{%s} takes a name, such as Owner.name, not %r",
                self.name,
                self.text,
                location=self.get_location(),
                type="book",
                subtype="name",
            )
            return [node], []
        if self.text.startswith("~"):
            node[:] = [nodes.Text(full[name.rfind(".") + 1 :])]
        node["book_name"] = f"{self.name} {name}"
        return [node], []


def read(page: str, doctree: nodes.document) -> Page:
    """Return the names of a page that has been read."""
    found = Page()
    bound = imports(doctree)
    for block in doctree.findall(nodes.literal_block):
        section = section_of(block) or page
        found.ran |= {Use(name, section) for name in _run_by(block, bound)}
    # `resolve` in a sentence is `konfig.resolve` where the page's code has that, and
    # no other name that ends so.
    ran: dict[str, set[str]] = {}
    for use in found.ran:
        ran.setdefault(use.name.rpartition(".")[2], set()).add(use.name)
    for span in words(doctree):
        if span.kind != "code":
            continue
        if said := marked(span.node.parent):
            questions = [said]
        else:
            questions = [f"name {name}" for name in names_in(span.text, bound)]
        for question in questions:
            kind, name = question.split()
            # What a cell imports it has looked up, and the table of aliases is tested.
            if said or (name not in bound and name not in ALIASES):
                found.asked.append((span.line, question))
            if kind != "absent" and (full := _full(name, bound)):
                found.said.add(Use(full, span.section or page))
        if not questions and len(ran.get(span.text, ())) == 1:
            (full,) = ran[span.text]
            found.said.add(Use(full, span.section or page))
    return found


def marked(node: nodes.Node) -> str:
    """Return what a role says of a code span; '' if it is an ordinary one."""
    return node.get("book_name", "") if isinstance(node, nodes.Element) else ""


def names_in(text: str, bound: Mapping[str, str] = _NOTHING) -> list[str]:
    """Return the names in a code span that lead into a library, if it is an expression.

    Args:
      text: the code span.
      bound: what the page's cells import.

    >>> names_in('kt.PyTree[kt.Float["b"]]'), names_in("batch.image")
    (['kt.PyTree', 'kt.Float'], [])
    >>> names_in("AutoState()"), names_in("not an expression")
    (['AutoState'], [])
    """
    tree = expression(text)
    if tree is None:
        return []
    return [name for name in _chains(tree) if _leads_into_a_library(name, bound)]


def expression(text: str) -> ast.expr | None:
    """Return a code span as an expression of Python; `None` if it is none."""
    code = " ".join(text.split()).removeprefix("@").replace("…", "...")
    try:
        return ast.parse(code, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def is_all_names(text: str, bound: Mapping[str, str] = _NOTHING) -> bool:
    """Tell whether a code span is nothing but names that are looked up.

    Strings, an ellipsis and names of Python's own may stand between them.

    >>> is_all_names("kd.train.Trainer()"), is_all_names("konfig.resolve(cfg)")
    (True, False)
    >>> is_all_names("tuple[…]")
    True
    """
    tree = expression(text)
    if tree is None or isinstance(tree, ast.Constant):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, int | float):
                return False
        elif not isinstance(node, _PARTS):
            return False
    return all(
        _leads_into_a_library(name, bound) or hasattr(builtins, name)
        for name in _chains(tree)
    )


_PARTS = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Call,
    ast.Tuple,
    ast.expr_context,
)


def _leads_into_a_library(name: str, bound: Mapping[str, str]) -> bool:
    first = name.split(".")[0]
    if first in bound:
        return bound[first].split(".")[0] in ALIASES
    if first in ALIASES:
        return True
    # A bare `step` or `shape` may be anything; `Trainer` and `get_by_path` may not.
    # One that is public in two modules is left to book.quotes.
    return bool(bare().get(first)) and (first[0].isupper() or "_" in first)


def _chains(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names in some code, each in full.

    >>> list(_chains(ast.parse("a.b(c).d[e.f]")))
    ['a.b', 'c', 'e.f']
    """
    dotted = ast.unparse(tree) if isinstance(tree, ast.Name | ast.Attribute) else ""
    if _DOTTED.fullmatch(dotted):
        yield dotted
        return
    for child in ast.iter_child_nodes(tree):
        yield from _chains(child)


def _full(name: str, bound: Mapping[str, str]) -> str | None:
    """Return the full name of what a sentence calls by `name`, if it is Kauldron's."""
    first, *rest = name.split(".")
    start = bound.get(first) or ALIASES.get(first)
    if start is None and bare().get(first):
        head, *between = bare()[first].split(".")
        start = ".".join([ALIASES[head], *between])
    full = ".".join([start, *rest]) if start else ""
    return full if full.startswith("kauldron.") else None


def imports(doctree: nodes.document) -> dict[str, str]:
    """Return what the names stand for that the page's cells import."""
    bound = {}
    for block in doctree.findall(nodes.literal_block):
        if _is_cell(block):
            bound |= _imports(block.astext())
    return bound


def _run_by(block: nodes.literal_block, bound: Mapping[str, str]) -> set[str]:
    """Return the names of Kauldron in a block of code that is run.

    A snippet that is included has the imports of its file. It is run by the cells, if
    one of them imports from it.
    """
    source = pathlib.Path(block.get("source") or "")
    if source.parent == ROOT / "snippets":
        module = f"snippets.{source.stem}"
        if not any(f"{full}.".startswith(f"{module}.") for full in bound.values()):
            return set()
        bound = _imports(source.read_text("utf-8"))
    elif not _is_cell(block):
        return set()
    try:
        tree = ast.parse(block.astext())
    except SyntaxError:
        return set()
    found = set()
    for name in _chains(tree):
        first = name.split(".")[0]
        if full := _full(name, {first: bound.get(first, "no")}):
            found.add(full)
    return found


def _is_cell(block: nodes.Node) -> bool:
    parent = block.parent
    return isinstance(parent, nodes.container) and (
        parent.get("nb_element") == "cell_code_source"
    )


def _imports(code: str) -> dict[str, str]:
    """Return what each name stands for that some code binds by an import.

    >>> _imports("from kauldron import kd, konfig as k\\nimport jax.numpy as jnp")
    {'kd': 'kauldron.kd', 'k': 'kauldron.konfig', 'jnp': 'jax.numpy'}
    """
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return {}
    bound = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                bound[alias.asname or first] = alias.name if alias.asname else first
    return bound


def pages_of(env) -> dict[str, Page]:
    """Return the names of all pages that Sphinx knows."""
    return kept(env, "names")


def note(app, doctree: nodes.document) -> None:
    """Keep the names of a page that has been read."""
    keep(app.env, "names", read(app.env.docname, doctree))


def check(app, env) -> None:
    """Warn for each name that leads nowhere, or that should and does not."""
    pages = pages_of(env)
    found = answers({question for page in pages.values() for _, question in page.asked})
    for docname, page in sorted(pages.items()):
        for line, question in page.asked:
            if found[question]:
                logger.warning(
                    "%s; %s",
                    found[question],
                    _ADVICE[question.split()[0]],
                    location=(docname, line),
                    type="book",
                    subtype="name",
                )


_ADVICE = {
    "name": "correct it, or mark it as {field} or {absent}",
    "field": "correct it, or name another owner",
    "absent": "mark it no longer as {absent}, and read the sentence again",
}


def setup(app):
    """Add the roles, and connect to the reading of each page and of all."""
    for name in ("field", "absent"):
        app.add_role(name, NameRole())
    app.connect("doctree-read", note)
    app.connect("env-updated", check)
    return {
        "env_version": 2,  # of what is kept per page
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }


if __name__ == "__main__":
    from book.names_page import main

    main()
