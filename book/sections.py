"""Writes the one index of the book: its sections, with names, messages and words.

Beside the pages, at addresses that stay:

* ``sections.json``, for programs, ``make link`` among them;
* ``sections.js``, the same as a script, since a page that is opened from disk may load
  scripts and no data.

The search, the field for a pasted traceback and ``make link`` all read this, so that
they cannot disagree on what the book has.

What a section has: ``page`` and ``label`` (its address is ``page.html#label``) and
``title``, ``chapter`` (the title of the page), ``names`` of Kauldron that it runs or
speaks of, ``answers`` (messages that it explains, with ``…`` for what varies), ``text``
(its words), ``code`` (its code and what that printed), ``labels`` (others that lead to
it).
"""

import dataclasses
import json
import pathlib

from docutils import nodes
from sphinx import addnodes

from book.answers import answers_of
from book.kept import keep, kept
from book.names import pages_of
from book.prose import section_of
from book.public import as_written

NAME = "sections"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Section:
    """A section of a page, without those in it.

    Attributes:
      label: its address on the page.
      labels: the other labels that stand above its heading.
      title: its heading.
      text: its words.
      code: its code, and what that printed.
    """

    label: str
    labels: tuple[str, ...]
    title: str
    text: str
    code: str


def read(doctree: nodes.document) -> list[Section]:
    """Return the sections of a page that has been read, in order."""
    found = []
    for section in doctree.findall(nodes.section):
        ours = [name for name in section["names"] if doctree.nametypes.get(name)]
        label = section_of(section)
        words, code = [], []
        for child in section.children:
            if not isinstance(child, nodes.section | nodes.title):
                _collect(child, words, code)
        found.append(
            Section(
                label=label,
                labels=tuple(sorted(i for i in map(nodes.make_id, ours) if i != label)),
                title=section.next_node(nodes.title).astext(),
                text=" ".join(" ".join(words).split()),
                code="\n".join(code),
            )
        )
    return found


def _collect(node: nodes.Node, words: list[str], code: list[str]) -> None:
    """Add what a node shows to the words and to the code; comments show nothing."""
    if isinstance(node, nodes.literal_block):
        code.append(node.astext())
    elif isinstance(node, nodes.comment | nodes.raw | addnodes.toctree):
        return
    elif isinstance(node, nodes.TextElement):
        words.append(node.astext())
    else:
        if isinstance(node, nodes.image) and node.get("alt"):
            words.append(node["alt"])
        for child in node.children:
            _collect(child, words, code)


def sections_of(env) -> dict[str, list[Section]]:
    """Return the sections of all pages that Sphinx knows, by page."""
    return kept(env, "sections")


def index(env) -> list[dict[str, object]]:
    """Return the sections of the book as they are published, by page and in order."""
    found = []
    for page, sections in sorted(sections_of(env).items()):
        names = pages_of(env)[page]
        for section in sections:
            used = {
                as_written(use.name)
                for use in names.said | names.ran
                if use.section == section.label
            }
            found.append(
                {
                    "page": page,
                    "chapter": sections[0].title,
                    "names": sorted(name for name in used if name),
                    "answers": [
                        answer.pattern
                        for answer in answers_of(env).get(page, ())
                        if answer.section == section.label
                    ],
                    **dataclasses.asdict(section),
                }
            )
    return found


def write(app, exception) -> None:
    """Write the index beside the pages."""
    if exception is not None or app.builder.format != "html":
        return
    out = pathlib.Path(app.outdir)
    if not app.book_pages_written and (out / f"{NAME}.js").exists():
        return  # to look the names up takes a fifth of a second
    found = json.dumps(
        {
            "book": app.config.project,
            "address": app.config.html_baseurl,
            "versions": app.config.book_versions,
            "sections": index(app.env),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )
    (out / f"{NAME}.json").write_text(f"{found}\n", "utf-8")
    (out / f"{NAME}.js").write_text(f"globalThis.bookSections = {found};\n", "utf-8")


def leave_out_the_other(app) -> None:
    """Let Sphinx make no index of its own, which nothing would ask."""
    app.builder.search = False


def note_written(app, pagename, templatename, context, doctree) -> None:
    """Note that a page is written anew."""
    app.book_pages_written |= doctree is not None


def note(app, doctree: nodes.document) -> None:
    """Keep the sections of a page that has been read."""
    keep(app.env, "sections", read(doctree))


def setup(app):
    """Connect to the reading of pages, and to the end of the build."""
    app.setup_extension("book.answers")
    app.setup_extension("book.names")
    app.book_pages_written = False
    app.connect("builder-inited", leave_out_the_other)
    app.connect("doctree-read", note)
    app.connect("html-page-context", note_written)
    app.connect("build-finished", write)
    return {
        "env_version": 1,  # of what is kept per page
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
