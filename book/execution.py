"""Has the pages run before Sphinx reads them, and hands the results over.

Sphinx's own part is rendering: MyST-NB is given executed notebooks and never runs
anything itself. A page that has run before with all that it is made from is taken
from the store.
"""

import atexit
import contextlib
import pathlib
from typing import NoReturn

import nbformat
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook

from book import store, warm
from book.cells import cells_of_text, problems
from book.running import jobs, run_pages, warm_kernels

# The executed pages of this build, by the text of the page.
_executed: dict[str, nbformat.NotebookNode] = {}


def run_outdated_pages(app, env, pages: list[str]) -> None:
    """Run the pages that Sphinx is about to read; stop the build if a cell fails."""
    texts, docnames, failures = {}, {}, []
    for page in pages:
        path = pathlib.Path(env.doc2path(page))
        name = str(path.relative_to(app.srcdir.parent))
        if path.suffix != ".md" or path.parent != app.srcdir:
            failures.append(f"{name}:1: not a page of the book, which are docs/*.md")
            continue
        text = path.read_text("utf-8")
        wrong = problems(text)
        failures += [f"{name}:{line}: {message}" for line, message in wrong]
        if not wrong and cells_of_text(text):
            texts[name], docnames[name] = text, page
    if failures:
        stop(failures)
    kept = store.Store()
    waiting = {}
    for name, text in texts.items():
        notebook = kept.load(text)
        if notebook is None:
            waiting[name] = text
        else:
            _executed[text] = notebook
            kept.note(name, text)
    if not waiting:
        return
    longest_first = sorted(waiting, key=lambda n: kept.seconds(n, waiting[n]))[::-1]
    waiting = {name: waiting[name] for name in longest_first}

    def take(name: str, notebook, failure: str | None, seconds: float) -> None:
        app.book_runs[docnames[name]] = seconds, kept.why(name, texts[name])
        if failure:
            failures.append(failure)
        else:
            _executed[texts[name]] = notebook
            kept.save(name, texts[name], notebook, seconds)

    if len(waiting) > 1 and warm_kernels():
        app.book_warm.enter_context(warm.shared_process())
    run_pages(waiting, jobs(), on_done=take)
    if failures:
        stop(failures)


def stop(failures: list[str]) -> NoReturn:
    """End the build with the failures, and nothing else.

    Not by a SphinxError: Sphinx 9 wraps those in a page of its own state and asks the
    reader to report a bug of Sphinx.

    Raises:
      SystemExit: always.
    """
    raise SystemExit("\n\n".join(["", *sorted(failures), "The book was not built."]))


def executed(text: str) -> nbformat.NotebookNode:
    """Return the page as MyST-NB renders it: a notebook, executed if it has cells.

    MyST-NB calls this for every ``.md`` file (``nb_custom_formats`` in conf.py).
    """
    if text in _executed:
        return _executed[text]
    if is_myst_markdown_notebook(text):
        return read_myst_markdown_notebook(text, add_source_map=True)
    cell = nbformat.v4.new_markdown_cell(text)
    # MyST-NB takes it that a blank line comes first, as behind front matter.
    return nbformat.v4.new_notebook(cells=[cell], metadata={"source_map": [-1]})


def print_times(app, exception) -> None:
    """Print how long each page took that ran, and why it ran, and where the book is.

    To the terminal only: a built page holds no time of its build.
    """
    if exception is None and app.builder.format == "html":
        if app._warncount:
            print("The book has warnings, see above.")
            return
        for page, (seconds, reasons) in sorted(
            app.book_runs.items(), key=lambda run: -run[1][0]
        ):
            first, more = reasons[:3], reasons[3:]
            first += [f"{len(more)} more"] if more else []
            because = f"  ({', '.join(first)} changed)" if first else ""
            print(f"{seconds:6.1f} s  {page}{because}")
        if not app.book_runs:
            print("No page needed to run again.")
        print(f"The book is at {app.outdir / (app.config.root_doc + '.html')}")


def setup(app):
    """Connect to the moment before pages are read, and to the end of the build."""
    app.book_runs = {}
    # Kept until all pages have been read, since names are looked up in it then.
    app.book_warm = contextlib.ExitStack()
    atexit.register(app.book_warm.close)
    app.connect("env-before-read-docs", run_outdated_pages)
    app.connect("env-updated", lambda app, env: app.book_warm.close(), priority=900)
    app.connect("build-finished", print_times)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
