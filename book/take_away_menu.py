"""Puts what of a page can be taken away into a menu at its top.

It stands at the foot of each page too (``docs/_templates/take-away.html``), where those
arrive who have read it.
"""


def add(app, page, template, context, doctree) -> None:
    """Add the menu to the buttons of a page, if there is something to take away."""
    found = [
        {"type": "link", "url": url, "text": text, "icon": icon, "tooltip": tooltip}
        for url, text, icon, tooltip in (
            (_to(context, "book_notebook"), "Notebook", "fa-download", "To download"),
            (context.get("book_colab"), "Colab", "fa-play", "Open it in Colab"),
            (_to(context, "book_plain"), "Markdown", "fa-file", "As one text"),
        )
        if url
    ]
    if found:
        context["header_buttons"].append(
            {
                "type": "group",
                "tooltip": "Take this page away",
                "icon": "fa-download",
                "buttons": found,
                "label": "take-away",
            }
        )


def _to(context, name: str) -> str:
    """Return the way from the page to a file of the book; '' if there is none."""
    return context["pathto"](context[name], 1) if name in context else ""


def setup(app):
    """Connect to the writing of each page, behind all that the menu is made of."""
    app.connect("html-page-context", add, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
