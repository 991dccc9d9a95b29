"""Gives Sphinx's check of links those that the page of names makes.

    make linkcheck

That check looks at a page before the page of names is filled in, and would never see
its links to Kauldron's source: one for each name, which differ only in their lines.
"""

from sphinx.builders.linkcheck import CheckExternalLinksBuilder, Hyperlink

from book.public import public


def files() -> list[str]:
    """Return the addresses of the files that define the public names, without lines.

    >>> [file for file in files() if file.endswith("konfig/utils.py")]
    ['https://github.com/google-research/kauldron/blob/v1.4.4/kauldron/konfig/utils.py']
    """
    return sorted({each.address().partition("#")[0] for each in public().values()})


def add(app, env) -> None:
    """Have these addresses checked as well."""
    builder = app.builder
    if isinstance(builder, CheckExternalLinksBuilder) and "names" in env.found_docs:
        for file in files():
            builder.hyperlinks.setdefault(
                file, Hyperlink(file, "names", env.doc2path("names"), 0)
            )


def setup(app):
    """Connect to the moment when the pages have been read."""
    app.connect("env-updated", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
