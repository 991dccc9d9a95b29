"""Gives footnotes addresses that stay, and asks for a label where a link is offered.

docutils counts: ``#id1`` is another place as soon as a footnote is added above it. So a
footnote is called like its page and what it is about, ``[^refs-why]``, and that is its
address; the places that refer to it are ``refs-why-from-1`` and so on.

Sphinx offers a link at each caption as well: of a figure, a table, a block of code.
That needs a label of ours too, ``:name: refs-curves``.
"""

from docutils import nodes
from sphinx.util import logging

from book.kept import keep, kept

logger = logging.getLogger(__name__)


def name_footnotes(page: str, doctree: nodes.document) -> set[str]:
    """Give footnotes and references to them their addresses, and return these."""
    found = set()
    for note in doctree.findall(nodes.footnote):
        name = next(iter(note["names"]), "")
        if not name.startswith(f"{page}-"):
            _warn(note, f"the footnote {name!r}; write [^{page}-…], its address")
            continue
        old = set(note["ids"])
        references = [
            each
            for each in doctree.findall(nodes.footnote_reference)
            if each.get("refid") in old
        ]
        note["ids"] = [name]
        note["backrefs"] = []
        for number, reference in enumerate(references, 1):
            reference["ids"] = [f"{name}-from-{number}"]
            reference["refid"] = name
            note["backrefs"].append(reference["ids"][0])
        found |= {name, *note["backrefs"]}
    return found


def check_captions(page: str, doctree: nodes.document) -> None:
    """Warn for each caption without a label of its page."""
    kinds = nodes.caption, nodes.title
    for caption in doctree.findall(lambda node: isinstance(node, kinds)):
        owner = caption.parent
        if isinstance(owner, nodes.section | nodes.Admonition | nodes.document):
            continue
        names = [n for n in owner["names"] if doctree.nametypes.get(n)]
        if not any(name.startswith(f"{page}-") for name in names):
            words = caption.astext()
            _warn(owner, f"the caption {words!r} has no label; write :name: {page}-…")


def _warn(node: nodes.Node, message: str) -> None:
    while not node.line and node.parent is not None:
        node = node.parent
    logger.warning(message, location=node, type="book", subtype="page")


def footnotes_of(env) -> dict[str, set[str]]:
    """Return the addresses of footnotes and of references to them, by page."""
    return kept(env, "footnotes")


def note(app, doctree: nodes.document) -> None:
    """Name the footnotes of a page that has been read, and hold its captions."""
    page = app.env.docname
    keep(app.env, "footnotes", name_footnotes(page, doctree))
    check_captions(page, doctree)


def setup(app):
    """Connect to the reading of each page."""
    app.connect("doctree-read", note)
    return {
        "env_version": 1,  # of what is kept per page
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
