"""Keeps what the cells of each page print, as text that is committed: a transcript.

    make accept               # writes tests/transcripts/ anew, and prints what changed
    make accept PAGE=refs

A build leaves the transcripts of what it ran beside the built book; the tests compare
those with the committed ones. So a changed output is red until somebody has read the
difference and accepted it.
"""

import argparse
import ast
import difflib
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal

import nbformat
from markdown_it.renderer import RendererHTML
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from book.cells import DOCS, ROOT, pages
from book.execution import executed, stop

KEPT = ROOT / "tests" / "transcripts"
KEPT_FOR = (3, 12)

# Cells that may print something else on another Python, each with the reason.
_VERSION = "the version of Python"
_SUGGESTS = "Python 3.13 suggests the name that was meant"
OTHER_PYTHON = {
    "docs/errors.md, section errors-misspelt-field, cell 1": _SUGGESTS,
    "docs/guardrails.md, section guardrails-frozen, cell 2": _SUGGESTS,
    "docs/guardrails.md, section guardrails-misspelt, cell 1": _SUGGESTS,
    "docs/guardrails.md, section guardrails-misspelt, cell 3": _SUGGESTS,
    "docs/index.md, section index-versions, cell 1": _VERSION,
    "docs/install.md, section install-versions, cell 1": _VERSION,
    "docs/konfig.md, section konfig-change, cell 3": _SUGGESTS,
}

# What differs from run to run, or from machine to machine, and is of no interest.
_NORMAL = {
    r"\b0x[0-9a-f]{6,}\b": "0x…",
    r"(/tmp|/var/folders)/[^\s'\")]+": "/tmp/…",
    r"\b(Python +3\.\d+)\.\d+\b": r"\1.x",
}

_HEAD = re.compile(r"## (.*), cell (\d+)")
# A number with a decimal point, and the spaces before it; no version (1.15.0, 3.12).
_FLOAT = re.compile(
    r"( *)(?<![\w.])(?<!Python )(-?\d+\.\d+(?:e[+-]?\d+)?)(?![\w.]*\w)", re.I
)


class NoDataError(ValueError):
    """A picture that does not say what it shows."""


def transcript(page: str, notebook: nbformat.NotebookNode) -> str:
    """Return what the cells of an executed page print, as a reader sees it.

    Each cell that prints, shows or glues something has a heading of its own, with the
    label of its section and its number there; what it printed is indented. Standard
    error is not shown to readers, nor is what a hidden cell prints.

    Args:
      page: the name of the page.
      notebook: the page as the kernel left it.

    Raises:
      NoDataError: for a picture whose numbers are not known.
    """
    parts = [f"# What the cells of docs/{page}.md print; `make accept` writes it."]
    for section, number, cell in cells_by_section(notebook):
        lines = [line.rstrip() for text in _said(cell) for line in text.splitlines()]
        while lines and not lines[-1]:
            lines.pop()
        if lines:
            body = "\n".join(f"    {line}".rstrip() for line in lines)
            parts.append(f"## {section}, cell {number}\n{body}")
    return "\n\n".join(parts) + "\n"


def differences(page: str, notebook: nbformat.NotebookNode, kept: str) -> list[str]:
    """Return where an executed page prints something else than its transcript says.

    Args:
      page: the name of the page.
      notebook: the page as the kernel left it.
      kept: the transcript.

    Returns:
      A text for each cell that differs: page, section, cell, and both outputs.
    """
    return compare(page, kept, transcript(page, notebook))


def compare(page: str, kept: str, new: str) -> list[str]:
    """Return the cells in which two transcripts of a page differ.

    Numbers with a decimal point may differ by one in their last digit, if they show
    three digits or more: so much a sum of float32 owes to the machine. All else has
    to be the same.

    >>> old = "## refs-ripple, cell 2\\n    rate 9.549e-05"
    >>> compare("refs", old, old.replace("549", "550"))
    []
    >>> print(*compare("refs", old, old.replace("549", "551")))
    docs/refs.md, section refs-ripple, cell 2:
      - rate 9.549e-05
      + rate 9.551e-05
    """
    before, now = _parse(kept), _parse(new)
    found = []
    for cell in [*now, *(cell for cell in before if cell not in now)]:
        changed = _changed(before.get(cell, []), now.get(cell, []))
        if changed:
            section, number = cell
            lines = [f"docs/{page}.md, section {section}, cell {number}:", *changed]
            found.append("\n".join(lines))
    return found


def unexpected(found: list[str], python: tuple[int, int]) -> list[str]:
    """Return the differences, of `compare`, that are not listed for another Python.

    Args:
      found: what differs.
      python: the version that ran.
    """
    if python == KEPT_FOR:
        return found
    return [text for text in found if _place(text) not in OTHER_PYTHON]


def unused(found: list[str]) -> list[str]:
    """Return the cells that are listed for another Python and do not differ there."""
    return sorted(set(OTHER_PYTHON) - {_place(text) for text in found})


def _place(difference: str) -> str:
    return difference.splitlines()[0].rstrip(":")


def printed(page: str, section: str, pattern: str, kept: pathlib.Path = KEPT) -> str:
    r"""Return what a page has printed: the one result that another page may take.

    Args:
      page: the name of the page that printed it.
      section: the label of the section, without the page's name.
      pattern: a regular expression, with a group round what is wanted. White space in
        it stands for any white space.
      kept: the folder of the transcripts.

    Raises:
      LookupError: if the section has not printed it, or has printed more than one.

    >>> printed("refs", "ripple", r"glued end of short: (\S+)")
    '9.549e-05'
    """
    path = kept / f"{page}.txt"
    if not path.exists():
        raise LookupError(f"no transcript; run `make accept PAGE={page}`")
    cells = _parse(path.read_text("utf-8"))
    said = "\n".join(
        line
        for (name, _), lines in cells.items()
        for line in lines
        if name == f"{page}-{section}"
    )
    wanted = re.sub(r" +", r"\\s+", pattern)
    # The same value twice, as in an error message, is one.
    found = {" ".join(match[1].split()) for match in re.finditer(wanted, said)} - {""}
    if len(found) != 1:
        where = f"docs/{page}.md, section: {page}-{section}"
        raise LookupError(f"{where}: {pattern!r} gives {found}")
    return found.pop()


def errors(text: str, kept: str) -> list[str]:
    """Return for each code cell of a page which error its transcript records.

    Args:
      text: the page.
      kept: its transcript.

    Returns:
      Names of classes; '' for a cell that raised nothing.
    """
    lines = _parse(kept)
    found = []
    for section, number, _ in cells_by_section(read_myst_markdown_notebook(text)):
        said = "\n".join(lines.get((section, str(number)), ()))
        raised = re.findall(r"^raised (\w+):", said, re.M)
        found.append(raised[0] if raised else "")
    return found


def unpaired(docs: pathlib.Path = DOCS, kept: pathlib.Path = KEPT) -> list[str]:
    """Return what is wrong where pages and transcripts do not go together."""
    have, wanted = {path.stem for path in kept.glob("*.txt")}, set(pages(docs))
    return [
        f"{docs.name}/{page}.md:1: no transcript; run `make accept PAGE={page}`"
        for page in sorted(wanted - have)
    ] + [
        f"{kept.parent.name}/{kept.name}/{page}.txt:1: no such page; run `make accept`"
        for page in sorted(have - wanted)
    ]


def accept(built: pathlib.Path, kept: pathlib.Path, names: list[str]) -> list[str]:
    """Keep what a build has printed.

    Args:
      built: the folder of the build's transcripts.
      kept: the folder of the committed ones.
      names: the pages.

    Returns:
      What changed, as `compare` says it.
    """
    kept.mkdir(parents=True, exist_ok=True)
    said = []
    for page in names:
        new, path = (built / f"{page}.txt").read_text("utf-8"), kept / f"{page}.txt"
        if not path.exists():
            said.append(f"{path.name}: new")
        elif (old := path.read_text("utf-8")) == new:
            continue
        else:
            said += compare(page, old, new) or [f"{path.name}: in the last digits"]
        _write(path, new)
    return said


def remove_others(kept: pathlib.Path, names: list[str]) -> list[str]:
    """Remove the transcripts of pages that are gone; return what was removed."""
    gone = sorted(path for path in kept.glob("*.txt") if path.stem not in names)
    for path in gone:
        path.unlink()
    return [f"{path.name}: removed, there is no such page" for path in gone]


def cells_by_section(
    notebook: nbformat.NotebookNode,
) -> Iterator[tuple[str, int, nbformat.NotebookNode]]:
    """Yield the code cells with the label of their section, and their number in it."""
    section, number = "", 0
    for cell in notebook.cells:
        if cell.cell_type == "code":
            number += 1
            yield section, number, cell
        elif cell.cell_type == "markdown":
            for label in labels(cell.source):
                section, number = label, 0


def labels(text: str) -> Iterator[str]:
    """Yield the labels of the headings in some Markdown: the nearest one above each.

    >>> list(labels("(old)=\\n(new)=\\n# Title\\n\\nWords.\\n\\n(b)=\\n## B"))
    ['new', 'b']
    """
    parser = create_md_parser(
        MdParserConfig(enable_extensions={"colon_fence"}), RendererHTML
    )
    label = ""
    for token in parser.parse(text + "\n"):
        if token.type == "myst_target":
            label = token.content
        elif token.type == "heading_open" and label:
            yield label
            label = ""


def _said(cell: nbformat.NotebookNode) -> Iterator[str]:
    """Yield the texts that a cell put on the page, normalised."""
    hidden = {"remove-cell", "remove-output"} & set(cell.metadata.get("tags", ()))
    for output in cell.outputs:
        if output.output_type == "error":
            # IPython's own subclass on Python 3.13, for a cell that breaks off.
            kind = output.ename.replace("_IncompleteInputError", "SyntaxError")
            yield normal(f"raised {kind}: {output.evalue}")
        elif output.output_type == "stream":
            if output.name == "stdout" and not hidden:
                yield normal(output.text)
        elif glued := output.metadata.get("scrapbook"):
            yield normal(f"glued {glued['name']}: {glued_text(output)}")
        elif not hidden:
            yield normal(_shown(output))


def glued_text(output: nbformat.NotebookNode) -> str:
    """Return the text of a figure that was glued, without the quotes of its repr."""
    prefix = output.metadata["scrapbook"]["mime_prefix"]
    text = output.data.get(f"{prefix}text/plain", "")
    return ast.literal_eval(text) if text.startswith(("'", '"')) else text


def _shown(output: nbformat.NotebookNode) -> str:
    """Return the text of a value that a cell displays; of a picture, its data."""
    for kind in output.data:
        if kind.startswith("image/"):
            data = output.metadata.get(kind, {}).get("drawn")
            if not data:
                raise NoDataError(f"a picture ({kind}) without its data")
            return f"picture\n{output.data['text/plain']}\n{data}"
    for kind in ("text/markdown", "text/latex", "text/plain"):
        if kind in output.data:
            return output.data[kind]
    return ""


def normal(text: str) -> str:
    """Return a text without what differs from run to run.

    >>> normal("<object at 0x7f31a2b3c4d5> in /tmp/page-x1/run")
    '<object at 0x…> in /tmp/…'
    """
    for pattern, instead in _NORMAL.items():
        text = re.sub(pattern, instead, text)
    return text


def _parse(text: str) -> dict[tuple[str, str], list[str]]:
    """Return the lines of each cell, by section and number."""
    cells: dict[tuple[str, str], list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if head := _HEAD.fullmatch(line):
            lines = cells[head.groups()] = []
        else:
            lines.append(line.removeprefix("    "))
    for lines in cells.values():
        while lines and not lines[-1]:
            lines.pop()
    return cells


def _changed(before: list[str], now: list[str]) -> list[str]:
    """Return the lines that differ: old ones behind ``-``, new ones behind ``+``."""
    if len(before) == len(now):
        pairs = zip(before, now, strict=True)
        # What is alike is then the same, and is not shown as different.
        now = [old if _alike(old, new) else new for old, new in pairs]
    changed = []
    matcher = difflib.SequenceMatcher(None, before, now, autojunk=False)
    for what, i, j, k, m in matcher.get_opcodes():
        if what != "equal":
            changed += [f"  - {line}".rstrip() for line in before[i:j]]
            changed += [f"  + {line}".rstrip() for line in now[k:m]]
    return changed


def _alike(old: str, new: str) -> bool:
    """Tell whether two lines say the same, within the digits that they show.

    >>> _alike("loss 1.234, step 10", "loss 1.235, step 10")
    True
    >>> _alike("loss 1.234", "loss 1.236"), _alike("tol 0.1", "tol 0.2")
    (False, False)
    >>> _alike("step 10", "step 11"), _alike("etils 1.15.0", "etils 1.16.0")
    (False, False)
    """
    if _FLOAT.sub("…", old) != _FLOAT.sub("…", new):
        return False
    pairs = zip(_FLOAT.finditer(old), _FLOAT.finditer(new), strict=True)
    return all(
        # A number that became a digit longer takes a space from a column.
        (a[1] == b[1] or len(a[0]) == len(b[0])) and _close(a[2], b[2])
        for a, b in pairs
    )


def _close(old: str, new: str) -> bool:
    if old == new:
        return True
    numbers = [Decimal(old), Decimal(new)]
    digits = [number.as_tuple() for number in numbers]
    decimals = [text.lower().partition("e")[0].partition(".")[2] for text in (old, new)]
    unit = max(Decimal((0, (1,), number.exponent)) for number in digits)
    return (
        len(decimals[0]) == len(decimals[1])
        and min(len(number.digits) for number in digits) >= 3
        and abs(numbers[0] - numbers[1]) <= unit
    )


def _write(path: pathlib.Path, text: str) -> None:
    """Write a file at once: whoever stops this finds the old one or the new one."""
    part = path.with_suffix(".part")
    part.write_text(text, "utf-8")
    os.replace(part, path)


def write_built(app, env, names: list[str]) -> None:
    """Write the transcripts of the pages that have run, beside the built book.

    Before Sphinx reads them: MyST-NB takes the glued figures out of the notebooks.
    """
    folder = pathlib.Path(app.outdir).parent / "transcripts"
    folder.mkdir(parents=True, exist_ok=True)
    failures = []
    for page in names:
        text = pathlib.Path(env.doc2path(page)).read_text("utf-8")
        try:
            _write(folder / f"{page}.txt", transcript(page, executed(text)))
        except NoDataError as error:
            failures.append(
                f"docs/{page}.md:1: {error}; show a Picture of snippets.showing"
            )
    if failures:
        stop(failures)


def setup(app):
    """Connect to the moment when the pages have run."""
    app.connect("env-before-read-docs", write_built, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main() -> None:
    """Accept what the last build has printed, and print what changed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--page", default="", help="only this one")
    page = parser.parse_args().page
    if sys.version_info[:2] != KEPT_FOR:
        version = ".".join(map(str, KEPT_FOR))
        raise SystemExit(f"accept: transcripts are kept for Python {version}.")
    built = ROOT / "_build" / (f"page/{page}" if page else "") / "transcripts"
    names = [page] if page else pages()
    said = accept(built, KEPT, names)
    if not page:
        said += remove_others(KEPT, names)
    if said and not page:
        # Pages that show what others have printed run again.
        subprocess.run(["make", "--silent", "html"], cwd=ROOT, check=True)
        said += accept(built, KEPT, names)
    print("\n\n".join(said) if said else "Every output is as it was.")


if __name__ == "__main__":
    main()
