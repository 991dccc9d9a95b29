"""Shows errors and drawings on a page in a form that is the same on every machine."""

import contextlib
import io
import traceback
from collections.abc import Iterator

import matplotlib
from matplotlib.figure import Figure


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

    def _repr_svg_(self) -> str:
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
        return out.getvalue()


# Told apart with any colour vision (Okabe and Ito, "Color Universal Design", 2008).
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6B6B6B"
