"""Keeps something of each page that has been read, with what Sphinx keeps of it.

Sphinx drops a page's metadata when the page has changed or is gone, and takes it over
from processes that read some of the pages. So no extension has to do that itself.
"""


def keep(env, kind: str, what: object) -> None:
    """Keep something of the page that is being read.

    Args:
      env: Sphinx's environment.
      kind: by which it is found again.
      what: is kept; it has to be pickled.
    """
    env.metadata[env.docname][f"book {kind}"] = what


def kept(env, kind: str) -> dict[str, object]:
    """Return what was kept of that kind, by the name of the page."""
    name = f"book {kind}"  # front matter may have fields of any name of one word
    return {page: of[name] for page, of in env.metadata.items() if name in of}
