"""Settings of Sphinx; what goes beyond settings is an extension under book/."""

import os

from book import environment

environment.prepare()  # the kernels inherit it

project = "Kauldron, Executed"
author = "the authors of Kauldron, Executed"
language = "en"

extensions = [
    "myst_nb",
    "sphinx_copybutton",
    "book.address",
    "book.anchors",
    "book.answers",
    "book.bundle",
    "book.claims",
    "book.compatibility_page",
    "book.doctor_file",
    "book.execution",
    "book.find_by_message",
    "book.folded",
    "book.freshness",
    "book.glue",
    "book.leftovers",
    "book.linking",
    "book.moved",
    "book.names",
    "book.names_page",
    "book.not_found",
    "book.notebooks",
    "book.numbers",
    "book.own_ids",
    "book.page_rules",
    "book.pictures",
    "book.plain",
    "book.policy",
    "book.quotes",
    "book.sections",
    "book.sitemap",
    "book.snippets_used",
    "book.take_away_menu",
    "book.transcripts",
    "book.unfurl",
    "book.upstream_links",
    "book.what_ran",
]

# --- pages ----------------------------------------------------------------------
root_doc = "index"
nitpicky = True
myst_enable_extensions = ["colon_fence", "deflist"]
# Messages that are pasted into sentences keep the quotes that they were printed with.
smartquotes = False
# Only labels of our own are offered as links; automatic ones move.
myst_heading_anchors = 0
templates_path = ["docs/_templates"]
exclude_patterns = ["_*"]

# `make html PAGE=refs`: that page alone; several by `make bench`, the first of them is
# the root. Links to the others cannot be checked then.
if some_pages := os.environ.get("BOOK_PAGE", "").split():
    root_doc = some_pages[0]
    include_patterns = [f"{page}.md" for page in some_pages]
    suppress_warnings = [
        "myst.xref_missing",
        "ref.ref",
        "toc.not_readable",
        "toc.excluded",
    ]

# --- execution --------------------------------------------------------------------
# book.execution runs the pages; MyST-NB renders what it is given.
nb_execution_mode = "off"
nb_custom_formats = {".md": "book.execution.executed"}
nb_merge_streams = True
nb_output_stderr = "remove"
# Objects are shown as text. The HTML that some bring along loads scripts from other
# sites: a ConfigDict's asks a CDN for highlight.js.
nb_mime_priority_overrides = [("html", "text/html", None)]

# --- links to other sites (`make linkcheck`) -----------------------------------------
linkcheck_timeout = 20
linkcheck_retries = 3
# Lines of source on GitHub are made by a script: there is nothing to look for.
linkcheck_anchors_ignore = ["^!", r"^L\d+"]

# --- look ---------------------------------------------------------------------------
html_theme = "sphinx_book_theme"
html_title = project
html_static_path = ["docs/_static"]
# What all pages have in common is sent as one sheet and one script; see book.bundle.
book_sheets = [
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "mystnb.*.css",
    "copybutton.css",
    "book.css",
]
book_scripts = [
    "documentation_options.js",
    "doctools.js",
    "sphinx_highlight.js",
    "clipboard.min.js",
    "copybutton.js",
    "book.js",
    "linking.js",
]
# Its uses are in book.js.
book_dropped = ["scripts/sphinx-book-theme.js"]
html_additional_pages = {"search": "search.html"}  # with an index of our own
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_permalinks_icon = "#"
pygments_style = "default"
copybutton_selector = "div.highlight:not(.cell_output *) pre"
copybutton_exclude = ".linenos, .gp, .go"

# One setting gives the buttons their addresses; without it there are no buttons,
# rather than wrong ones. CI sets it.
repository = os.environ.get("BOOK_REPOSITORY", "").rstrip("/")
html_context = {"book_repository": repository}
# The address at which the book is published, which only whoever publishes it knows.
# CI sets it. Without it there are no canonical links, cards or sitemap.
html_baseurl = os.environ.get("BOOK_URL", "").rstrip("/")
# Where Colab opens the notebooks, if somebody keeps them in a branch on GitHub:
# https://colab.research.google.com/github/OWNER/NAME/blob/BRANCH/notebooks
book_colab = os.environ.get("BOOK_COLAB", "").rstrip("/")
html_theme_options = {
    "repository_url": repository,
    # The theme knows hosts of these names, and takes any other for a GitHub.
    "repository_provider": next(
        (name for name in ("gitlab", "bitbucket") if name in repository), "github"
    ),
    "repository_branch": "main",
    "path_to_docs": "docs",
    "use_repository_button": bool(repository),
    "use_issues_button": bool(repository),
    "use_edit_page_button": bool(repository),
    "use_download_button": False,
    "use_fullscreen_button": False,
    "home_page_in_toc": True,
    "footer_content_items": ["take-away.html", "what-ran.html"],
}
