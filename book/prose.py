"""Reads what a page says in words, from the page as Sphinx has parsed it.

The checks of numbers, names and quotations take their words from here. They look at
the parsed page, not at its source: a table cell, a caption in a directive and a
sentence over three lines are then one thing each, and a cell's code is none of them.
"""

import dataclasses
from collections.abc import Iterator

from docutils import nodes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Words:
    """Some words of a page that stand together.

    Attributes:
      line: the line of the page on which they begin, counted from 1.
      kind: ``text``, ``heading``, ``caption``, ``table cell``, ``alt text`` or ``code``
        (a code span; its words are no one else's).
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
    for node in doctree.findall(lambda n: isinstance(n, nodes.Text | nodes.image)):
        if isinstance(node, nodes.image):
            if node.get("alt"):
                yield _words(node, "alt text", node["alt"])
        elif not _is_no_prose(node):
            yield _words(node, _kind(node), node.astext())


def shown(doctree: nodes.document) -> str:
    """Return all code and output that a page shows, as text."""
    return "\n".join(block.astext() for block in doctree.findall(nodes.literal_block))


def _words(node: nodes.Node, kind: str, text: str) -> Words:
    return Words(
        line=line_of(node), kind=kind, text=text, section=section_of(node), node=node
    )


def _is_no_prose(node: nodes.Node) -> bool:
    """Tell whether a text is code, an output, a comment or a message of Sphinx."""
    kinds = (nodes.literal_block, nodes.comment, nodes.raw, nodes.system_message)
    return any(isinstance(parent, kinds) for parent in _parents(node))


def _kind(node: nodes.Node) -> str:
    for parent in _parents(node):
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
    above = list(_parents(node))
    for row in (parent for parent in above if isinstance(parent, nodes.row)):
        # The parser gives some rows the line of the row before.
        table = next(parent for parent in above if isinstance(parent, nodes.table))
        at = [other is row for other in table.findall(nodes.row)].index(True)
        return table.line + at + (at > 0)  # below the first row is a ruler
    lines = (parent.line for parent in (node, *above) if parent.line)
    return next(lines, 1) + before


def section_of(node: nodes.Node) -> str:
    """Return the label of the section that a node stands in; '' if it has none."""
    for parent in (node, *_parents(node)):
        if isinstance(parent, nodes.section):
            # The nearest label above a heading comes first (docutils moves them here).
            return parent["ids"][0]
    return ""


def _parents(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node
