"""Parts joined by string paths: what the chapter *kontext* shows."""

import dataclasses

import flax.struct
import jax
import numpy as np
from kauldron import kontext
from matplotlib.figure import Figure

from snippets.showing import BLUE, GREY, Picture


@flax.struct.dataclass
class Pose:
    """An auxiliary output of a model: a position `pos`, float32 `(3,)`."""

    pos: np.ndarray


def context() -> dict:
    """Return what a training step might hold after the forward pass.

    A dict of dicts, with a list in it and an object in the list; ten classes, a
    batch of four images.
    """
    return {
        "batch": {
            "image": np.zeros((4, 8, 8, 3), np.float32),
            "label": np.array([7, 1, 1, 3], np.int32),
        },
        "preds": {
            "logits": np.eye(10, dtype=np.float32)[[7, 1, 2, 3]],
            "aux": [Pose(pos=np.array([0.1, 0.2, 0.3], np.float32))],
        },
    }


def shapes(values: dict[str, object]) -> dict[str, tuple]:
    """Return the shape of each array in a flat dict, in the order of its keys.

    The order of Kauldron's own dicts of keys is that of a set of strings, which
    differs from run to run.

    >>> shapes({"b": np.zeros((2, 3)), "a": np.zeros(4)})
    {'a': (4,), 'b': (2, 3)}
    """
    return {name: np.shape(values[name]) for name in sorted(values)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Agreement:
    """The share of rows on which two tensors agree; knows no model and no batch.

    Attributes:
      logits: key of a float array `(n, classes)`.
      labels: key of an int array `(n,)`.
      mask: key of a bool array `(n,)` of the rows that count; all, if not given.
    """

    logits: kontext.Key = kontext.REQUIRED
    labels: kontext.Key = kontext.REQUIRED
    mask: kontext.Key | None = None

    def get(self, *, logits, labels, mask=None) -> float:
        """Return the share, from 0 to 1, of rows whose largest logit is the label's."""
        right = logits.argmax(axis=-1) == labels
        return float(right.mean() if mask is None else right[mask].mean())


def evaluate(metric, context) -> float:
    """Look up a metric's keys in a context and call its `get` with what they lead to.

    Raises:
      KeyError: if a path leads nowhere; the message suggests others.
      ValueError: if a required key was not given.

    >>> evaluate(Agreement(logits="preds.logits", labels="batch.label"), context())
    0.75
    """
    values = kontext.resolve_from_keyed_obj(context, metric, func=metric.get)
    return metric.get(**values)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mean:
    """The mean of each of some tensors, which a tree of keys leads to.

    Attributes:
      tensors: paths of float arrays, in any nesting of dicts and lists.
    """

    tensors: kontext.KeyTree[dict[str, np.ndarray]]

    def __call__(self, context: kontext.Context) -> dict[str, float]:
        """Return the means, in the form of the keys.

        >>> Mean(tensors={"l": "preds.logits"})(context())
        {'l': 0.1}
        """
        found = kontext.resolve_from_keyed_obj(context, self)["tensors"]
        return jax.tree.map(lambda tensor: round(float(tensor.mean()), 4), found)


@dataclasses.dataclass
class Batch:
    """The fields of a batch, for an editor to complete: `image` and `label`."""

    image: np.ndarray
    label: np.ndarray


# Where the drawing puts each node: path, place (column, row).
_PLACES = {
    "": (0, 2),
    "batch": (1, 0.5),
    "preds": (1, 3),
    "batch.image": (2, 0),
    "batch.label": (2, 1),
    "preds.logits": (2, 2.4),
    "preds.aux": (2, 3.6),
    "preds.aux[0]": (3, 3.6),
    "preds.aux[0].pos": (4, 3.6),
}


def draw_path(context: dict, path: str) -> Picture:
    """Draw a context as a tree, with the way that a path takes through it.

    Args:
      context: as `context` returns it.
      path: one of the paths in it.
    """
    whole = kontext.Path.from_str(path)
    way = ["", *(str(whole[: n + 1]) for n in range(len(whole)))]
    figure = Figure(figsize=(8.4, 3.4))
    axes = figure.subplots()
    for node, (column, row) in _PLACES.items():
        on_way = node in way
        colour = BLUE if on_way else GREY
        if node:
            step = kontext.Path.from_str(node)
            parent_column, parent_row = _PLACES[str(step[:-1])]
            axes.annotate(
                "",
                (column - 0.27, row),
                (parent_column + 0.27, parent_row),
                zorder=1,
                arrowprops={
                    "arrowstyle": "->",
                    "color": colour,
                    "linewidth": 2.4 if on_way else 1,
                },
            )
            value = kontext.get_by_path(context, node)
            label = repr(step[-1]) if isinstance(step[-1], str) else f"[{step[-1]}]"
        else:
            value, label = context, "context"
        shape = (
            f"\n{np.shape(value)}"
            if isinstance(value, np.ndarray)
            else f"\n{type(value).__name__}"
        )
        axes.text(
            column,
            row,
            label.strip("'") + shape,
            ha="center",
            va="center",
            fontsize=10,
            color="black",
            bbox={
                "boxstyle": "round,pad=0.4",
                "facecolor": "#E8F1F8" if on_way else "white",
                "edgecolor": colour,
                "linewidth": 2.4 if on_way else 1,
            },
        )
    axes.set_xlim(-0.5, 4.5)
    axes.set_ylim(4.1, -0.5)
    axes.axis("off")
    axes.set_title(path, fontfamily="monospace", color=BLUE)
    return Picture(figure, " → ".join(node or "context" for node in way))
