"""Holds the book to the addresses that it has published.

``docs/anchors.txt`` lists them all, each with the edition that brought it. Nothing is
ever taken out: links into the book stand in threads that nobody can edit. Each of them
has to lead somewhere, here or, by ``docs/moved.txt``, elsewhere (see `book.moved`).

    make accept      # adds the new ones

What is on the main branch counts as published.
"""

import argparse
import importlib.metadata
import os
import pathlib
from collections.abc import Collection, Mapping

from sphinx.util import logging

from book.cells import DOCS, ROOT
from book.moved import Address, address, labels, lines, of
from book.own_ids import footnotes_of

logger = logging.getLogger(__name__)

FILE = "anchors.txt"

# Pages that come from no source of ours.
GENERATED = ("genindex", "search")


def edition() -> str:
    """Return the name of the edition that is being written.

    It is a tag: the release that the book is about, and which edition on it. Both stand
    in the version of the project, in pyproject.toml.

    >>> edition().startswith("kauldron-1.4.4-")
    True
    """
    release, _, number = importlib.metadata.version("kauldron-executed").rpartition(".")
    return f"kauldron-{release}-{number}"


def ledger(text: str) -> dict[Address, tuple[int, str]]:
    """Return the published addresses, each with its line and its edition.

    Raises:
      ValueError: if a line is none of the ledger.

    >>> ledger("a.html#a-b  kauldron-1.4.4-1")
    {Address(page='a', label='a-b'): (1, 'kauldron-1.4.4-1')}
    """
    found = {}
    for number, words in lines(text):
        if len(words) != 2:
            raise ValueError(f"docs/{FILE}:{number}: an address and its edition")
        found[address(words[0])] = number, words[1]
    return found


def now(env) -> set[Address]:
    """Return the addresses that the pages have."""
    found = {Address(page) for page in (*env.found_docs, *GENERATED)}
    for ours in (labels(env), footnotes_of(env)):
        found |= {Address(page, label) for page in ours for label in ours[page]}
    return found


def lost(
    published: Collection[Address],
    here: Collection[Address],
    moved: Mapping[Address, Address],
) -> list[Address]:
    """Return the published addresses that lead nowhere.

    Args:
      published: addresses.
      here: the addresses that the pages have.
      moved: the new address of what has another one.

    >>> a, b = Address("a", "a-x"), Address("b", "a-x")
    >>> lost([a, b], [b], {}), lost([a, b], [b], {Address("a"): Address("b")})
    ([Address(page='a', label='a-x')], [])
    """

    def leads(old: Address) -> bool:
        if old in here or old in moved:
            return True
        page = moved.get(Address(old.page))
        return page is not None and Address(page.page, old.label) in here

    return [old for old in published if not leads(old)]


def check(app, env) -> None:
    """Warn for each published address that leads nowhere."""
    path = pathlib.Path(app.srcdir, FILE)
    if not path.exists() or os.environ.get("BOOK_PAGE"):
        return
    published = ledger(path.read_text("utf-8"))
    missing = lost(published, now(env), of(app))
    for old in missing:
        if old.label and Address(old.page) in missing:
            continue  # one message for a page that is gone
        number, _ = published[old]
        logger.warning(
            "%s has been published and leads nowhere; %s",
            old,
            f"keep ({old.label})= above the section's new label, or write its new "
            "address into docs/moved.txt"
            if old.label
            else "write its new address into docs/moved.txt",
            location=f"docs/{FILE}:{number}",
            type="book",
            subtype="anchor",
        )


def leave(app, exception) -> None:
    """Leave the addresses of this build beside the book, for `make accept`."""
    if exception is None and app.builder.format == "html":
        text = "".join(f"{each}\n" for each in sorted(map(str, now(app.env))))
        pathlib.Path(app.outdir).with_name(FILE).write_text(text, "utf-8")


def main() -> None:
    """Add the addresses of the last build to the ledger, and print what is new."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--built", default=ROOT / "_build" / FILE, type=pathlib.Path)
    built = parser.parse_args().built.read_text("utf-8").split()
    path = DOCS / FILE
    text = path.read_text("utf-8")
    new = [each for each in built if address(each) not in ledger(text)]
    added = [f"{each:<60} {edition()}\n" for each in new]
    path.write_text(text + "".join(added), "utf-8")
    for each in new:
        print(f"docs/{FILE}: {each} is published from now on")


def setup(app):
    """Connect to the moment when all pages have been read, and to the end."""
    app.connect("env-updated", check)
    app.connect("build-finished", leave)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    main()
