"""Writes a page, as Sphinx has resolved it, as Markdown that any reader of it knows.

Notebooks and the book for language models are made from this. What MyST adds to
Markdown is gone by then: figures are pasted, links lead somewhere, included code is
there. sphinx-markdown-builder (0.6.11) does this too, but loses the fragments of links
within a page, drops admonitions, shows comments, and breaks code spans that hold
backticks and table cells that hold bars.
"""

import dataclasses
import posixpath
import re
from collections.abc import Callable, Iterator

from docutils import nodes
from sphinx import addnodes

# What stands in a page and is nothing that is read.
UNSEEN = (nodes.Invisible, nodes.raw, nodes.system_message, addnodes.toctree)
# Words of these become marks of Markdown or HTML, at the beginning of a line only.
_AT_START = re.compile(
    r"^([ \t]*)(?:(#{1,6}|[>+-])(?=[ \t]|$)|(\d+)(?=[.)](?:[ \t]|$)))", re.M
)
_ANYWHERE = re.compile(
    r"[\\`*$~]|(?<![^\W_])_|_(?![^\W_])|<(?=[\w/!?])|&(?=#?\w+;)|\](?=[(\[])|\[(?=\^)"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
    """A piece of a page: a heading, a paragraph, a table, or a cell.

    Attributes:
      line: the line of the page on which it begins; 0 if nobody knows.
      text: the Markdown; '' for a cell.
      label: for a heading, the label of its section.
      cell: for a cell, its place among the cells of the notebook.
    """

    line: int
    text: str = ""
    label: str = ""
    cell: int | None = None


def parts(doctree: nodes.document, address: Callable[[str], str]) -> list[Part]:
    """Return a page in pieces, in order.

    Args:
      doctree: the page, as Sphinx has resolved it.
      address: gives for a link within the book, such as ``refs.html#refs-frozen`` or
        ``#refs-frozen``, what is written.
    """
    return list(_parts(doctree, _Writer(address), 0))


def _parts(parent: nodes.Element, writer: "_Writer", depth: int) -> Iterator[Part]:
    for node in parent.children:
        if isinstance(node, nodes.section):
            yield from _parts(node, writer, depth + 1)
        elif isinstance(node, nodes.title):
            text = f"{'#' * depth} {writer.inline(node)}"
            yield Part(line=_line(node), text=text, label=parent["ids"][0])
        elif "cell_index" in getattr(node, "attributes", ()):
            yield Part(line=_line(node), cell=node["cell_index"])
        elif text := writer.block(node):
            yield Part(line=_line(node), text=text)


def _line(node: nodes.Node) -> int:
    """Return the line of a block, from its parts if it does not know."""
    if isinstance(node, nodes.title):
        return node.parent.line or 0
    return next((n.line for n in node.findall() if n.line), 0)


class _Writer:
    """Writes nodes of docutils; what it has no rule for is written as its parts are."""

    def __init__(self, address: Callable[[str], str]):
        self.address = address

    def block(self, node: nodes.Node) -> str:
        """Return a block, without a line break at its end."""
        if isinstance(node, UNSEEN):
            return ""
        rule = getattr(self, f"block_{node.tagname}", None)
        if rule:
            return rule(node)
        if isinstance(node, nodes.Admonition):
            return self.block_admonition(node)
        if isinstance(node, nodes.TextElement | nodes.Inline | nodes.Text):
            return self.inline(node)
        return self.blocks(node.children)

    def blocks(self, children: list[nodes.Node], between: str = "\n\n") -> str:
        """Return several blocks, one below the other."""
        return between.join(filter(None, map(self.block, children)))

    def block_admonition(self, node: nodes.Element) -> str:
        """Return a quotation that begins with the admonition's title."""
        children, title = node.children, node.tagname.capitalize()
        if isinstance(children[0], nodes.title):
            title, children = self.inline(children[0]), children[1:]
        return _indented(f"**{title}**\n\n{self.blocks(children)}", "> ")

    def block_block_quote(self, node: nodes.Element) -> str:
        return _indented(self.blocks(node.children), "> ")

    def block_bullet_list(self, node: nodes.Element) -> str:
        return self._list(node, ["- "] * len(node))

    def block_enumerated_list(self, node: nodes.Element) -> str:
        first = node.get("start", 1)
        return self._list(node, [f"{first + n}. " for n in range(len(node))])

    def _list(self, node: nodes.Element, marks: list[str]) -> str:
        tight = all(len(item) <= 1 for item in node)
        items = [
            _hanging(self.blocks(item.children), mark)
            for item, mark in zip(node, marks, strict=True)
        ]
        return ("\n" if tight else "\n\n").join(items)

    def block_definition_list(self, node: nodes.Element) -> str:
        """Return a list: Jupyter knows no terms with definitions."""
        items = []
        for item in node:
            terms = [n for n in item if isinstance(n, nodes.term)]
            term = ", ".join(f"**{self.inline(n)}**" for n in terms)
            rest = self.blocks([n for n in item if n not in terms])
            items.append(_hanging(f"{term}\n\n{rest}", "- "))
        return "\n\n".join(items)

    def block_field_list(self, node: nodes.Element) -> str:
        items = [f"**{self.inline(name)}**: {self.block(body)}" for name, body in node]
        return "\n".join(_hanging(item, "- ") for item in items)

    def block_literal_block(self, node: nodes.Element) -> str:
        language = node.get("language") or ""
        return fenced(node.astext(), language if language != "none" else "")

    def block_doctest_block(self, node: nodes.Element) -> str:
        return fenced(node.astext(), "pycon")

    def block_math_block(self, node: nodes.Element) -> str:
        return f"$$\n{node.astext().strip()}\n$$"

    def block_rubric(self, node: nodes.Element) -> str:
        return f"**{self.inline(node)}**"

    def block_caption(self, node: nodes.Element) -> str:
        return f"*{self.inline(node)}*"

    def block_finding(self, node: nodes.Element) -> str:
        """Return what is folded on the page, below its title."""
        return f"**{escaped(node['title'])}**\n\n{self.blocks(node.children)}"

    def block_transition(self, node: nodes.Element) -> str:
        return "---"

    def block_footnote(self, node: nodes.Element) -> str:
        label, *rest = node.children
        return _hanging(self.blocks(rest), f"[^{label.astext()}]: ", 4)

    def block_line_block(self, node: nodes.Element) -> str:
        return "\\\n".join(self.block(line) for line in node)

    def block_table(self, node: nodes.Element) -> str:
        """Return a table in the form that GitHub and Jupyter know."""
        rows = [[self._entry(e) for e in row] for row in node.findall(nodes.row)]
        rows.insert(1, ["---"] * len(rows[0]))
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        titles = [self.inline(n) for n in node if isinstance(n, nodes.title)]
        return "\n\n".join([*(f"*{title}*" for title in titles), table])

    def _entry(self, node: nodes.Element) -> str:
        text = self.blocks(node.children, "<br>")
        return re.sub(r"(?<!\\)\|", r"\\|", text).replace("\n", " ")

    def inline(self, node: nodes.Node) -> str:
        """Return words, with their marks."""
        if isinstance(node, UNSEEN):
            return ""
        if isinstance(node, nodes.Text):
            return escaped(node.astext())
        rule = getattr(self, f"inline_{node.tagname}", None)
        return rule(node) if rule else self._within(node)

    def _within(self, node: nodes.Element) -> str:
        return "".join(map(self.inline, node.children))

    def inline_emphasis(self, node: nodes.Element) -> str:
        return f"*{self._within(node)}*"

    inline_title_reference = inline_emphasis

    def inline_strong(self, node: nodes.Element) -> str:
        return f"**{self._within(node)}**"

    def inline_subscript(self, node: nodes.Element) -> str:
        return f"<sub>{self._within(node)}</sub>"

    def inline_superscript(self, node: nodes.Element) -> str:
        return f"<sup>{self._within(node)}</sup>"

    def inline_math(self, node: nodes.Element) -> str:
        return f"${node.astext()}$"

    def inline_literal(self, node: nodes.Element) -> str:
        return code_span(node.astext())

    def inline_footnote_reference(self, node: nodes.Element) -> str:
        return f"[^{node.astext()}]"

    def inline_reference(self, node: nodes.Element) -> str:
        to = node.get("refuri", "")
        if "refid" in node:
            to = f"#{node['refid']}"
        if not re.match(r"[a-z]+:", to):
            to = self.address(to)
        return f"[{self._within(node)}]({to})"

    def inline_image(self, node: nodes.Element) -> str:
        to = node["uri"]
        if not re.match(r"[a-z]+:", to):
            to = self.address(f"_images/{posixpath.basename(to)}")
        return f"![{escaped(node.get('alt', ''))}]({to})"

    block_image = inline_image


def fenced(text: str, language: str = "") -> str:
    r"""Return a block of code; its fence is longer than any in the code.

    >>> print(fenced("1 + 1\n", "python"))
    ```python
    1 + 1
    ```
    """
    runs = re.findall(r"`{3,}", text)
    fence = "`" * max([3, *(len(run) + 1 for run in runs)])
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def code_span(text: str) -> str:
    """Return words as code, also if they hold backticks.

    >>> print(code_span("a"), code_span("a `b`"))
    `a` `` a `b` ``
    """
    runs = {len(run) for run in re.findall(r"`+", text)}
    marks = "`" * next(n for n in range(1, len(runs) + 2) if n not in runs)
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{marks}{blank}{text}{blank}{marks}"


def escaped(text: str) -> str:
    r"""Return words in which nothing is a mark of Markdown.

    >>> print(escaped("a_b is 2 * <b>, or _c"))
    a_b is 2 \* \<b>, or \_c
    >>> print(escaped("below\n1. stands\n# that"))
    below
    1\. stands
    \# that
    """
    text = _ANYWHERE.sub(lambda match: f"\\{match[0]}", text)
    return _AT_START.sub(_escaped_at_start, text)


def _escaped_at_start(match: re.Match) -> str:
    blank, mark, number = match.groups()
    return f"{blank}{number}\\" if number else f"{blank}\\{mark}"


def _indented(text: str, before: str) -> str:
    return "\n".join(f"{before}{line}".rstrip() for line in text.split("\n"))


def _hanging(text: str, mark: str, by: int | None = None) -> str:
    """Return a text that begins with a mark, below which its other lines begin."""
    blank = " " * (len(mark) if by is None else by)
    return mark + "\n".join(
        f"{blank}{line}".rstrip() if n else line
        for n, line in enumerate(text.split("\n"))
    )
