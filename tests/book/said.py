"""Reads what Markdown says, with a parser that is not the one it was written with."""

import re

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark").enable("table")


def words(markdown: str) -> list[str]:
    """Return the words that a reader of some Markdown sees, without its code."""
    found = []
    for token in _PARSER.parse(markdown):
        if token.type == "inline":
            found.append(" ".join(_said(token.children)))
    return " ".join(found).split()


def _said(tokens) -> list[str]:
    text = ""
    for token in tokens:
        if token.type in ("text", "code_inline"):
            text += token.content
        elif token.type in ("softbreak", "hardbreak"):
            text += " "
        elif token.type == "html_inline":
            text += " " if token.content == "<br>" else token.content
    return text.split()


def blocks(markdown: str) -> list[str]:
    """Return the blocks of code in some Markdown, in order."""
    return [t.content for t in _PARSER.parse(markdown) if t.type == "fence"]


def links(markdown: str) -> list[str]:
    """Return where the links in some Markdown lead."""
    found = []
    for token in _PARSER.parse(markdown):
        for child in token.children or ():
            if child.type == "link_open":
                found.append(child.attrs["href"])
    return found


def without_labels(markdown: str) -> str:
    """Return some Markdown without the addresses behind its headings."""
    return re.sub(r"^(#+ .*) \{#[\w-]+\}$", r"\1", markdown, flags=re.M)
