"""Demands a claim of each section, and that a claim can fail.

A claim is a block that readers do not see and that pytest runs in its place:

    % invisible-code-block: python
    %
    % assert frozen.schedule.decay_steps == 1000

Each breach is a warning with file and line, and the build fails on warnings.
"""

import ast
import dataclasses
import pathlib
import re
import textwrap
from collections.abc import Iterator

from docutils import nodes
from sphinx.util import logging

from book import prose

logger = logging.getLogger(__name__)

HEADER = "invisible-code-block: python"

# Sections that may do without a claim, by their label, with the reason.
WITHOUT = {
    r".*-next": "says where to go on",
    r".*-carry-away": "repeats what sections above it say, and claim",
    r"index-paths": "says where to begin",
    r"ideas-map": "says which chapter is about what",
    r"guardrails-table": "lists messages that sections above it raise",
    r"errors-of-.*": "groups the sections below it, which claim",
}

# The context managers that fail unless their body raises.
RAISES = {"raises", "refused"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a page.

    Attributes:
      line: the line of the page on which its header stands, counted from 1.
      section: the label of the section that it stands in.
      source: its code, beginning on the line below the header.
    """

    line: int
    section: str
    source: str


def claims(doctree: nodes.document) -> Iterator[Claim]:
    """Yield the claims of a page, in order."""
    for line, comment in comments(doctree):
        header, _, source = comment.astext().partition("\n")
        if header.strip() == HEADER:
            yield Claim(
                line=line,
                section=prose.section_of(comment),
                source=textwrap.dedent(source),
            )


def comments(doctree: nodes.document) -> Iterator[tuple[int, nodes.comment]]:
    """Yield the comments of a page, each with the line on which it begins.

    The parser does not say where that is, so each is looked up in the source, below
    the one before.
    """
    page = pathlib.Path(doctree["source"]).read_text("utf-8")
    source = [line.strip() for line in page.split("\n")]
    at = 0
    for comment in doctree.findall(nodes.comment):
        lines = [f"%{line}".strip() for line in comment.rawsource.split("\n")]
        while source[at : at + len(lines)] != lines:
            at += 1
            if at == len(source):
                raise LookupError(f"no such comment: {lines[0]}")
        yield at + 1, comment
        at += len(lines)


def constants(source: str) -> set[float]:
    """Return the numbers that stand in the assertions of a claim.

    >>> sorted(constants("n = 3\\nassert len(rows) == 5 and rate < -0.5"))
    [-0.5, 0.5, 5]
    """
    found = set()
    for test in (n.test for n in _nodes(source) if isinstance(n, ast.Assert)):
        for node in ast.walk(test):
            value = _number(node)
            if value is not None:
                found.add(value)
    return found


def _number(node: ast.AST) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand)
        return None if value is None else -value
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return node.value if is_number else None


def empty_claim(source: str) -> tuple[int, str] | None:
    """Return what keeps a claim from failing: a line and a message.

    Lines are counted from 1; line 0 is the header.

    >>> empty_claim("x = 1") is None, empty_claim("assert f(1) == 1")
    (False, None)
    >>> empty_claim("assert f(1)\\nassert True")
    (2, 'asserts nothing: no run can make `True` false')
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return error.lineno or 1, f"is no Python: {error.msg}"
    asserts = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            asserts = True
            if _always_true(node.test, _literals(tree)):
                test = ast.unparse(node.test)
                return node.lineno, f"asserts nothing: no run can make `{test}` false"
        elif isinstance(node, ast.Try) and _passes_without_error(node):
            return (
                node.lineno,
                "asserts only if an error comes; add `else:` with `assert False`",
            )
        elif isinstance(node, ast.With):
            asserts |= any(_name(item.context_expr) in RAISES for item in node.items)
    return None if asserts else (0, "asserts nothing; write an `assert`, or `raises`")


def _always_true(test: ast.expr, literals: set[str]) -> bool:
    """Tell whether a test is true in every run; `assert False` is not."""
    if isinstance(test, ast.Lambda | ast.GeneratorExp):
        return True
    if isinstance(test, ast.Tuple | ast.List | ast.Set) and test.elts:
        return True
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.BoolOp):
        every = (_always_true(value, literals) for value in test.values)
        # `a and True` is as strong as a, `a or True` is not.
        return all(every) if isinstance(test.op, ast.And) else any(every)
    if isinstance(test, ast.Compare):
        left = ast.dump(test.left)
        if any(ast.dump(right) == left for right in test.comparators):
            return True
    used = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return used <= literals


def _passes_without_error(node: ast.Try) -> bool:
    """Tell whether assertions on an error are passed over if there is none."""
    in_handlers = (n for handler in node.handlers for n in ast.walk(handler))
    if node.orelse or not any(isinstance(n, ast.Assert) for n in in_handlers):
        return False
    last = node.body[-1]
    while isinstance(last, ast.With):
        last = last.body[-1]
    return not isinstance(last, ast.Raise)


def _literals(tree: ast.Module) -> set[str]:
    """Return the names that a claim gives to literals, and to nothing else."""
    given: dict[str, bool] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given.setdefault(node.id, True)
    for node in tree.body:
        names = {
            n.id
            for n in ast.walk(node)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        literal = isinstance(node, ast.Assign) and not any(
            # A list may be filled later.
            isinstance(n, ast.Name | ast.Call | ast.List | ast.Dict | ast.Set)
            for n in ast.walk(node.value)
        )
        for name in names:
            given[name] &= literal
    return {name for name, literal in given.items() if literal}


def _name(expression: ast.expr) -> str:
    """Return the last name of what is called: `raises` of `showing.raises(…)`."""
    function = expression.func if isinstance(expression, ast.Call) else expression
    return getattr(function, "attr", getattr(function, "id", ""))


def _nodes(source: str) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(ast.parse(source))
    except SyntaxError:  # empty_claim says so, with the line
        return


def check(app, doctree: nodes.document) -> None:
    """Hold the claims of a page that has been read."""
    page = app.env.docname
    held = set()
    for claim in claims(doctree):
        held.add(claim.section)
        wrong = empty_claim(claim.source)
        if wrong:
            _warn(page, claim.line + wrong[0], f"a claim {wrong[1]}")
    for line, comment in comments(doctree):
        first = comment.astext().split("\n")[0].strip()
        if first != HEADER:
            _warn(
                page,
                line,
                f"a comment that nothing runs: {first!r}; a claim begins with "
                f"`% {HEADER}` and has % on each of its lines",
            )
    for section in doctree.findall(nodes.section):
        label = section["ids"][0]
        opens_the_page = isinstance(section.parent, nodes.document)
        if not (opens_the_page or label in held or without_claim(label)):
            title = section.next_node(nodes.title).astext()
            _warn(
                page,
                section.line,
                f"the section {title!r} has no claim; write a block "
                f"`% {HEADER}` that asserts what it says",
            )


def without_claim(label: str) -> str | None:
    """Return why a section may do without a claim, or `None`.

    >>> without_claim("refs-next")
    'says where to go on'
    """
    reasons = (why for name, why in WITHOUT.items() if re.fullmatch(name, label))
    return next(reasons, None)


def _warn(page: str, line: int, message: str) -> None:
    logger.warning(message, location=(page, line), type="book", subtype="claim")


def setup(app):
    """Connect to the reading of each page."""
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
