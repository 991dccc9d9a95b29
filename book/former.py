"""Keeps the addresses of what was made of a page that has moved; see `book.moved`.

A page leads on to its new address. A notebook cannot, so the new one stands at the old
address as well.
"""

import pathlib
import shutil

from book import moved


def copies(app, folder: pathlib.Path, suffix: str) -> set[str]:
    """Copy what was made of pages to the names that these had before.

    Args:
      app: Sphinx.
      folder: where the files are.
      suffix: what stands in their names behind the name of the page.

    Returns:
      The former names of those that are there.
    """
    found = set()
    for old, new in moved.of(app).items():
        made = folder / f"{new.page}{suffix}"
        if old.label or old.page in app.env.found_docs:
            continue  # a page that is still there is named by `book.moved`
        if made.exists():
            shutil.copyfile(made, folder / f"{old.page}{suffix}")
            found.add(old.page)
    return found
