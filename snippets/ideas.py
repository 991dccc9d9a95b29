"""The four pieces of Kauldron in one drawing: what the chapter *ideas* shows."""

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from snippets.showing import BLUE, GREEN, GREY, ORANGE, Picture

# Each box: its text, its left lower corner, its width and height, its colour.
_BOXES = (
    ("config\na tree of calls,\nkept as a dict", (0.0, 2.9), 1.9, 0.9, BLUE),
    ("Trainer\nthe real objects", (3.5, 2.9), 1.8, 0.9, BLUE),
    ("data", (0.4, 1.3), 1.1, 0.5, GREY),
    ("model", (3.8, 1.3), 1.2, 0.5, GREY),
    ("losses,\nmetrics", (6.6, 1.2), 1.2, 0.8, GREY),
    ("optimizer", (6.6, 3.1), 1.2, 0.5, GREY),
    ("context: batch, preds, interms, grads, …", (0.3, -0.25), 7.5, 0.5, ORANGE),
)

# Each arrow: from where to where, what flows, and on which side of it that stands.
_FLOWS = (
    ((2.0, 3.35), (3.4, 3.35), "konfig.resolve", "above"),
    ((4.4, 2.8), (4.4, 1.9), "a step", "left"),
    ((0.95, 1.2), (0.95, 0.35), "batch", "left"),
    ((4.1, 0.35), (4.1, 1.2), "batch.x", "left"),
    ((4.7, 1.2), (4.7, 0.35), "preds.y", "right"),
    ((6.9, 0.35), (6.9, 1.1), "preds.y, batch.y", "right"),
    ((7.2, 2.1), (7.2, 3.0), "gradients", "left"),
    ((6.5, 3.35), (5.4, 3.35), "new state", "above"),
)

_SIDES = {
    "above": ((0, 0.1), {"ha": "center", "va": "bottom"}),
    "left": ((-0.08, 0), {"ha": "right", "va": "center"}),
    "right": ((0.08, 0), {"ha": "left", "va": "center"}),
}


def draw_flow() -> Picture:
    """Draw what flows between the pieces in one training step."""
    figure = Figure(figsize=(9, 4.6))
    axes = figure.subplots()
    for text, (x, y), width, height, colour in _BOXES:
        axes.add_patch(
            FancyBboxPatch(
                (x, y),
                width,
                height,
                boxstyle="round,pad=0.05",
                facecolor="white",
                edgecolor=colour,
                linewidth=2,
            )
        )
        middle = (x + width / 2, y + height / 2)
        axes.text(*middle, text, ha="center", va="center", fontsize=11)
    for start, end, what, side in _FLOWS:
        arrow = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.3}
        axes.annotate("", end, start, arrowprops=arrow)
        (right, up), alignment = _SIDES[side]
        x = (start[0] + end[0]) / 2 + right
        y = (start[1] + end[1]) / 2 + up
        axes.text(x, y, what, color=GREEN, fontsize=9, family="monospace", **alignment)
    axes.set_xlim(-0.2, 8.9)
    axes.set_ylim(-0.4, 3.95)
    axes.axis("off")
    return Picture(figure, "flows: " + ", ".join(what for *_, what, side in _FLOWS))
