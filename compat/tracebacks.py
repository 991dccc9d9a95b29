"""Shortens what IPython prints of an error to what another machine would print too."""

import re

from book.cells import ROOT
from book.running import plain
from book.transcripts import normal

# A page shows no more of one finding.
LINES = 16

_ARROW = re.compile(r"^-+> *\d+ +(.*)$")
_FRAME = re.compile(r"^(File .*|Cell In.*)$")
_BETWEEN = re.compile(r"^(The above exception was|During handling of)")
_ERROR = re.compile(r"^[\w.]*[A-Z]\w*(?:: |$)")
_PATHS = {
    r"[^\s'\"(]*/(?:site|dist)-packages/": "",
    re.escape(f"{ROOT}/"): "",
    # The packages of Python itself lie beside the environment, or elsewhere.
    r"[^\s'\"(]*/lib/python3\.\d+/": "",
    r"~/\S*?/(?=snippets/)": "",
}


def readable(text: str) -> str:
    r"""Return a text without colours, addresses and the paths of this machine.

    >>> readable("File /home/me/.venv/lib/python3.12/site-packages/jax/core.py:1")
    'File jax/core.py:1'
    """
    text = plain(text)
    for pattern, instead in _PATHS.items():
        text = re.sub(pattern, instead, text)
    return normal(text)


def shortened(trace: str, message: str) -> str:
    r"""Return a traceback as its frames, the line that each is in, and the message.

    Args:
      trace: as IPython prints it, with some lines of code round each frame.
      message: the error, which ends it.

    >>> trace = "File a.py:2, in f(x)\n      1 def f(x):\n----> 2     g()\n\nNo: no"
    >>> print(shortened(trace, "No: no"))
    a.py:2, in f
        g()
    No: no
    """
    lines = []
    for line in readable(trace).split("\n"):
        if frame := _FRAME.match(line):
            place = re.sub(r"^File |\(.*\)$", "", frame[0])
            lines.append(re.sub(r"^Cell In\s?\[\d+\]", "the cell", place))
        elif arrow := _ARROW.match(line):
            lines.append(f"    {arrow[1].strip()}")
        elif _BETWEEN.match(line) or (_ERROR.match(line) and "Traceback" not in line):
            lines.append(line)
    said = message.rstrip().split("\n")
    # IPython has printed it too, at least its first line.
    if said[0].rstrip() in (printed := [line.rstrip() for line in lines]):
        del lines[len(printed) - 1 - printed[::-1].index(said[0].rstrip()) :]
    return cut([*lines, *said])


def cut(lines: list[str]) -> str:
    """Return some lines as a text; of many, the first and the last ones.

    >>> cut([str(n) for n in range(40)]).split("\\n")[4:7]
    ['4', '…', '30']
    """
    if len(lines) > LINES:
        lines = [*lines[:5], "…", *lines[len(lines) - LINES + 6 :]]
    return "\n".join(line[:300].rstrip() for line in lines)
