"""Holds every number in a sentence to the run.

* A figure (a decimal, a percentage, two digits or more) is pasted from the run.
* A figure in an alt text cannot be pasted, so there is none.
* A code span that holds a number stands so in a cell, an output or a snippet that the
  page shows, and each number of a typed block, such as a command line, does too.
* A number word, or a digit alone, is asserted by a claim of its section. "Two", "half"
  and "twice" are mostly said of things just named, so any claim will do for them. "One"
  and "third" mostly count nothing.

Each breach is a warning with file and line, and the build fails on warnings.
"""

import bisect
import dataclasses
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator

from docutils import nodes
from sphinx.util import logging

from book import claims, prose

logger = logging.getLogger(__name__)

# What looks like a figure and is a name, with the reason. As narrow as can be: none may
# hold a figure that a run could change.
EXCEPTIONS = {
    r"\bx86-64\b": "a kind of processor",
    r"\b[\w.-]+/[\w.-]+ #\d+\b": "the address of an issue, such as google/grain #1361",
}

# Stands for a character that is a number in itself, such as ½ or ². There is no such
# character in any text: it is private to its user.
_ODD = "\ue000"
# Stands for a code span.
_SPAN = "\ufffc"
# Signs that look like others.
_LIKE = dict.fromkeys(map(chr, [0x2010, 0x2011, 0x2012, 0x2013, 0x2212]), "-")
_LIKE |= {chr(0xFF05): "%", chr(0x2019): "'", chr(0xD7): "x", chr(0x2044): "/"}
_FIGURE = re.compile(
    rf"""
    (?<![\w.])\.\d+                  # .5
    | [\d{_ODD}]                     # and what holds digits together: 1,000 2/3 5:30
    (?: [\d{_ODD}] | [.,:/'_·x^~-]+ (?=\d) | [eE][+-]? (?=\d) )*
    (?: \s? (?: [%‰] | per\ ?cent\b ) )?
    """,
    re.VERBOSE,
)

_WORDS = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_SMALL = {word: number for number, word in enumerate(_WORDS.split(), 1)}
_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * number for number, word in enumerate(_WORDS.split(), 2)}
_LARGE = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6}
_PARTS = {"third": 3, "quarter": 4, "fifth": 5, "eighth": 8, "tenth": 10}
_PARTS |= {"hundredth": 100, "thousandth": 1000}
_small = (
    rf"(?:(?:{'|'.join(_TENS)})(?:[\s-](?:{'|'.join(_SMALL)}))?|{'|'.join(_SMALL)})"
)
_WORD = re.compile(
    rf"""
    \b(?:
      (?: (?P<times>{_small})[\s-]+ )? (?P<large>{"|".join(_LARGE)})s?
        (?: \s+and\s+(?P<more>{_small}) | \s+(?P<rest>{_small}) )?
      | (?P<small>{_small})
      | (?P<part>quarter|tenth|hundredth|thousandth)s?
    )
    (?: [\s-]+(?P<parts>{"|".join(_PARTS)})s )?
    \b | \b(?P<loose>half|twice|halves|double)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Number:
    """A number in a text.

    Attributes:
      at: the index of its first character.
      text: as it stands there.
      values: what a claim may assert for it; `None` for a figure, which is pasted, and
        empty if any claim will do.
    """

    at: int
    text: str
    values: frozenset[float] | None


def numbers(text: str, *, figures_only: bool = False) -> list[Number]:
    """Return the numbers in a text, in order.

    >>> [(n.text, n.values) for n in numbers("five runs, 0.5 each, on float32")]
    [('five', frozenset({5})), ('0.5', None), ('32', None)]
    >>> [(n.text, n.values) for n in numbers("step 3, with L2")]
    [('3', frozenset({3}))]

    Args:
      text: as a reader sees it.
      figures_only: leave out number words.
    """
    plain = "".join(map(_plain, text))
    excused = [
        match.span() for name in EXCEPTIONS for match in re.finditer(name, plain)
    ]
    found = []
    for match in _FIGURE.finditer(plain):
        start, end = match.span()
        if any(first <= start and end <= last for first, last in excused):
            continue
        alone = re.fullmatch(r"\d", match.group())
        if alone and re.match(r"[^\W\d]", plain[start - 1 : start]):
            continue  # L2, x_1: a name
        values = frozenset({int(match.group())}) if alone else None
        found.append(Number(at=start, text=text[start:end], values=values))
    if not figures_only:
        for match in _WORD.finditer(plain):
            if match.group().lower() != "one":
                number = Number(
                    at=match.start(),
                    text=text[match.start() : match.end()],
                    values=_values(match),
                )
                found.append(number)
    return sorted(found, key=lambda number: number.at)


def _plain(character: str) -> str:
    """Return a character as `_FIGURE` knows it: one character for one.

    >>> "".join(map(_plain, "٣ ½ a"))
    '3 \\ue000 a'
    """
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    # In the categories of letters there are numbers, too: 三.
    if unicodedata.category(character) in ("No", "Nl"):
        return _ODD
    return _LIKE.get(character, character)


def _values(match: re.Match) -> frozenset[float]:
    """Return what a number word may stand for in a claim."""
    if match["loose"]:
        return frozenset()
    if match["part"]:
        whole = _PARTS[match["part"].lower()]
        return frozenset({whole, 1 / whole})
    if match["large"]:
        value = _small_value(match["times"] or "one") * _LARGE[match["large"].lower()]
        value += _small_value(match["more"] or match["rest"] or "")
    else:
        value = _small_value(match["small"])
    if match["parts"]:
        return frozenset({value / _PARTS[match["parts"].lower()]})
    return frozenset() if value == 2 else frozenset({value})


def _small_value(words: str) -> int:
    """Return the value of a number below a hundred.

    >>> _small_value("seventy-five")
    75
    """
    pieces = re.split(r"[\s-]", words.lower())
    return sum(_TENS.get(piece, 0) + _SMALL.get(piece, 0) for piece in pieces)


def blocks(words: Iterable[prose.Words]) -> Iterator[tuple[str, list[prose.Words]]]:
    """Yield the words of each paragraph, cell and heading joined, and the words.

    So a number is found that is half in emphasis. A code span is one character.
    """
    for _, group in itertools.groupby(words, key=lambda w: id(_block(w.node))):
        together = list(group)
        yield "".join(_SPAN if w.kind == "code" else w.text for w in together), together


def _block(node: nodes.Node) -> nodes.Node:
    """Return the nearest element that is no part of a sentence."""
    while isinstance(node, nodes.Text | nodes.Inline) and not isinstance(
        node, nodes.image
    ):
        node = node.parent
    return node


def check_text(doctree: nodes.document, asserted: dict[str, set[float]]) -> None:
    """Warn for each figure that was typed, and each number that no claim asserts.

    Args:
      doctree: the page.
      asserted: for each section with claims, the numbers that they assert.
    """
    for text, together in blocks(prose.words(doctree)):
        lengths = (1 if w.kind == "code" else len(w.text) for w in together)
        ends = list(itertools.accumulate(lengths))
        for number in numbers(text):
            at = bisect.bisect_right(ends, number.at)
            words = together[at]
            before = words.text[: number.at - (ends[at - 1] if at else 0)]
            line = words.line + before.count("\n")
            message = _complaint(number, words, asserted.get(words.section))
            if message:
                _warn(doctree, line, message)


def _complaint(
    number: Number, words: prose.Words, asserted: set[float] | None
) -> str | None:
    """Return what is wrong with a number, and what to write instead."""
    is_word = number.text[0].isalpha()
    if words.kind == "alt text" and not is_word:
        return (
            f"the figure {number.text!r} in an alt text, where nothing can be pasted; "
            "say it in words"
        )
    if number.values is None:
        return (
            f"the figure {number.text!r} in {_A[words.kind]} was typed; paste it with "
            "{glue:text}, or quote it in a code span from a cell or an output"
        )
    if asserted is None:
        return (
            f"the number {number.text!r} in a section without a claim; assert it in "
            "one, or say it without a number"
        )
    if number.values and not number.values & asserted:
        wanted = " or ".join(f"{value:g}" for value in sorted(number.values))
        return (
            f"no claim of this section asserts the number {number.text!r}; write one "
            f"with {wanted} in an assert, or say it without a number"
        )
    return None


_A = {
    "text": "running text",
    "heading": "a heading",
    "caption": "a caption",
    "table cell": "a table cell",
}


def check_code(doctree: nodes.document) -> None:
    """Warn for each number in a code span or a typed block that nothing printed."""
    literal = list(doctree.findall(nodes.literal_block))
    shown = "\n".join(block.astext() for block in literal if prose.has_run(block))
    for words in prose.words(doctree):
        is_number = words.kind == "code" and code_numbers(words.text)
        if is_number and not stands_in(words.text, shown):
            _warn(
                doctree,
                words.line,
                f"the code span {words.text!r} holds a number, and stands in no cell, "
                "output or snippet of this page; quote one, or paste the number with "
                "{glue:text}",
            )
    for block in literal:
        if not prose.has_run(block):
            for number in code_numbers(block.astext()):
                if number not in code_numbers(shown):
                    _warn(
                        doctree,
                        prose.line_of(block),
                        f"the number {number!r} in a typed block stands in no cell, "
                        "output or snippet of this page; show it there, or leave it "
                        "out",
                    )


def code_numbers(code: str) -> set[str]:
    """Return the numbers in some code; those in a name are none.

    >>> sorted(code_numbers("f32[5 32] = x1 + 0.5"))
    ['0.5', '32', '5']
    """
    number = r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w)"
    return set(re.findall(number, "".join(map(_plain, code))))


def stands_in(span: str, shown: str) -> bool:
    """Tell whether a code span stands in a text as a whole, however it is spaced.

    >>> stands_in("steps=20", "f(steps=200)"), stands_in("steps=200", "f(steps=200)")
    (False, True)
    >>> stands_in("[5 32]", "w = f32[5 32]")
    True
    """
    words = r"\s+".join(re.escape(word) for word in span.split())
    before = r"(?<![\w.])" if re.match(r"[\w.]", span) else ""
    behind = r"(?!\w|\.\d)" if re.search(r"\w$", span) else ""
    return re.search(before + words + behind, shown) is not None


def _warn(doctree: nodes.document, line: int, message: str) -> None:
    page = doctree.settings.env.docname
    logger.warning(message, location=(page, line), type="book", subtype="number")


def check(app, doctree: nodes.document) -> None:
    """Hold the numbers of a page that has been read."""
    asserted: dict[str, set[float]] = {}
    for claim in claims.claims(doctree):
        asserted.setdefault(claim.section, set()).update(claims.constants(claim.source))
    check_text(doctree, asserted)
    check_code(doctree)


def setup(app):
    """Connect to the reading of each page."""
    app.connect("doctree-read", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
