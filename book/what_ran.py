"""Puts at the foot of every page what it ran with, and from which commit it was built.

A reader who comes from a link sees no other page. The date is the commit's, not
the build's, so that two builds of one commit are the same.
"""

import functools
import importlib.metadata
import os
import platform
import subprocess

from book.cells import ROOT
from book.environment import ENVIRONMENT

PACKAGES = ("kauldron", "jax", "flax", "optax", "etils")


def versions() -> dict[str, str]:
    """Return the versions that the cells run with, as ``{name: version}``.

    The kernel is this very Python (a test holds that), so its packages are these.

    >>> versions()["kauldron"]
    '1.4.4'
    """
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    return found | {"Python": platform.python_version()}


@functools.cache
def commit() -> dict[str, str] | None:
    """Return hash and date (UTC) of the commit that is built; `None` outside a clone.

    An uncommitted change is said too: such a page is not the commit's.
    """
    try:
        full, date = _git(
            "log", "-1", "--format=%H %cd", "--date=format-local:%Y-%m-%d"
        ).split()
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None
    changed = bool(_git("status", "--porcelain", "--untracked-files=no"))
    return {"full": full, "short": full[:10], "date": date, "changed": changed}


def _git(*arguments: str) -> str:
    run = subprocess.run(
        ["git", *arguments],
        cwd=ROOT,
        env={**os.environ, "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.strip()


def add_context(app, pagename, templatename, context, doctree) -> None:
    """Hand versions and commit to the templates."""
    context["book_versions"] = app.config.book_versions
    context["book_commit"] = app.config.book_commit


def setup(app):
    """Connect to the rendering of each page.

    As settings, because Sphinx knows what to do when one has changed: other versions
    run every page again, another commit only writes them.
    """
    app.add_config_value("book_versions", versions(), "env")
    app.add_config_value("book_environment", ENVIRONMENT, "env")
    app.add_config_value("book_commit", commit(), "html")
    app.connect("html-page-context", add_context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
