"""Which type takes which value: what the chapter *annotations* shows."""

import itertools
import types
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import kauldron.typing as kdt
import numpy as np
import tensorflow as tf
import typeguard
from kauldron.typing import (
    Bool,
    DType,
    Integer,
    PRNGKey,
    ScalarFloat,
    Schedule,
    Shape,
    UInt8,
    typechecked,
)
from matplotlib.figure import Figure

from snippets.showing import BLUE, GREY, Picture


@typechecked
def loss_of(
    image: UInt8["b h w 3"],
    label: Integer["b"],
    mask: Bool["b"],
    key: PRNGKey,
    rate: Schedule,
    dtype: DType = jnp.float32,
) -> ScalarFloat:
    """Return a number for a batch of images: a signature with one type of each kind.

    >>> loss_of(**inputs()).shape
    ()
    """
    noise = jax.random.normal(key, Shape("b"), dtype)
    error = jnp.square(image.mean(axis=(1, 2, 3)) / 255 - label + noise)
    return rate(0) * jnp.mean(error, where=mask)


def inputs() -> dict[str, object]:
    """Return arguments that fit `loss_of`: two images, one of which counts.

    >>> inputs()["image"].shape
    (2, 4, 4, 3)
    """
    return {
        "image": np.zeros((2, 4, 4, 3), np.uint8),
        "label": np.array([0, 1]),
        "mask": np.array([True, False]),
        "key": jax.random.key(0),
        "rate": lambda step: 1e-3,
    }


def one_of_each() -> dict[str, np.ndarray | jax.Array]:
    """Return an array `(1,)` of each dtype, by its name; of a kind, side by side.

    >>> list(one_of_each())[:4]
    ['bool', 'int8', 'int16', 'int32']
    """
    signed = ("int8", "int16", "int32", "int64")
    unsigned = ("uint8", "uint16", "uint32", "uint64")
    of_numpy = ("bool", *signed, *unsigned, "float16", "float32", "float64")
    complexes = ("complex64", "complex128")
    return {
        **{name: np.zeros(1, name) for name in of_numpy},
        "bfloat16": jnp.zeros(1, jnp.bfloat16),
        **{name: np.zeros(1, name) for name in complexes},
        "key": jax.random.split(jax.random.key(0), 1),
        "str": np.array(["a"]),
    }


def of_tensorflow() -> dict[str, tf.Tensor]:
    """Return what `one_of_each` returns as tensors, where TensorFlow has that dtype.

    >>> set(one_of_each()) - set(of_tensorflow()) == {"key"}
    True
    """
    arrays = one_of_each()
    del arrays["key"]
    return {name: tf.constant(np.asarray(array)) for name, array in arrays.items()}


def accepted(kind, arrays: Mapping[str, object] | None = None) -> list[str]:
    """Return the names of the dtypes of which a type takes arrays.

    Args:
      kind: a type of either system without axes, such as `kdt.Float`.
      arrays: what is offered, by name; `one_of_each`, if not given.

    >>> accepted(kdt.Complex)
    ['complex64', 'complex128']
    """
    offered = one_of_each() if arrays is None else arrays
    return [name for name, array in offered.items() if isinstance(array, kind)]


def takes(annotation, value, system: types.ModuleType = kdt) -> bool:
    """Tell whether a checked function takes a value as an argument of that type.

    Args:
      annotation: the type of the argument.
      value: what is passed.
      system: whose decorator checks, `kauldron.typing` or `kauldron.ktyping`.

    >>> takes(kdt.Float["b"], np.ones(3)), takes(kdt.Float["b"], 3)
    (True, False)
    """

    def function(value):
        pass

    function.__annotations__ = {"value": annotation}
    try:
        system.typechecked(function)(value)
    except typeguard.TypeCheckError:
        return False
    return True


def grid(
    values: Mapping[str, object], system: types.ModuleType = kdt, **annotations
) -> str:
    """Return a table of which values a checked function takes as which type.

    A value is taken, refused, or the check itself fails.

    Args:
      values: what is passed, by what the table calls it.
      system: whose decorator checks.
      **annotations: the types, by what the table calls them.

    >>> print(grid({"1": 1, "'a'": "a"}, int=int, str=str))
         int    str
    1    yes    -
    'a'  -      yes
    """
    first = max(map(len, values))
    rows = [("", *annotations)]
    for name, value in values.items():
        row = [name]
        for kind in annotations.values():
            try:
                row.append("yes" if takes(kind, value, system) else "-")
            except Exception:  # not the checker's own, but one on its way to it
                row.append("fails")
        rows.append(row)
    widths = [first, *(max(len(name), len("fails")) for name in annotations)]
    return "\n".join(
        "  ".join(
            f"{word:{width}}" for word, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    )


def runs(flags: list[bool]) -> list[tuple[int, int]]:
    """Return where flags in a row are set, as first place and length.

    >>> runs([True, True, False, True])
    [(0, 2), (3, 1)]
    """
    found, place = [], 0
    for flag, group in itertools.groupby(flags):
        length = len(list(group))
        if flag:
            found.append((place, length))
        place += length
    return found


def draw_accepted(kinds: Mapping[str, type]) -> Picture:
    """Draw a bar over the dtypes that each type takes.

    Args:
      kinds: types without axes, by what the drawing calls them.
    """
    dtypes = list(one_of_each())
    taken = {name: accepted(kind) for name, kind in kinds.items()}
    figure = Figure(figsize=(7, 0.34 * len(kinds) + 1))
    axes = figure.subplots()
    for row, names in enumerate(taken.values()):
        for first, length in runs([dtype in names for dtype in dtypes]):
            left = first - 0.44
            axes.barh(row, length - 0.12, 0.62, left=left, color=BLUE)
    axes.set_yticks(range(len(kinds)), list(kinds), fontfamily="monospace")
    axes.set_xticks(range(len(dtypes)), dtypes, rotation=90)
    axes.xaxis.tick_top()
    axes.set_xlim(-0.5, len(dtypes) - 0.5)
    axes.set_ylim(len(kinds) - 0.5, -0.5)
    axes.tick_params(length=0)
    for place in range(1, len(dtypes)):
        axes.axvline(place - 0.5, color=GREY, linewidth=0.3, zorder=0)
    axes.spines[:].set_visible(False)
    return Picture(
        figure, "\n".join(f"{name}: {' '.join(of)}" for name, of in taken.items())
    )
