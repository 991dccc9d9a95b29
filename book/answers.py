"""Keeps which messages a section answers, and finds the section for a pasted one.

A section says so in a block that readers do not see, a message a line, with an ellipsis
for whatever varies: names, numbers, shapes, paths.

    ```{answers}
    Could not find path '…' in the dict object. The dict has no attributes/key: '…'
    ```

A cell of that section has to print the message. One that was recorded under other
versions names its record, a file in `snippets/recorded/`, in the option ``:recorded:``.
Each breach is a warning with file and line, and the build fails on warnings.
"""

import dataclasses
import functools
import json
import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from book.cells import ROOT
from book.kept import keep, kept
from book.prose import parents, section_of

logger = logging.getLogger(__name__)

RECORDED = ROOT / "snippets" / "recorded"
# So many characters at most may stand where a pattern has an ellipsis.
GAP = 300
# A pattern with fewer of its own would answer too much.
LEAST = 8

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_SPELT_OUT = re.compile(r"\\(?=['\"])|\\[nt]")
_SPACE = re.compile("[ \t\n\r\f\v\u00a0]+")


@dataclasses.dataclass(frozen=True, order=True)
class Answer:
    """A message that a section of the book answers.

    Attributes:
      pattern: the message, with `…` for whatever varies.
      section: the label of the section.
      recorded: the record that holds the message; '' if a cell prints it.
    """

    pattern: str
    section: str
    recorded: str = ""


def plain(text: str) -> str:
    r"""Return a text as patterns and tracebacks are compared.

    Taken out, in this order: the colours of a terminal (``ESC [``, digits and
    semicolons, ``m``); a backslash before a quotation mark of either kind, and a
    backslash with an ``n`` or a ``t`` behind it, since the message of a `KeyError` is
    printed as a string; then all white space (space, tab, line feed, carriage return,
    form feed, vertical tab, no-break space), since a terminal breaks lines where it
    likes. Nothing else is changed; capitals count.

    >>> plain("KeyError: '\\'num_steps\\'\\nDid you  mean'")
    "KeyError:''num_steps'Didyoumean'"
    """
    for taken_out in (_COLOUR, _SPELT_OUT, _SPACE):
        text = taken_out.sub("", text)
    return text


def matches(pattern: str, text: str) -> int:
    """Return how many characters of its own a pattern has, if it stands in a text.

    The rule, which the script of the page *errors* follows as well:

    * Pattern and text are made `plain`.
    * The pattern is cut at each ``…`` into pieces; empty ones at its ends are dropped.
    * It stands in the text where its pieces do, in their order, each as it is, and
      between each two of them at least 0 and at most `GAP` characters, as few as
      will do. Characters are code points.
    * The result is the length of all pieces together, wherever and however often it
      stands there, and 0 if it does not.

    >>> matches("got … arguments", "it\\n  got 3 argu\\nments")
    12
    >>> matches("got … arguments", "got none")
    0
    """
    return _own(pattern) if _last(pattern, plain(text)) >= 0 else 0


def best(text: str, answers: Iterable[Answer]) -> list[Answer]:
    """Return the answers to a pasted traceback, or to a piece of one, the best first.

    The rule, which the script of the page *errors* follows as well: those that match
    are put in the order of what `matches` returns, the largest first. Of equal ones,
    the one comes first whose last place in the text (where it begins, searching from
    the left and going on behind each find) is later: the error that counts stands at
    the end of a traceback. If that is equal too, they keep the order in which they
    came.

    >>> few, more = Answer("no such key", "a"), Answer("no such key: …, in …", "b")
    >>> best("KeyError: no such key: 'x', in batch", [few, more]) == [more, few]
    True
    >>> best("all went well", [few, more])
    []
    """
    within = plain(text)
    found = [(answer, _last(answer.pattern, within)) for answer in answers]
    found = [(answer, at) for answer, at in found if at >= 0]
    return [
        answer
        for answer, at in sorted(found, key=lambda f: (-_own(f[0].pattern), -f[1]))
    ]


@functools.cache
def _pieces(pattern: str) -> tuple[str, ...]:
    return tuple(plain(pattern).strip("…").split("…"))


def _own(pattern: str) -> int:
    return sum(map(len, _pieces(pattern)))


@functools.cache
def _compiled(pattern: str) -> re.Pattern:
    between = f".{{0,{GAP}}}?"
    return re.compile(between.join(map(re.escape, _pieces(pattern))), re.DOTALL)


def _last(pattern: str, text: str) -> int:
    """Return where a pattern stands last in a text that is plain; -1 if nowhere."""
    if not _own(pattern):
        return -1
    return max(
        (match.start() for match in _compiled(pattern).finditer(text)), default=-1
    )


class answers_block(nodes.Invisible, nodes.Element):
    """The messages of a section: `patterns`, each with its line, and `recorded`."""


class AnswersDirective(SphinxDirective):
    """Takes the messages that a section answers, a line each."""

    has_content = True
    option_spec: ClassVar = {"recorded": directives.unchanged_required}

    def run(self):
        """Return a node that no reader sees."""
        self.assert_has_content()
        block = answers_block(recorded=self.options.get("recorded", ""))
        block["patterns"] = [
            (self.lineno + self.content_offset + number, " ".join(line.split()))
            for number, line in enumerate(self.content, 1)
            if line.strip()
        ]
        self.set_source_info(block)
        return [block]


def read(doctree: nodes.document) -> Iterator[tuple[int, Answer]]:
    """Yield what a page that has been read answers, each with its line, in order."""
    for block in doctree.findall(answers_block):
        for line, pattern in block["patterns"]:
            yield line, Answer(pattern, section_of(block), block["recorded"])


def printed(doctree: nodes.document) -> dict[str, str]:
    """Return what the cells of each section print, by the section's label."""
    found: dict[str, str] = {}
    for block in doctree.findall(nodes.literal_block):
        if any(p.get("nb_element") == "cell_code_output" for p in parents(block)):
            section = section_of(block)
            found[section] = found.get(section, "") + block.astext() + "\n"
    return found


def _strings(value: object) -> Iterator[str]:
    """Yield the strings in what a file of JSON holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def wrong(answer: Answer, prints: str) -> str | None:
    """Return what is wrong with an answer; `None` if it is right.

    Args:
      answer: a message of a section.
      prints: what the cells of that section print.

    >>> wrong(Answer("no such …", "a"), "no such key")
    'has fewer than 8 characters of its own, which may stand anywhere'
    >>> wrong(Answer("no such key", "a"), "KeyError: 'x'")
    'is printed by no cell of its section'
    """
    if _own(answer.pattern) < LEAST:
        return f"has fewer than {LEAST} characters of its own, which may stand anywhere"
    if not answer.recorded:
        if not matches(answer.pattern, prints):
            return "is printed by no cell of its section"
        return None
    record = RECORDED / f"{answer.recorded}.json"
    if not record.is_file():
        return f"is in no record: there is no snippets/recorded/{record.name}"
    texts = _strings(json.loads(record.read_text("utf-8")))
    if not any(matches(answer.pattern, text) for text in texts):
        return f"stands nowhere in snippets/recorded/{record.name}"
    return None


def answers_of(env) -> dict[str, list[Answer]]:
    """Return what the pages of the book answer, by the name of the page."""
    return {page: [answer for _, answer in of] for page, of in _lines(env).items()}


def _lines(env) -> dict[str, list[tuple[int, Answer]]]:
    return kept(env, "answers")


def note(app, doctree: nodes.document) -> None:
    """Keep and hold the answers of a page that has been read."""
    page = app.env.docname
    found = list(read(doctree))
    if not found:
        return
    keep(app.env, "answers", found)
    prints = printed(doctree)
    for line, answer in found:
        if answer.recorded:
            record = RECORDED / f"{answer.recorded}.json"
            app.env.note_dependency(str(record), docname=page)
        if said := wrong(answer, prints.get(answer.section, "")):
            _warn(page, line, answer, said)


def check(app, env) -> None:
    """Warn for each message that the book answers twice."""
    first: dict[str, str] = {}
    for page, found in sorted(_lines(env).items()):
        for line, answer in found:
            key = plain(answer.pattern)
            if key in first:
                _warn(page, line, answer, f"is answered by {first[key]} already")
            first.setdefault(key, answer.section)


def _warn(page: str, line: int, answer: Answer, said: str) -> None:
    logger.warning(
        "the message %r %s",
        answer.pattern,
        said,
        location=(page, line),
        type="book",
        subtype="answer",
    )


def drop(app, doctree: nodes.document, docname: str) -> None:
    """Take the blocks out of what is written."""
    for block in list(doctree.findall(answers_block)):
        block.parent.remove(block)


def setup(app):
    """Add the directive, and connect to the reading of each page and of all."""
    app.add_node(answers_block)
    app.add_directive("answers", AnswersDirective)
    app.connect("doctree-read", note)
    app.connect("env-updated", check)
    app.connect("doctree-resolved", drop)
    return {
        "env_version": 1,  # of what is kept per page
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
