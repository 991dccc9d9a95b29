"""Writes each page as plain Markdown with its outputs, and the book as one such file.

    refs.html.md     the page refs.html, for those who read no HTML
    llms.txt         what there is, a line a page: https://llmstxt.org
    llms-full.txt    all pages, in the order of the table of contents

Made from the pages as they were resolved and run, without a second run.
"""

import pathlib
from collections.abc import Iterator

import nbformat
from docutils import nodes
from sphinx import addnodes

from book import address, former, markdown, summary
from book.as_run import as_run
from book.project import project
from book.take_away import outputs

SUFFIX = ".html.md"
_ALTERNATE = '\n<link rel="alternate" type="text/markdown" href="{}" />'
_ABOUT = """\
# {book}

> {description} It ran with {versions}.

Every output was printed by the code above it when the book was built, with these
versions; other releases may differ. Figures in sentences come from the same run. Each
heading is followed by its address within its page, which does not change.
"""
_WHOLE = """
The whole book, with all outputs: [llms-full.txt]({})
"""


def page_text(app, page: str, doctree: nodes.document) -> str:
    """Return a page as Markdown, with its outputs below its cells."""
    run = as_run(app, page)
    texts = []
    for part in markdown.parts(doctree, lambda to: address.of_link(app, page, to)):
        if part.cell is not None:
            texts += _cell(run.cells[part.cell])
        elif part.label:
            texts.append(f"{part.text} {{#{part.label}}}")
        else:
            texts.append(part.text)
    texts.insert(1, f"Page: <{address.of_page(app, page)}>")
    return "\n\n".join(texts) + "\n"


def _cell(cell: nbformat.NotebookNode) -> Iterator[str]:
    """Yield a cell's code, and what it printed or showed."""
    if "remove-input" not in cell.metadata.get("tags", ()):
        yield markdown.fenced(cell.source, "python")
    if "remove-output" in cell.metadata.get("tags", ()):
        return
    for output in outputs(cell):
        data = output.get("data", {})
        if any(kind.startswith("image/") for kind in data):
            image = cell.metadata.get("mystnb", {}).get("image", {})
            yield f"Picture: {markdown.escaped(image.get('alt', '').strip())}"
        yield markdown.fenced(_text(output), "text")


def _text(output: nbformat.NotebookNode) -> str:
    """Return an output as text; a picture of the book has its numbers as text."""
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return output.data.get("text/plain", "")


def write(app, page, template, context, doctree) -> None:
    """Write a page as Markdown beside itself."""
    if doctree is not None and page in app.env.found_docs:
        text = page_text(app, page, doctree)
        pathlib.Path(app.outdir, page + SUFFIX).write_text(text, "utf-8")
        context["book_plain"] = page + SUFFIX
        context["metatags"] += _ALTERNATE.format(page + SUFFIX)


def contents(env, root: str) -> list[tuple[str, list[str]]]:
    """Return the parts of the book: their captions, and their pages in order."""

    def below(page: str) -> list[str]:
        return [
            name
            for child in env.toctree_includes.get(page, ())
            for name in (child, *below(child))
        ]

    parts = [("", [root])]
    for tree in env.get_doctree(root).findall(addnodes.toctree):
        pages = [p for child in tree["includefiles"] for p in (child, *below(child))]
        parts.append((tree.get("caption") or "", pages))
    return parts


def finish(app, exception) -> None:
    """Write the two files of the whole book, and remove pages that are gone."""
    if exception is not None or app.builder.format != "html":
        return
    out, root = pathlib.Path(app.outdir), app.config.root_doc
    kept = app.env.found_docs | former.copies(app, out, SUFFIX)
    for path in out.glob(f"*{SUFFIX}"):
        if path.name.removesuffix(SUFFIX) not in kept:
            path.unlink()
    parts = contents(app.env, root)
    about = _about(app)
    lines = [about + _WHOLE.format(address.of_file(app, "llms-full.txt"))]
    for caption, pages in parts:
        lines += ["", f"## {caption}", ""] if caption else []
        lines += [_line(app, page) for page in pages]
    (out / "llms.txt").write_text("\n".join([*lines, ""]), "utf-8")
    texts = [
        (out / (page + SUFFIX)).read_text("utf-8")
        for _, pages in parts
        for page in pages
    ]
    (out / "llms-full.txt").write_text("\n".join([about, *texts]), "utf-8")


def _about(app) -> str:
    *most, last = (f"{k} {v}" for k, v in app.config.book_versions.items())
    return _ABOUT.format(
        book=app.config.project,
        description=project()["description"],
        versions=f"{', '.join(most)} and {last}",
    )


def _line(app, page: str) -> str:
    of = summary.of_page(app.env, page)
    to = address.of_file(app, page + SUFFIX)
    about = f": {markdown.escaped(of.question)}" if of.question else ""
    return f"- [{markdown.escaped(of.title)}]({to}){about}"


def setup(app):
    """Connect to the writing of each page, and to the end of the build."""
    app.setup_extension("book.as_run")
    app.setup_extension("book.summary")
    app.connect("html-page-context", write)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
