"""Says in the page how large each picture is, so that no text moves when it arrives.

Style sheets may show it smaller; the browser keeps its proportions.
"""

import pathlib

import imagesize
from docutils import nodes


def set_sizes(app, doctree, docname) -> None:
    """Give width and height, in pixels, to the pictures that do not have them."""
    for image in doctree.findall(nodes.image):
        path = pathlib.Path(app.srcdir, image["uri"])
        if {"width", "height", "scale"} & set(image.attributes) or not path.is_file():
            continue
        width, height = imagesize.get(path)
        if width > 0 and height > 0:
            image["width"], image["height"] = str(round(width)), str(round(height))


def setup(app):
    """Connect to the pages, when their pictures are known."""
    app.connect("doctree-resolved", set_sizes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
