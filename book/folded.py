"""Writes what folds cells as HTML allows it, with a name that says what is folded.

MyST-NB puts paragraphs into a summary, and calls each *Toggle hidden content*, whatever
a reader sees there.
"""

import html

from myst_nb.sphinx_ import HideCodeCellNode


def visit(translator, node) -> None:
    """Open a folded cell; style sheets show one of the two names."""
    classes = " ".join(["admonition", "hide", *node["classes"]])
    names = "".join(
        f'<span class="{when} admonition-title">{html.escape(node[name])}</span>'
        for when, name in (("collapsed", "prompt_show"), ("expanded", "prompt_hide"))
    )
    translator.body.append(f'<details class="{classes}">\n<summary>{names}</summary>\n')


def depart(translator, node) -> None:
    """Close it."""
    translator.body.append("</details>\n")


def setup(app):
    """Take the place of MyST-NB's writing."""
    app.setup_extension("myst_nb")
    app.add_node(HideCodeCellNode, override=True, html=(visit, depart))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
