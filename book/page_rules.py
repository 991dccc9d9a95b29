"""What every page owes its readers, checked while the page is read.

* Each heading has a label of our own, prefixed with the page's name: links to it
  hold when its words change (automatic ones shift, jax #11254).
* Each picture says in words what it shows.
* Words are Markdown: those in HTML of our own are read by no check.
* No code is shown that nothing runs: Python stands in a cell, or is included from
  a snippet.

Each breach is a warning with file and line, and the build fails on warnings.
"""

from docutils import nodes
from sphinx.util import logging

from book import prose

logger = logging.getLogger(__name__)

_PYTHON = {"python", "python3", "py", "py3", "ipython", "ipython3", "pycon"}
_UNNAMED = {None, "none", "default"}


def check_labels(app, page: str, doctree: nodes.document) -> None:
    """Warn for each section without a label of its own."""
    for section in doctree.findall(nodes.section):
        # docutils moves the names of a label onto the section that follows it.
        ours = [name for name in section["names"] if doctree.nametypes.get(name)]
        if not any(name == page or name.startswith(f"{page}-") for name in ours):
            title = section.next_node(nodes.title).astext()
            _warn(
                section,
                f"the heading {title!r} has no label; write ({page}-…)= above it",
            )


def check_pictures(app, page: str, doctree: nodes.document) -> None:
    """Warn for each picture without words, or with an object's repr for words."""
    for image in doctree.findall(nodes.image):
        alt = image.get("alt", "").strip()
        if len(alt) < 20 or alt.startswith("<") or alt.startswith("_images"):
            _warn(
                image,
                f"a picture needs an alt text that says what it shows, not {alt!r}",
            )


def check_code(app, page: str, doctree: nodes.document) -> None:
    """Warn for each block of Python that is neither a cell nor an included snippet."""
    for block in doctree.findall(nodes.literal_block):
        if prose.has_run(block):
            continue
        if block.get("language") in _PYTHON:
            _warn(
                block, "Python that nothing runs; make it a cell, or include a snippet"
            )
        elif block.get("language") in _UNNAMED:
            _warn(block, "a block without a language; say which, such as ```sh")


def check_html(app, page: str, doctree: nodes.document) -> None:
    """Warn for each piece of HTML that is not the output of a cell."""
    for raw in doctree.findall(nodes.raw):
        if not prose.of_a_cell(raw):
            _warn(raw, f"HTML that no check reads: {raw.astext()!r}; write Markdown")


def _warn(node: nodes.Node, message: str) -> None:
    while not node.line and node.parent is not None:  # an image has no line
        node = node.parent
    logger.warning(message, location=node, type="book", subtype="page")


def check(app, doctree: nodes.document) -> None:
    """Hold a page that has been read against all rules."""
    for rule in (check_labels, check_pictures, check_code, check_html):
        rule(app, app.env.docname, doctree)


def setup(app):
    """Connect to the reading of each page."""
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
