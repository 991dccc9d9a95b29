"""Holds what stands in code spans and in quotation marks to what was run.

A sentence that quotes a message is wrong as soon as the message is another one. So each
code span has to be one of these, and the check says which of them it tried:

* names that `book.names` looks up, also by its roles (but a value is not looked up);
* words that stand in the code or the output shown on the page, with any white space
  between them: an output may break a message into lines;
* code of a claim on the page or of a snippet module that it uses, if the span is code
  and no message;
* one of the kinds in `KINDS`, each with a check of its own.

What stands in "quotation marks" in a sentence is a quotation too, of the page's output.
"""

import functools
import importlib.metadata
import keyword
import re
from collections.abc import Callable

from docutils import nodes
from sphinx.util import logging

from book import environment
from book.cells import ROOT, cells_of_text, made_from
from book.names import expression, imports, is_all_names, marked
from book.prose import Words, shown, words
from book.resolving import ALIASES

logger = logging.getLogger(__name__)

_QUOTED = re.compile(r'"([^"]+)"')


def _is_file(text: str) -> bool:
    return bool(re.fullmatch(r"[\w.-]+(/[\w.-]+)*", text)) and (ROOT / text).is_file()


def _is_make_target(text: str) -> bool:
    target = text.removeprefix("make ")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    return target != text and f".PHONY: {target}\n" in makefile


def _is_variable(text: str) -> bool:
    name, _, value = text.partition("=")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    unset = name in environment.REMOVED or f"unexport {name}\n" in makefile
    known = environment.ENVIRONMENT.get(name)
    return unset if known is None else value in ("", known)


def _is_package(text: str) -> bool:
    return text in _packages()


@functools.cache
def _packages() -> set[str]:
    """Return what can be installed and imported, by the names of both."""
    by_module = importlib.metadata.packages_distributions()
    return {*by_module, *(name for names in by_module.values() for name in names)}


def _is_python(text: str) -> bool:
    return keyword.iskeyword(text) or text in dir(type)


# What may stand in a code span though no cell of the page shows it: the reason, and
# what it has to pass.
KINDS: dict[str, Callable[[str], object]] = {
    "a file of the repository, which the reader can open": _is_file,
    "a target of the Makefile": _is_make_target,
    "an environment variable that the book sets or removes": _is_variable,
    "a package that is installed": _is_package,
    "a library, by its alias": ALIASES.__contains__,
    "a word of Python": _is_python,
}


def stands_in(quotation: str, text: str) -> bool:
    """Tell whether a quotation stands in a text, whole words with any space between.

    >>> stands_in("Invalid path", "an Invalid\\n  path: x")
    True
    >>> stands_in("step", "steps"), stands_in("a b", "ab")
    (False, False)
    """
    between = r"\s+".join(re.escape(word) for word in quotation.split())
    before = r"(?<!\w)" if re.match(r"\w", quotation) else ""
    after = r"(?!\w)" if re.search(r"\w$", quotation) else ""
    # The message of a KeyError prints as a string, with its line breaks spelt out.
    text = text.replace("\\n", "\n")
    return bool(between) and bool(re.search(before + between + after, text))


def check(app, doctree: nodes.document) -> None:
    """Warn for each code span and quotation of a page that nothing holds."""
    on_page = shown(doctree)
    bound = imports(doctree)
    also_run = _snippets(app.env.doc2path(app.env.docname)) + _claims(doctree)

    def held(words_: Words) -> object:
        text = words_.text.strip()
        return (
            (marked(words_.node.parent) and "=" not in text)
            or is_all_names(text, bound)
            or stands_in(text, on_page)
            or (_is_code(text) and stands_in(text, also_run))
            or any(is_kind(text) for is_kind in KINDS.values())
        )

    for found in words(doctree):
        if found.kind == "code" and not held(found):
            _warn(app, found.line, f"`{found.text}`")
        elif found.kind not in ("code", "alt text"):
            for quotation in _QUOTED.finditer(found.text):
                if not stands_in(quotation[1], on_page):
                    line = found.line + found.text.count("\n", 0, quotation.start())
                    _warn(app, line, quotation[0])


def _is_code(text: str) -> bool:
    return expression(text) is not None or expression(f"call({text})") is not None


def _claims(doctree: nodes.document) -> str:
    """Return the code of the page's claims, which no reader sees."""
    return "\n".join(block.astext() for block in doctree.findall(nodes.comment))


def _snippets(path: str) -> str:
    """Return the code of the snippet modules that a page imports, itself or through."""
    with open(path, encoding="utf-8") as file:
        sources = [cell.source for cell in cells_of_text(file.read())]
    files = sorted(file for file in made_from(sources) if file.suffix == ".py")
    return "\n".join(file.read_text("utf-8") for file in files)


def _warn(app, line: int, quotation: str) -> None:
    logger.warning(
        "%s stands in no code and no output of this page; quote what was run",
        " ".join(quotation.split()),
        location=(app.env.docname, line),
        type="book",
        subtype="quote",
    )


def setup(app):
    """Connect to the reading of each page."""
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
