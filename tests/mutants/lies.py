"""Small lies about the book, one at a time, in places drawn with a fixed seed.

Tools that mutate Python exist (mutmut, cosmic-ray); none knows a book's sentences, its
cells or the outputs that it keeps, and none can change what lies below it. So the lies
are made here, by the syntax tree where the place is code.
"""

import ast
import dataclasses
import functools
import hashlib
import json
import pathlib
import re
from collections.abc import Callable, Iterator

from book.cells import ROOT, cells_of_text, made_from, pages
from tests.mutants.upstream import PATCHES

SEED = 20_261

# How many lies of each kind are told, over all pages. Numbers, names and quotations are
# caught by construction, so they are less than a third.
KINDS = {
    "a number in prose": 16,
    "a name in prose": 16,
    "a word of a quoted message": 16,
    "a claim": 24,
    "a snippet": 32,
    "a cell": 18,
    "upstream": len(PATCHES),
    "a cell that no one runs": 6,
    "a deleted page": 4,
    "stale output": 6,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lie:
    """One lie.

    Attributes:
      kind: one of `KINDS`.
      path: the file that is changed, from the root of the book.
      line: where, counted from 1; 0 if it is about the whole file.
      before: what stood there.
      after: what stands there now.
      text: the whole file after the lie, or `None` if the file is gone.
      page: the page that the lie is told on, or that shows the code it is told in.
      place: the line that it is told in, how far into it, and the how manieth such
        line of the file it is.
    """

    kind: str
    path: str
    line: int
    before: str
    after: str
    text: str | None = dataclasses.field(repr=False)
    page: str
    place: str = ""

    @property
    def name(self) -> str:
        """A name that stays the same while the line of the place does."""
        what = "\0".join((self.kind, self.path, self.before, self.after, self.place))
        digest = hashlib.sha256(what.encode()).hexdigest()[:8]
        return f"{pathlib.Path(self.path).stem}-{digest}"

    def __str__(self) -> str:
        return f"{self.name}  {self.path}:{self.line}: {self.before!r} → {self.after!r}"


def lies(kinds: dict[str, int] | None = None) -> list[Lie]:
    """Return the lies to tell: the same ones as long as the book is the same.

    Args:
      kinds: how many of each kind; by default `KINDS`.

    Raises:
      AssertionError: if a kind finds too few places, since the count would then lie.
    """
    told = []
    for kind, wanted in (kinds or KINDS).items():
        found = sorted(MAKERS[kind](), key=lambda lie: _lot(lie.name))
        chosen = _over_all_pages(found)[:wanted]
        assert len(chosen) == wanted, f"{kind}: {len(chosen)} places, {wanted} wanted"
        told += chosen
    return told


def _lot(*what: str) -> str:
    """Return where something stands in the draw.

    By itself, so that a new sentence on a page does not draw all lies anew.
    """
    return hashlib.sha256(" ".join((str(SEED), *what)).encode()).hexdigest()


def _over_all_pages(found: list[Lie]) -> list[Lie]:
    """Take turns among the pages, so that a long page does not take all places."""
    by_page: dict[str, list[Lie]] = {}
    for lie in found:
        by_page.setdefault(lie.page, []).append(lie)
    turns = max(map(len, by_page.values()), default=0)
    return [
        by_page[page][turn]
        for turn in range(turns)
        for page in sorted(by_page, key=lambda page: _lot(found[0].kind, page))
        if turn < len(by_page[page])
    ]


def _change(
    kind: str, page: str, path: pathlib.Path, start: int, stop: int, after: str
) -> Lie:
    """Return the lie that puts `after` between two places in a file."""
    text = path.read_text("utf-8")
    begin = text.rfind("\n", 0, start) + 1
    line = text[begin:].split("\n", 1)[0]
    earlier = text[:begin].split("\n").count(line)
    return Lie(
        kind=kind,
        path=path.relative_to(ROOT).as_posix(),
        line=text.count("\n", 0, start) + 1,
        before=text[start:stop],
        after=after,
        text=text[:start] + after + text[stop:],
        page=page,
        place=f"{earlier} {start - begin} {line}",
    )


# --- in prose -------------------------------------------------------------------------

_FENCED = re.compile(r"^(`{3,}|:{3,}).*?^\1\s*$|^---\n.*?^---$|^%.*?$", re.M | re.S)
_GLUE = re.compile(r"\{glue:text\}`([^`]+)`")
# A code span; with a role before it, it is something else.
_SPAN = re.compile(r"(\{[\w:-]+\})?(`+)(?!`)([^\n]+?)(?<!`)\2(?!`)")
_NAME = re.compile(r"(kd|konfig|kontext|kauldron|optax|jax|nn|np)(\.\w+)+(?=\W|$)")
_NUMBER = re.compile(r"(?<![\w.])\d+(\.\d+)?(?![\w.])")


def _spans(kind: str) -> Iterator[tuple[str, pathlib.Path, re.Match]]:
    for page in pages():
        path = ROOT / "docs" / f"{page}.md"
        text = path.read_text("utf-8")
        # Blocks are blanked and not cut out, so that places stay what they are.
        prose = _FENCED.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        for match in _SPAN.finditer(prose):
            if not match[1]:
                yield page, path, match


def numbers_in_prose() -> Iterator[Lie]:
    """Type a figure where one was pasted; change one in a code span."""
    kind = "a number in prose"
    for page in pages():
        path = ROOT / "docs" / f"{page}.md"
        for match in _GLUE.finditer(path.read_text("utf-8")):
            yield _change(kind, page, path, *match.span(), "0.4217")
    for page, path, match in _spans(kind):
        if number := _NUMBER.search(match[3]):
            start = match.start(3) + number.start()
            other = str(float(number[0]) + 7173).removesuffix(".0")
            yield _change(kind, page, path, start, start + len(number[0]), other)


def names_in_prose() -> Iterator[Lie]:
    """Misspell the last part of a dotted name."""
    kind = "a name in prose"
    for page, path, match in _spans(kind):
        if name := _NAME.match(match[3]):
            stop = match.start(3) + name.end()
            yield _change(kind, page, path, stop - 1, stop, name[0][-1] * 2 + "q")


def words_of_quotations() -> Iterator[Lie]:
    """Take a word out of a quoted message."""
    kind = "a word of a quoted message"
    for page, path, match in _spans(kind):
        words = [*re.finditer(r"\S+", match[3])]
        # A message; `*b n d` and `a | b` are code.
        if len(re.findall(r"\b[A-Za-z]{2,}\b", match[3])) >= 3 and len(words) >= 3:
            middle = words[len(words) // 2]
            start = match.start(3) + middle.start()
            yield _change(kind, page, path, start, start + len(middle[0]) + 1, "")


# --- in code --------------------------------------------------------------------------

_COMPARED = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
# How a drawing looks, not what it says; `display` of `glue`, whose cells are hidden.
_LOOKS = {
    *("alpha", "figsize", "fontsize", "frameon", "linewidth", "lw", "pad", "padding"),
    *("set_visible", "zorder", "display"),
}
_COMBINED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Mod: "*"}


def changes(code: str) -> Iterator[tuple[int, int, str]]:
    """Yield small changes to some code, as start, stop and what is put between.

    The looks of drawings stay as they are.

    >>> list(changes("plot(x, linewidth=2, **{'alpha': 0.5}); x.set_visible(False)"))
    []
    >>> sorted({after for *_, after in changes("a = 1 + x if y < 2.0 else True")})
    ['-', '2', '3.0', '>=', 'False']
    """
    tree = ast.parse(code)
    lines = [0]
    for line in code.splitlines(keepends=True):
        lines.append(lines[-1] + len(line.encode()))
    raw = code.encode()

    def at(byte: int) -> int:
        return len(raw[:byte].decode())

    def span(node: ast.AST) -> tuple[int, int]:
        return (
            at(lines[node.lineno - 1] + node.col_offset),
            at(lines[node.end_lineno - 1] + node.end_col_offset),
        )

    def operator(left: ast.AST, right: ast.AST, after: str):
        start, stop = span(left)[1], span(right)[0]
        between = code[start:stop]
        token = re.search(r"[^\s()\\]+(?: not| in)?", between)
        if token and "#" not in between:
            return start + token.start(), start + token.end(), after
        return None

    for node in _about_what_is_said(tree):
        found = None
        if isinstance(node, ast.Constant) and not isinstance(node.value, str | bytes):
            value = {True: "False", False: "True"}.get(node.value)
            if isinstance(node.value, bool):
                found = (*span(node), value)
            elif isinstance(node.value, int | float):
                found = (*span(node), repr(node.value + 1))
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            after = _COMPARED[type(node.ops[0])]
            found = operator(node.left, node.comparators[0], after)
        elif isinstance(node, ast.BinOp) and type(node.op) in _COMBINED:
            found = operator(node.left, node.right, _COMBINED[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            after = "or" if isinstance(node.op, ast.And) else "and"
            found = operator(node.values[0], node.values[1], after)
        if found:
            yield found


def _about_what_is_said(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a syntax tree, less those about the looks of drawings."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.keyword) and child.arg in _LOOKS:
            continue
        if isinstance(child, ast.Call) and getattr(child.func, "attr", "") in _LOOKS:
            continue
        if isinstance(tree, ast.Dict) and child in tree.values:
            name = tree.keys[tree.values.index(child)]
            if isinstance(name, ast.Constant) and name.value in _LOOKS:
                continue
        yield from _about_what_is_said(child)


def claims() -> Iterator[Lie]:
    """Turn an assertion of a claim into its opposite."""
    for page in pages():
        path = ROOT / "docs" / f"{page}.md"
        text = path.read_text("utf-8")
        for match in re.finditer(r"^% ( *)assert (.+)$", text, re.M):
            try:
                ast.parse(match[2], mode="eval")
            except SyntaxError:  # it goes on over several lines
                continue
            yield _change("a claim", page, path, *match.span(2), f"not ({match[2]})")


def snippets() -> Iterator[Lie]:
    """Change a constant, an operator or a default in a snippet module."""
    shown = {page.replace("-", "_"): page for page in pages()}
    for path in sorted((ROOT / "snippets").glob("*.py")):
        page = shown.get(path.stem) or _first_page_with(path)
        if page is None:
            continue
        for start, stop, after in changes(path.read_text("utf-8")):
            yield _change("a snippet", page, path, start, stop, after)


def _first_page_with(path: pathlib.Path) -> str | None:
    """Return the page with the fewest cells that is made from a module."""
    return next((page for page, made in _made_from() if path in made), None)


@functools.cache
def _made_from() -> list[tuple[str, set[pathlib.Path]]]:
    """Return all pages, and what each is made from; those with few cells first."""
    found = []
    for page in pages():
        cells = cells_of_text((ROOT / "docs" / f"{page}.md").read_text("utf-8"))
        made = made_from([cell.source for cell in cells])
        found.append((len(cells), page, made))
    return [(page, made) for _, page, made in sorted(found, key=lambda f: f[:2])]


def cells() -> Iterator[Lie]:
    """Change a constant or an operator in a cell."""
    for page in pages():
        path = ROOT / "docs" / f"{page}.md"
        text = path.read_text("utf-8")
        starts = [0]
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        for cell in cells_of_text(text):
            first = starts[cell.line - 1]
            for start, stop, after in changes(cell.source):
                yield _change("a cell", page, path, first + start, first + stop, after)


def unrun_cells() -> Iterator[Lie]:
    """Turn a cell into a block that is shown and that no one runs."""
    for page in pages():
        path = ROOT / "docs" / f"{page}.md"
        text = path.read_text("utf-8")
        for match in re.finditer(r"^```\{code-cell\} python$", text, re.M):
            after = (
                "```python",
                "```{code-cell} ipython3",
                "```{code-cell} python\n:tags: [skip-execution]\n",
                "```{code-block} python",
                "```{code-cell}  python",
            )[match.start() % 5]
            yield _change("a cell that no one runs", page, path, *match.span(), after)


# --- whole files ----------------------------------------------------------------------


def deleted_pages() -> Iterator[Lie]:
    """Delete a page."""
    for page in pages():
        if page != "index":
            yield Lie(
                kind="a deleted page",
                path=f"docs/{page}.md",
                line=0,
                before=page,
                after="",
                text=None,
                page=page,
            )


def stale_outputs() -> Iterator[Lie]:
    """Let the build find the output of an earlier state of the code.

    The judge puts it into the store of executed pages, under today's key.
    """
    for page in pages():
        path = f"docs/{page}.md"
        text = (ROOT / path).read_text("utf-8")
        for number, cell in enumerate(cells_of_text(text)):
            yield Lie(
                kind="stale output",
                path=path,
                line=cell.line,
                before=f"the output of cell {number}",
                after="an earlier one",
                text=text,
                page=page,
            )


def upstream() -> Iterator[Lie]:
    """Change what Kauldron, or a library below it, does."""
    for patch in PATCHES:
        yield Lie(
            kind="upstream",
            path=patch.module,
            line=0,
            before=patch.before,
            after=patch.after,
            text=json.dumps([patch.module, patch.before, patch.after]),
            page=patch.page,
        )


MAKERS: dict[str, Callable[[], Iterator[Lie]]] = {
    "a number in prose": numbers_in_prose,
    "a name in prose": names_in_prose,
    "a word of a quoted message": words_of_quotations,
    "a claim": claims,
    "a snippet": snippets,
    "a cell": cells,
    "upstream": upstream,
    "a cell that no one runs": unrun_cells,
    "a deleted page": deleted_pages,
    "stale output": stale_outputs,
}
