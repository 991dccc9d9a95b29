"""Reads what a page says in words, from the page as Sphinx has parsed it.

The checks of numbers, names and quotations take their words from here. They look at
the parsed page, not at its source: a table cell, a caption in a directive and a
sentence over three lines are then one thing each, and a cell's code is none of them.
"""

import dataclasses
from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes

from book.cells import is_snippet


@dataclasses.dataclass(frozen=True, kw_only=True)
class Words:
    """Some words of a page that stand together.

    Attributes:
      line: the line of the page on which they begin, counted from 1.
      kind: ``text``, ``heading``, ``caption``, ``table cell``, ``alt text`` (of a
        picture; also what a link shows when it is pointed at) or ``code`` (a code span;
        its words are no one else's).
      text: the words.
      section: the label of the section that they stand in.
      node: where they stand in the parsed page.
    """

    line: int
    kind: str
    text: str
    section: str
    node: nodes.Node


def words(doctree: nodes.document) -> Iterator[Words]:
    """Yield all words of a page that a reader reads, in order.

    Code, outputs and comments are left out, and so is whatever is pasted from the run:
    those are no words of ours.
    """
    for node in doctree.findall():
        if isinstance(node, nodes.Text):
            if not _is_no_prose(node):
                yield _words(node, _kind(node), node.astext())
            continue
        if isinstance(node, addnodes.toctree):
            titles = (title for title, page in node["entries"] if title)
            for text in (node.get("caption"), *titles):
                if text:
                    yield _words(node, "caption", text)
        elif isinstance(node, nodes.Element):
            for attribute in ("alt", "title", "reftitle", "explanation"):
                if isinstance(node.get(attribute), str) and node[attribute]:
                    yield _words(node, "alt text", node[attribute])


def shown(doctree: nodes.document) -> str:
    """Return all code and output that a page shows, as text."""
    return "\n".join(block.astext() for block in doctree.findall(nodes.literal_block))


def has_run(block: nodes.literal_block) -> bool:
    """Tell whether a block is a cell, its output, or included from a snippet.

    What else a page shows, such as a command line, was typed.
    """
    return of_a_cell(block) or is_snippet(block.get("source", ""))


def of_a_cell(node: nodes.Node) -> bool:
    """Tell whether a node is, or stands in, the code or the output of a cell."""
    return any("nb_element" in parent for parent in (node, *parents(node)))


def _words(node: nodes.Node, kind: str, text: str) -> Words:
    return Words(
        line=line_of(node), kind=kind, text=text, section=section_of(node), node=node
    )


def _is_no_prose(node: nodes.Node) -> bool:
    """Tell whether a text is code, an output, pasted, a comment or Sphinx's message."""
    kinds = (
        nodes.literal_block,
        nodes.comment,
        nodes.raw,
        nodes.system_message,
        nodes.label,  # of a footnote, which Sphinx counts
        nodes.footnote_reference,
    )
    pasted = {"pasted-text", "pasted-inline"}  # the classes that MyST-NB gives
    return any(
        isinstance(parent, kinds) or pasted & set(parent.get("classes", ()))
        for parent in parents(node)
    )


def _kind(node: nodes.Node) -> str:
    for parent in parents(node):
        for kind, name in (
            (nodes.literal, "code"),
            (nodes.title, "heading"),
            (nodes.caption, "caption"),
            (nodes.entry, "table cell"),
        ):
            if isinstance(parent, kind):
                return name
    return "text"


def line_of(node: nodes.Node) -> int:
    """Return the line of the page on which a node begins, counted from 1.

    A paragraph knows its line, the words in it do not; the line breaks before them are
    counted.
    """
    before = 0
    while isinstance(node, nodes.Text | nodes.Inline) and node.parent is not None:
        earlier = node.parent.children[: node.parent.index(node)]
        before += sum(sibling.astext().count("\n") for sibling in earlier)
        node = node.parent
    above = list(parents(node))
    for row in (parent for parent in above if isinstance(parent, nodes.row)):
        # The parser gives some rows the line of the row before.
        table = next(parent for parent in above if isinstance(parent, nodes.table))
        at = [other is row for other in table.findall(nodes.row)].index(True)
        return table.line + at + (at > 0)  # below the first row is a ruler
    lines = (parent.line for parent in (node, *above) if parent.line)
    return next(lines, 1) + before


def section_of(node: nodes.Node) -> str:
    """Return the label of the section that a node stands in; '' if it has none."""
    for parent in (node, *parents(node)):
        if isinstance(parent, nodes.section):
            # The nearest label above a heading comes first (docutils moves them here).
            return parent["ids"][0]
    return ""


def parents(node: nodes.Node) -> Iterator[nodes.Node]:
    """Yield all that a node stands in, from the nearest on."""
    while node.parent is not None:
        node = node.parent
        yield node
