"""Knows of each page, in plain words, its title and the question that it answers.

What stands for a page elsewhere is made from these: the line in `llms.txt`, and what a
link to the page shows in a chat or an issue thread.
"""

import dataclasses

from docutils import nodes

from book.kept import keep, kept


@dataclasses.dataclass(frozen=True)
class Summary:
    """What a page is about.

    Attributes:
      title: its heading.
      question: what it answers; '' for a page without a question.
    """

    title: str
    question: str


def summary(doctree: nodes.document) -> Summary:
    """Return what a page is about, from the page as Sphinx has parsed it."""
    title = doctree.next_node(nodes.title)
    question = ""
    for box in doctree.findall(nodes.admonition):
        if "question" in box["classes"]:
            paragraphs = [n.astext() for n in box if isinstance(n, nodes.paragraph)]
            question = " ".join(" ".join(paragraphs).split())
            break
    return Summary(" ".join(title.astext().split()) if title else "", question)


def note(app, doctree: nodes.document) -> None:
    """Keep what a page is about with what Sphinx keeps of the page."""
    keep(app.env, "summary", summary(doctree))


def of_page(env, page: str) -> Summary:
    """Return what a page of the book is about."""
    return kept(env, "summary")[page]


def setup(app):
    """Connect to the reading of each page."""
    app.connect("doctree-read", note)
    return {"env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
