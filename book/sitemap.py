"""Tells search engines which pages there are: `sitemap.xml`, and `robots.txt` for it.

Only where the book's address is known; Sphinx then writes the canonical address into
each page by itself. sphinx-sitemap (2.9) lists only the pages that a build has written,
and starts a process for that.
"""

import pathlib
from xml.etree import ElementTree

from book import address

_SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def sitemap(addresses: list[str]) -> bytes:
    """Return a map of a site.

    >>> b"<loc>https://host/a.html</loc>" in sitemap(["https://host/a.html"])
    True
    """
    root = ElementTree.Element("urlset", xmlns=_SPACE)
    for each in addresses:
        ElementTree.SubElement(ElementTree.SubElement(root, "url"), "loc").text = each
    ElementTree.indent(root)
    return ElementTree.tostring(root, "utf-8", xml_declaration=True) + b"\n"


def write(app, exception) -> None:
    """Write both files, or remove those of an earlier build."""
    if exception is not None or app.builder.format != "html":
        return
    files = {"sitemap.xml": b"", "robots.txt": b""}
    if app.config.html_baseurl:
        # What stands in no table of contents is no page to find, such as a 404.
        meta = app.env.metadata
        pages = sorted(p for p in app.env.found_docs if "orphan" not in meta[p])
        files["sitemap.xml"] = sitemap([address.of_page(app, page) for page in pages])
        where = address.of_file(app, "sitemap.xml")
        files["robots.txt"] = f"User-agent: *\nAllow: /\nSitemap: {where}\n".encode()
    for name, content in files.items():
        path = pathlib.Path(app.outdir, name)
        if content:
            path.write_bytes(content)
        else:
            path.unlink(missing_ok=True)


def setup(app):
    """Connect to the end of the build."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
