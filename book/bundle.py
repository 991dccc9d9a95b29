"""One style sheet and one script for all pages, with only what the pages use.

The theme and the extensions bring eight style sheets and as many scripts, most of whose
rules are for things that this book does not have. At the end of the build they become
``_static/site.css`` and ``_static/site.js``; what no page refers to is removed.

A rule stays if each class, id and element in its selector stands in some page, or as a
word in a script, which may make it. Sheets and scripts that an extension adds to single
pages are left to those pages.
"""

import functools
import hashlib
import html.parser
import itertools
import os
import pathlib
import re
from collections.abc import Iterable

import tinycss2

from book.cells import DOCS
from book.remembered import Remembered

SHEET, SCRIPT = "_static/site.css", "_static/site.js"

_ADDRESS = re.compile(r'(_static/site\.(?:css|js))(?:\?v=\w+)?(?=")')
_WORD = re.compile(r"[\w-]+")
# A page that can refer to no file has its styles in itself.
_INLINE = re.compile(r'<link rel="stylesheet" href="[^"]*site.css[^"]*" data-inline>')
_FILE = re.compile(r"[\w.-]+\.\w+")
_INSIDE = {"book.css", "book.js"}  # ours, and part of the sheet and the script


# --- while pages are rendered ---------------------------------------------------------


def take_out(app, pagename, templatename, context, doctree) -> None:
    """Leave to a page the sheets and scripts that are its own, to be run in order."""
    bundled = {*app.config.book_sheets, *app.config.book_scripts}
    bundled |= {*app.config.book_dropped}
    for kind in ("css_files", "script_files"):
        context[kind] = [
            asset for asset in context[kind] if _name(asset) not in {"", *bundled}
        ]
    for script in context["script_files"]:
        # Behind the bundle, which they may need; it waits for the page too.
        if not {"defer", "async", "type"} & set(script.attributes):
            script.attributes["defer"] = "defer"


def _name(asset) -> str:
    """Return a file's name below ``_static``, or nothing for code that has no file."""
    name = os.fspath(getattr(asset, "filename", asset) or "")
    name = name.removeprefix("_static/")
    # MyST-NB puts a hash into the name of its sheet.
    return re.sub(r"^mystnb\.\w+\.css$", "mystnb.*.css", name)


# --- which rules are used -------------------------------------------------------------


class _Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag, attributes):
        self.found.add(tag)
        for name, value in attributes:
            if name == "class":
                self.found.update(f".{word}" for word in (value or "").split())
            elif name == "id":
                self.found.add(f"#{value}")


def used_in(page: str) -> set[str]:
    """Return the elements, classes and ids of a page.

    >>> sorted(used_in('<p class="big red" id="x">words</p>'))
    ['#x', '.big', '.red', 'p']
    """
    reader = _Reader()
    reader.feed(page)
    return reader.found


def _needs(selector: list) -> set[str]:
    """Return the elements, classes and ids without which a selector fits nothing."""
    needs, before = set(), None
    for token in selector:
        if token.type == "hash":
            needs.add(f"#{token.value}")
        elif token.type == "ident" and before == ".":
            needs.add(f".{token.value}")
        elif token.type == "ident" and before != ":":
            needs.add(token.lower_value)
        # Functions (`:not`, `:is`) and `[…]` are passed over: they only ever keep more.
        before = token.value if token.type == "literal" else None
    return needs


def _fits(selector: list, used: set[str], words: set[str]) -> bool:
    return all(need in used or need.lstrip(".#") in words for need in _needs(selector))


def _alternatives(prelude: list) -> list[list]:
    """Split a list of selectors at its commas."""
    groups = itertools.groupby(prelude, lambda token: token == ",")
    return [list(tokens) for comma, tokens in groups if not comma]


def _head(rule) -> str:
    return f"@{rule.at_keyword} {tinycss2.serialize(rule.prelude).strip()}".rstrip()


def _rules(rules: Iterable, used: set[str], words: set[str]) -> list[tuple[str, list]]:
    """Return the rules that may fit, as pairs of what stands before ``{`` and inside.

    Inside are declarations, or again rules.
    """
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [
                tinycss2.serialize(selector).strip()
                for selector in _alternatives(rule.prelude)
                if _fits(selector, used, words)
            ]
            if selectors:
                inside = tinycss2.parse_blocks_contents(rule.content)
                kept.append(
                    (",".join(selectors), [d for d in inside if d.type != "comment"])
                )
        elif rule.type == "error":
            raise ValueError(f"line {rule.source_line}: {rule.message}")
        elif rule.lower_at_keyword in ("media", "supports", "container"):
            inside = _rules(
                tinycss2.parse_rule_list(rule.content, True, True), used, words
            )
            if inside:
                kept.append((_head(rule), inside))
        elif rule.lower_at_keyword.endswith("keyframes"):
            kept.append((_head(rule), tinycss2.serialize(rule.content)))
        elif rule.lower_at_keyword == "page":
            kept.append((_head(rule), tinycss2.parse_blocks_contents(rule.content)))
        elif rule.lower_at_keyword not in ("font-face", "charset"):
            # No font is shipped. All else may matter.
            raise ValueError(f"line {rule.source_line}: @{rule.at_keyword}")
    return kept


def _text(rules: list, variables: set[str] | None, moving: set[str] | None) -> str:
    """Write rules, without custom properties and key frames that nothing names."""
    parts = []
    for head, inside in rules:
        if isinstance(inside, str):  # key frames
            if moving is None or head.split()[-1] in moving:
                parts.append(f"{head}{{{inside}}}")
            continue
        if inside and isinstance(inside[0], tuple):
            body = _text(inside, variables, moving)
        else:
            body = ";".join(
                tinycss2.serialize([part]).strip(" \n;")
                for part in inside
                if part.type == "declaration"
                and not (
                    variables is not None
                    and part.name.startswith("--")
                    and part.name not in variables
                )
            )
        if body:
            parts.append(f"{head}{{{body}}}")
    return "\n".join(parts)


@functools.cache
def _parsed(sheet: str) -> list:
    return tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True)


def shaken(sheets: Iterable[str], used: set[str], words: set[str]) -> str:
    """Return what is left of style sheets if only what is used stays.

    Args:
      sheets: their texts, in their order.
      used: elements, ``.classes`` and ``#ids``; see `used_in`.
      words: which scripts hold; each may be a class, an id or a custom property.

    Raises:
      ValueError: if a sheet cannot be read, or what is left asks for a file.

    >>> sheet = "p, .a > b {color: var(--x)} :root {--x: red; --y: 0} i {top: 0}"
    >>> print(shaken([sheet], {"p"}, set()), end="")
    p{color: var(--x)}
    :root{--x: red}
    """
    rules = [rule for sheet in sheets for rule in _rules(_parsed(sheet), used, words)]
    text, shorter = _text(rules, None, None), None
    while text != shorter:  # a custom property may be named by another that goes
        text = shorter or text
        variables = set(re.findall(r"var\(\s*(--[\w-]+)", text)) | words
        animated = re.findall(r"animation(?:-name)?\s*:([^;}]*)", text)
        shorter = _text(rules, variables, set(_WORD.findall(" ".join(animated))))
    if urls := re.findall(r"url\((?!\s*[\"']?data:)[^)]*\)", text):
        raise ValueError(f"the style sheets ask for {', '.join(urls)}")
    return text + "\n"


# --- at the end of the build ----------------------------------------------------------


def write(app, exception) -> None:
    """Write the sheet and the script, name them in the pages, remove all the rest."""
    if exception is not None or app.builder.format != "html":
        return
    out = pathlib.Path(app.outdir)
    static = out / "_static"
    names = app.config.book_scripts
    script = "\n".join((static / name).read_text("utf-8") for name in names)
    paths = [next(static.glob(name)) for name in app.config.book_sheets]
    sheets = [path.read_text("utf-8") for path in paths]
    # Removed pages are still there until `book.leftovers` has run, which is before.
    pages = {
        path: path.read_text("utf-8")
        for path in sorted(out.rglob("*.html"))
        if static not in path.parents
    }

    _remove_unused(static, list(pages.values()), {*names, *app.config.book_sheets})
    scripts = [
        script,
        *(
            path.read_text("utf-8")
            for path in static.rglob("*.js")
            if path.name != "site.js"
        ),
    ]
    words = {word for text in scripts for word in _WORD.findall(text)}
    # Three quarters of a second, if nothing were known from the build before.
    code = pathlib.Path(__file__).read_bytes()
    remembered = Remembered(pathlib.Path(app.doctreedir, "bundle.pickle"), code)
    used = set().union(*(remembered(used_in, text) for text in pages.values()))
    (out / SCRIPT).write_text(script, "utf-8")
    sheet = "\n".join(sheets)
    if app.config.book_shake:
        sheet = remembered(shaken, sheets, used, words)
    (out / SHEET).write_text(sheet, "utf-8")

    # Behind the address, so that no cache gives an old one.
    versions = {
        name: hashlib.sha256((out / name).read_bytes()).hexdigest()[:8]
        for name in (SHEET, SCRIPT)
    }
    for path, text in pages.items():
        if link := _INLINE.search(text):
            own = remembered(shaken, sheets, used_in(text), set())
            text = text.replace(link[0], f"<style>\n{own}</style>")
        named = _ADDRESS.sub(lambda found: f"{found[1]}?v={versions[found[1]]}", text)
        if named != pages[path]:
            path.write_text(named, "utf-8")
    remembered.save()


def _remove_unused(static: pathlib.Path, pages: list[str], bundled: set[str]) -> None:
    """Remove what is in the bundle now, and files not ours that nothing names.

    Args:
      static: the folder of the files.
      pages: their texts.
      bundled: names of the files whose text is in the sheet and the script.
    """
    ours = {path.name: path for path in (DOCS / "_static").rglob("*")}
    scripts = [path.read_text("utf-8") for name, path in ours.items() if ".js" in name]
    by_pages = {word for text in pages for word in _FILE.findall(text)}
    by_scripts = {word for text in scripts for word in _FILE.findall(text)}
    kept = by_pages | ((by_scripts | set(ours)) - bundled)
    for path in sorted(static.rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.name not in kept:
            path.unlink()


def setup(app):
    """Connect to the rendering of each page and to the very end of the build."""
    app.add_config_value("book_sheets", [], "html")
    app.add_config_value("book_scripts", [], "html")
    app.add_config_value("book_dropped", [], "html")
    # A test compares pages with the whole sheets and with what is left of them.
    app.add_config_value("book_shake", True, "html")
    app.connect("html-page-context", take_out, priority=900)
    # Behind those who write style sheets and pages at the end of a build.
    app.connect("build-finished", write, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
