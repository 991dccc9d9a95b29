"""Shows errors and drawings on a page in a form that is the same on every machine."""

import contextlib
import io
import itertools
import re
import traceback
from collections.abc import Iterator

import matplotlib
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox


@contextlib.contextmanager
def raises(expected: type[Exception], *, lines: int | None = None) -> Iterator[None]:
    """Print the error that the body raises, as Python would at the end of a traceback.

    Args:
      expected: the class of the error.
      lines: print only so many lines of a long message, then an ellipsis.

    Raises:
      AssertionError: if the body raises nothing. Any other error passes through.

    >>> with raises(KeyError):
    ...     {}["nope"]
    KeyError: 'nope'
    >>> with raises(KeyError):
    ...     pass
    Traceback (most recent call last):
    AssertionError: no KeyError was raised
    """
    try:
        yield
    except expected as error:
        text = "".join(traceback.format_exception_only(error)).rstrip().splitlines()
        if lines is not None and len(text) > lines:
            text = [*text[:lines], "…"]
        print("\n".join(text))
    else:
        raise AssertionError(f"no {expected.__name__} was raised")


def drawn(figure: Figure) -> str:
    r"""Return what a drawing shows, as text: titles, points, bars and words.

    Points have three digits, which is more than one can see. What lies outside the axes
    is not there.

    >>> figure = Figure()
    >>> _ = figure.subplots().plot([0, 1], [0.5, 0.25], label="loss")
    >>> print(drawn(figure))
    line loss
      0: 5.00e-01, 1: 2.50e-01
    >>> _ = figure.axes[0].set_xlim(right=0.5)
    >>> print(drawn(figure))
    line loss
      0: 5.00e-01
    """
    lines = []
    for axes in figure.axes:
        words = (axes.get_title(), axes.get_xlabel(), axes.get_ylabel())
        lines += [f"axis {word}" for word in words if word]
        (left, right), (low, high) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
        view = Bbox.from_extents(left, low, right, high)
        for line in axes.get_lines():
            # A line across the whole drawing has places in the axes, not in the data.
            by_x, by_y = line.get_transform().contains_branch_seperately(axes.transData)
            said = [
                f"{x:g}: {y:.2e}"
                for x, y in zip(*line.get_data(), strict=True)
                if left <= x <= right or not by_x
                if low <= y <= high or not by_y
            ]
            label = line.get_label()
            lines.append("line" if label.startswith("_") else f"line {label}")
            lines += ["  " + ", ".join(part) for part in itertools.batched(said, 6)]
        for bars in axes.containers:
            for bar in bars.patches:
                box = Bbox.intersection(bar.get_bbox(), view) or Bbox.null()
                lines.append(f"bar {box.width:.2e} wide, {box.height:.2e} high")
        for text in axes.texts:
            word = " / ".join(text.get_text().splitlines())
            ends = [text.get_position(), *([text.xy] if hasattr(text, "xy") else [])]
            where = " to ".join(f"{x:.2f}, {y:.2f}" for x, y in ends)
            lines.append(f"at {where}: {word}".removesuffix(": "))
    return "\n".join(lines)


# Half a kilobyte of every picture that nobody sees: who drew it, comments, indents.
_UNSEEN = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->|(?<=\n) +", re.DOTALL)


class Picture:
    """A drawing, with the numbers that it shows as its text.

    It is drawn on an opaque white ground, so that it reads the same in the light
    and in the dark theme, and as SVG without date or random ids, so that two
    builds give the same file.

    Args:
      figure: a `Figure` made without pyplot, which would show it a second time.
      numbers: what the drawing shows, for those who cannot see it.

    >>> picture = Picture(Figure(), "nothing: 0")
    >>> picture
    nothing: 0
    >>> picture._repr_svg_() == picture._repr_svg_()
    True
    """

    def __init__(self, figure: Figure, numbers: str):
        self.figure = figure
        self.numbers = numbers

    def __repr__(self) -> str:
        return self.numbers

    def _repr_svg_(self) -> tuple[str, dict[str, str]]:
        # Jupyter keeps the second beside the picture: a picture cannot be compared.
        out = io.StringIO()
        with matplotlib.rc_context(
            {"svg.hashsalt": "kauldron-executed", "svg.fonttype": "path"}
        ):
            self.figure.savefig(
                out,
                format="svg",
                facecolor="white",
                bbox_inches="tight",
                metadata={"Date": None, "Creator": None},
            )
        return _UNSEEN.sub("", out.getvalue()), {"drawn": drawn(self.figure)}


# Told apart with any colour vision (Okabe and Ito, "Color Universal Design", 2008).
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6B6B6B"
