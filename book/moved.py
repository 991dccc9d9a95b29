"""Keeps old addresses alive when a page or a section has moved.

``docs/moved.txt`` says what is where now, a line each, the old address and the new one:

    old-page.html               new-page.html
    page.html#page-section      other.html#other-section

* Of a page that is gone, a page is written that leads to the new one, without a script
  too; with one, the fragment goes along, to the place that its own line names, or else
  to the same label on the new page, where it stands above the new one.
* Of a section that has left a page that stays, a stub with its new address stands at
  the foot of that page, under its old label.

A label that is only renamed needs no line: the old one stays above the new one.
"""

import dataclasses
import json
import pathlib
from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

FILE = "moved.txt"


@dataclasses.dataclass(frozen=True)
class Address:
    """An address in the book.

    Attributes:
      page: the name of the page.
      label: of the section; '' for the page itself.
    """

    page: str
    label: str = ""

    def __str__(self) -> str:
        return f"{self.page}.html" + (f"#{self.label}" if self.label else "")


def address(text: str) -> Address:
    """Return an address that is written out.

    Raises:
      ValueError: if it is none.

    >>> address("refs.html#refs-copies")
    Address(page='refs', label='refs-copies')
    >>> address("refs")
    Traceback (most recent call last):
    ValueError: 'refs' is no address; write page.html or page.html#label
    """
    file, hash_, label = text.partition("#")
    page = file.removesuffix(".html")
    if not page or page == file or bool(hash_) != bool(label):
        raise ValueError(f"{text!r} is no address; write page.html or page.html#label")
    return Address(page, label)


def lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a table, counted from 1, as words; without comments.

    >>> list(lines("# old and new\\n\\na.html  b.html\\n"))
    [(3, ['a.html', 'b.html'])]
    """
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.split()


def moves(text: str) -> tuple[dict[Address, Address], list[tuple[int, str]]]:
    """Return what has moved where, and what is wrong with the lines that say it.

    Args:
      text: of the table.

    >>> moves("a.html b.html\\na.html")
    ({Address(page='a', label=''): Address(page='b', label='')}, [(2, 'two addresses')])
    """
    found, wrong = {}, []
    for number, words in lines(text):
        try:
            if len(words) != 2:
                raise ValueError("two addresses")
            old, new = map(address, words)
            if old in found:
                raise ValueError(f"{old} stands here twice")
            found[old] = new
        except ValueError as error:
            wrong.append((number, str(error)))
    return found, wrong


def read(app, config) -> None:
    """Read the table, as a setting: after a change Sphinx reads all pages anew."""
    path = pathlib.Path(app.srcdir, FILE)
    config.book_moved = path.read_text("utf-8") if path.exists() else ""


def of(app) -> dict[Address, Address]:
    """Return what has moved where."""
    return moves(app.config.book_moved)[0]


def add_stubs(app, doctree: nodes.document) -> None:
    """Put, at the foot of a page, a stub for each section that has left it."""
    page = app.env.docname
    for old, new in of(app).items():
        if old.page != page or not old.label:
            continue
        link = addnodes.pending_xref(
            "",
            nodes.inline("", ""),
            refdomain="std",
            reftype="ref",
            reftarget=new.label or new.page,
            refexplicit=False,
            refwarn=True,
            refdoc=page,
        )
        said = nodes.paragraph("", "", nodes.Text("Here was a section; it is now: "))
        said += link
        stub = nodes.container("", said, ids=[old.label], classes=["moved"])
        next(iter(doctree.findall(nodes.section)), doctree).append(stub)


def pages(app) -> Iterator[tuple[str, dict[str, object], str]]:
    """Yield the pages that lead from the old address of a page to the new one."""
    found = of(app)
    for old, new in found.items():
        if not old.label:
            sections = {
                each.label: str(found[each])
                for each in found
                if each.page == old.page and each.label
            }
            context = {
                "title": "Moved",
                "moved_to": str(new),
                "moved_sections": json.dumps(sections, sort_keys=True),
            }
            yield old.page, context, "moved.html"


def check(app, env) -> None:
    """Warn for each line that cannot be, or that leads nowhere."""
    found, wrong = moves(app.config.book_moved)
    numbers: dict[str, int] = {}
    for number, words in lines(app.config.book_moved):
        numbers.setdefault(words[0], number)
    here = labels(env)
    for old, new in found.items():
        if new.page not in env.found_docs:
            wrong.append((numbers[str(old)], f"there is no page {new.page}.html"))
        elif new.label and new.label not in here.get(new.page, ()):
            wrong.append((numbers[str(old)], f"no label {new.label} on {new.page}"))
        if not old.label and old.page in env.found_docs:
            wrong.append((numbers[str(old)], f"docs/{old.page}.md is still there"))
        if old.label and old.label in here.get(old.page, ()):
            wrong.append((numbers[str(old)], f"({old.label})= is still on its page"))
    for number, message in wrong:
        logger.warning(
            message, location=f"docs/{FILE}:{number}", type="book", subtype="moved"
        )


def labels(env) -> dict[str, set[str]]:
    """Return the labels of our own that each page has, as they are in addresses."""
    found: dict[str, set[str]] = {}
    for page, label in env.get_domain("std").anonlabels.values():
        if page in env.found_docs:  # not those of Sphinx's own pages
            found.setdefault(page, set()).add(label)
    return found


def setup(app):
    """Connect to the reading of pages, and to the writing of those that are none."""
    app.add_config_value("book_moved", "", "env")
    app.connect("config-inited", read)
    # Behind the checks of a page, which are about sentences of ours.
    app.connect("doctree-read", add_stubs, priority=900)
    app.connect("env-updated", check)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
