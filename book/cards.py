"""Draws the picture that a link to a page shows in a chat or an issue thread.

It holds words only, which an alt text can repeat. Matplotlib draws it, with the font
that it brings along, so that nothing is fetched and two builds draw the same.
"""

import pathlib
from collections.abc import Iterator

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle

from book.unfurl import SIZE

WIDTH, HEIGHT = SIZE
_DPI = 100
_LEFT, _RIGHT, _FOOT = 76, 1130, 552
_INK, _SOFT, _BLUE = "#1b1f24", "#4d555e", "#0072B2"


class DoesNotFit(ValueError):
    """There are more words than a card has room for."""


def draw(
    path: pathlib.Path, *, book: str, title: str, question: str, foot: str
) -> None:
    """Draw the card of a page, as a PNG.

    Args:
      path: where to.
      book: the book's title, which stands at the top.
      title: the page's.
      question: what the page answers.
      foot: what stands at the bottom, such as the versions.

    Raises:
      DoesNotFit: if the question would reach the foot.
    """
    figure = Figure(figsize=(WIDTH / _DPI, HEIGHT / _DPI), dpi=_DPI, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    stripe = Rectangle((0, 0), 0.02, 1, color=_BLUE, transform=figure.transFigure)
    figure.add_artist(stripe)
    with matplotlib.rc_context({"text.usetex": False}):
        _write(canvas, book, top=60, size=27, colour=_BLUE, bold=True)
        below = _write(canvas, title, top=132, size=54, colour=_INK, bold=True)
        below = _write(canvas, question, top=below + 28, size=33, colour=_SOFT)
        if below > _FOOT:
            raise DoesNotFit("title and question do not fit on a card; shorten them")
        _write(canvas, foot, top=_FOOT, size=22, colour=_SOFT)
        path.parent.mkdir(exist_ok=True)
        canvas.print_png(path, metadata={"Software": None})


def _write(
    canvas: FigureCanvasAgg,
    words: str,
    *,
    top: float,
    size: float,
    colour: str,
    bold: bool = False,
) -> float:
    """Write some words, in as many lines as they need; return where they end.

    Heights and sizes are in pixels, from the top.
    """
    font = FontProperties(
        family="DejaVu Sans",
        size=size * 72 / _DPI,
        weight="bold" if bold else "normal",
    )
    for line in lines(canvas, words, font):
        canvas.figure.text(
            _LEFT / WIDTH,
            1 - top / HEIGHT,
            line,
            fontproperties=font,
            color=colour,
            va="top",
            parse_math=False,
        )
        top += size * 1.32
    return top


def lines(canvas: FigureCanvasAgg, words: str, font: FontProperties) -> Iterator[str]:
    """Yield some words in lines that are as wide as the card allows."""
    renderer = canvas.get_renderer()
    line = ""
    for word in words.split():
        longer = f"{line} {word}".strip()
        width, _, _ = renderer.get_text_width_height_descent(longer, font, ismath=False)
        if line and width > _RIGHT - _LEFT:
            yield line
            longer = word
        line = longer
    if line:
        yield line
