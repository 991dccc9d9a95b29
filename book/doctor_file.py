"""Offers the doctor as one file to download: ``doctor.py``, beside the pages.

A page links to it with ``{doctor-file}`doctor.py` ``. Where the address of the book is
known, the file knows it too, so that what it prints leads into the book from anywhere.
"""

import pathlib

from docutils import nodes

from book import address
from book.cells import ROOT

NAME = "doctor.py"
SOURCE = ROOT / "snippets" / NAME
UNSET = 'BOOK = ""\n'


def told(source: str, where: str) -> str:
    r"""Return the doctor's code with the address of the book in it.

    Args:
      source: its code.
      where: the address, with a slash behind it; '' if it is not known.

    Raises:
      ValueError: if the code has no place for it, or more than one.

    >>> told('import os\n\nBOOK = ""\n', "https://host/book/")
    "import os\n\nBOOK = 'https://host/book/'\n"
    """
    if source.count(UNSET) != 1:
        raise ValueError(f"snippets/{NAME} has to have one line {UNSET.strip()!r}")
    return source.replace(UNSET, f"BOOK = {where!r}\n") if where else source


def write(app, exception) -> None:
    """Write the file beside the pages; a copy with fewer pages may not have it."""
    if exception is None and app.builder.format == "html" and SOURCE.exists():
        text = told(SOURCE.read_text("utf-8"), address.of_file(app, ""))
        pathlib.Path(app.outdir, NAME).write_text(text, "utf-8")


def link(name, rawtext, text, lineno, inliner, options=None, content=()):
    """Return a link to the file, for the role."""
    shown = nodes.literal(text, text)
    return [nodes.reference("", "", shown, refuri=NAME, internal=True)], []


def setup(app):
    """Add the role, and connect to the end of the build."""
    app.add_role("doctor-file", link)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
