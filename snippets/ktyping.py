"""Named axes, checked at every call: what the chapter *ktyping* shows."""

import ast
import contextlib
import io
import re
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterator

import flax.struct
import jax
import kauldron.typing as kdt
import numpy as np
import typeguard
from kauldron import ktyping as kt
from kauldron.typing import Float, typechecked
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from snippets.showing import BLUE, GREEN, GREY, ORANGE, Picture, raises


@typechecked
def project(x: Float["*b n c"], w: Float["c d"]) -> Float["*b n d"]:
    """Multiply the last axis of `x` by the matrix `w`.

    >>> project(np.ones((2, 16, 8)), np.ones((8, 32))).shape
    (2, 16, 32)
    """
    return x @ w


@kt.typechecked
def project_kt(x: kt.Float["*b n c"], w: kt.Float["c d"]) -> kt.Float["*b n d"]:
    """Do what `project` does; checked by `kauldron.ktyping`.

    >>> project_kt(np.ones((16, 8)), np.ones((8, 32))).shape
    (16, 32)
    """
    return x @ w


@kt.typechecked
@flax.struct.dataclass
class Cloud:
    """Points in space, and the colour of each; as many of the one as of the other."""

    position: kt.Float["n 3"]
    colour: kt.UInt8["n 3"]


def placeless(text: str) -> str:
    """Put an ellipsis for each path with its line, and each address, in a message.

    A shape error names the file of its function. For a cell that is a temporary
    file with another name in every run, and for a module another folder on every
    machine.

    >>> placeless("Function: f in /tmp/ipykernel_7/12.py:1")
    'Function: f in …'
    """
    text = re.sub(r"(?m) (in|at) [/<].*?:(?:\d+|None)(?=$| for )", r" \1 …", text)
    return re.sub(r" at 0x[0-9a-f]+", " at …", text)


@contextlib.contextmanager
def refused(
    expected: type[Exception] = typeguard.TypeCheckError, *, lines: int | None = None
) -> Iterator[None]:
    """Do what `raises` does for shape errors, with the places left out.

    >>> with refused(lines=1):
    ...     project(np.ones(8), np.ones((8, 32)))  # doctest: +ELLIPSIS
    kauldron.typing.type_check.TypeCheckError: argument "x" (numpy.ndarray) did not ...
    …
    """
    out = io.StringIO()
    with contextlib.redirect_stdout(out), raises(expected, lines=lines):
        yield
    print(placeless(out.getvalue()), end="")


def complaint(function: Callable, *arguments) -> str:
    """Return what a checked function says of arguments that do not fit.

    Raises:
      AssertionError: if they do fit.
    """
    try:
        function(*arguments)
    except typeguard.TypeCheckError as error:
        return placeless(str(error)).strip()
    raise AssertionError("nothing was refused")


def parts(message: str) -> dict[str, str]:
    """Return the paragraphs of a shape error by the words that they begin with.

    The first, which begins differently every time, is called ``what``.

    >>> list(parts(complaint(project, np.ones((2, 16, 8)), np.ones((5, 32)))))
    ['what', 'Function', 'Inputs', 'Inferred Dims']
    """
    what, *others = filter(None, message.split("\n\n"))
    return {"what": what} | {
        re.match(r"[\w ]+", part).group().strip(): part for part in others
    }


def clash(message: str) -> dict[str, tuple[int, int]]:
    """Return the axes at which an error of `project` came about.

    It compares the refused argument's axes with *Inferred Dims*, as a reader would.

    Returns:
      By the axis's name, the size that it was bound to and the one that came.

    >>> clash(complaint(project, np.ones((2, 16, 8)), np.ones((5, 32))))
    {'c': (8, 5)}
    """
    part = parts(message)
    name = re.match(r'argument "(\w+)"', part["what"]).group(1)
    line = re.search(rf"^  {name}: \w+\['(.*)'\] = \w+\[(.*)\]$", part["Inputs"], re.M)
    bound = ast.literal_eval(part["Inferred Dims"].split(":\n")[1].strip())
    came = zip(*(group.split() for group in line.groups()), strict=True)
    return {
        axis: (bound[axis], int(size))
        for axis, size in came
        if bound.get(axis, int(size)) != int(size)
    }


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text, none longer than `width`; what is broken, indented.

    >>> wrapped("one two three", 9)
    ['one two', '    three']
    """
    return [
        piece
        for line in text.splitlines()
        for piece in textwrap.wrap(line, width, subsequent_indent="    ") or [""]
    ]


# The paragraphs that answer the same question: of kauldron.typing, of kauldron.ktyping.
PAIRS = (
    ("what", "what"),
    ("Function", "Origin"),
    ("Inputs", "Arguments"),
    ("Return", "Return"),
    ("Inferred Dims", "Dim Assignments"),
)


def side_by_side(left: str, right: str, width: int = 42) -> str:
    """Return a message of each system, in two columns, paragraph beside paragraph."""
    lines = [f"{'kauldron.typing':{width}}  kauldron.ktyping"]
    for ours, theirs in PAIRS:
        first = wrapped(parts(left).get(ours, ""), width)
        second = wrapped(parts(right).get(theirs, ""), width)
        height = max(len(first), len(second))
        rows = zip(
            first + [""] * (height - len(first)),
            second + [""] * (height - len(second)),
            strict=True,
        )
        lines += ["", *(f"{a:{width}}  {b}".rstrip() for a, b in rows)]
    return "\n".join(lines)


def verdict(system: types.ModuleType, *arguments: tuple[str, tuple]) -> str:
    """Tell what a system makes of float arrays: ``fits``, ``refused``, ``unreadable``.

    Args:
      system: `kauldron.typing` or `kauldron.ktyping`.
      *arguments: the axes and the shape of the first and of the second argument.

    >>> verdict(kdt, ("b c", (2, 3)), ("c d", (4, 5)))
    'refused'
    """

    def function(x, y):
        pass

    try:
        function.__annotations__ = {
            name: system.Float[axes]
            for name, (axes, _) in zip("xy", arguments, strict=True)
        }
        system.typechecked(function)(*(np.zeros(shape) for _, shape in arguments))
    except typeguard.TypeCheckError as error:
        return "unreadable" if str(error).startswith("Unknown error") else "refused"
    except Exception:  # each parser has errors of its own
        return "unreadable"
    return "fits"


def compare(*rows: tuple[str, tuple, str, tuple]) -> str:
    """Return a table of what both systems make of pairs of axes and shapes.

    >>> print(compare(("b c", (2, 3), "c d", (3, 4))))
    x         is         y         is         typing      ktyping
    b c       (2, 3)     c d       (3, 4)     fits        fits
    """
    lines = [("x", "is", "y", "is", "typing", "ktyping")]
    for x, x_shape, y, y_shape in rows:
        pair = (x, x_shape), (y, y_shape)
        lines.append((x, x_shape, y, y_shape, verdict(kdt, *pair), verdict(kt, *pair)))
    return "\n".join(
        f"{a:9} {b!s:10} {c:9} {d!s:10} {e:11} {f}" for a, b, c, d, e, f in lines
    )


def alone(code: str) -> str:
    """Run code as ``python -c`` does, from no file; return the last line it printed."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return (run.stdout + run.stderr).strip().splitlines()[-1]


def projection_variants() -> dict[str, Callable]:
    """Return the projection unchecked and under both checks, plain and jitted.

    Each takes float arrays `(*b, n, c)` and `(c, d)`. ``make bench`` times them;
    the first call of a jitted one traces and compiles.

    >>> [name for name in projection_variants() if "jit" not in name]
    ['unchecked', 'kauldron.typing', 'kauldron.ktyping']
    """

    def unchecked(x, w):
        return x @ w

    plain = {
        "unchecked": unchecked,
        "kauldron.typing": project,
        "kauldron.ktyping": project_kt,
    }
    return plain | {f"{name}, jitted": jax.jit(plain[name]) for name in plain}


_LABELS = {
    "what": ("1  Which argument, which types it may have", GREY),
    "Function": ("2  Which function, in which file", GREY),
    "Inputs": ("3  What was asked for = what came", ORANGE),
    "Inferred Dims": ("4  What each name was bound to before", BLUE),
}


def draw_anatomy(message: str, width: int = 40) -> Picture:
    """Draw a refusal by `project`, part by part, with the clash marked.

    Args:
      message: as `complaint` returns it.
      width: letters in a line; few, so that a phone shows them large enough.
    """
    size, advance = 10, 0.602  # of the font, and of a letter of DejaVu Sans Mono
    (axis, (bound, came)), *_ = clash(message).items()
    accused = re.match(r'argument "(\w+)"', message).group(1)
    marks = {
        "Inputs": rf"(?<=^  {accused}: Float\['){axis}\b|(?<= = ...\[){came}\b",
        "Inferred Dims": f"'{axis}': {bound}",
    }
    rows, boxes = [], []
    for name, (label, colour) in _LABELS.items():
        rows.append((label, colour, "bold"))
        for line in wrapped(parts(message)[name], width):
            if name == "Inferred Dims" or line.startswith(f"  {accused}: "):
                found = re.finditer(marks.get(name, "$^"), line)
                boxes += [(len(rows), match.span(), colour) for match in found]
            rows.append((line, "black", "normal"))
        rows.append(("", "black", "normal"))
    end = f"So: {axis} is {bound}, and {came} came."
    rows.append((end, GREEN, "bold"))
    figure = Figure(figsize=(width * advance * size / 72, len(rows) * 1.45 * size / 72))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(len(rows), 0))
    axes.axis("off")
    for row, (first, last), colour in boxes:
        axes.add_patch(
            Rectangle((first, row), last - first, 1, color=colour, alpha=0.35, lw=0)
        )
    for row, (text, colour, weight) in enumerate(rows):
        family = "monospace" if weight == "normal" else "sans-serif"
        axes.text(
            0, row + 0.5, text, va="center", fontsize=size,
            family=family, color=colour, weight=weight, parse_math=False,
        )  # fmt: skip
    return Picture(figure, "\n".join([*(label for label, _ in _LABELS.values()), end]))
