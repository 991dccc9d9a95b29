"""What the chapter *fine-tune* does with the package in `examples/fine_tune`.

The package's modules are here, too, as `snippets.fine_tune_data` for `digits.data` and
so on: the same text, but for that name, and a test holds them to it. This way the book
knows what a page is made from.
"""

import contextlib
import io
import pathlib
from collections.abc import Mapping

import jax
import numpy as np
from kauldron import kd, konfig, kontext
from matplotlib.figure import Figure

from snippets.showing import BLUE, GREY, Picture
from snippets.trainer import scalars

EXAMPLE = "examples/fine_tune"


def begun(cfg: konfig.ConfigDict, workdir: str) -> kd.train.Trainer:
    """Return a config's trainer.

    Args:
      cfg: the config; it is not changed.
      workdir: the folder of the run, made absolute, as Orbax wants it.
    """
    folder = str(pathlib.Path(workdir).absolute())
    return konfig.resolve(cfg | {"workdir": folder})


def train(run: kd.train.Trainer) -> kd.train.TrainState:
    """Train, without what the loop prints; return the last state."""
    with contextlib.redirect_stdout(io.StringIO()):
        return run.train()[0]


def measured(run: kd.train.Trainer) -> dict[str, float]:
    """Return the last evaluation that a run has written, by the name of the metric."""
    found = scalars(pathlib.Path(run.workdir) / "test")
    metrics = {k: v for k, v in found.items() if k.startswith("metrics/")}
    return {
        name.removeprefix("metrics/"): by_step[max(by_step)]
        for name, by_step in metrics.items()
    }


def sizes(params: Mapping) -> dict[str, int]:
    """Return how many numbers each layer's arrays hold, by path.

    >>> sizes({"encoder": {"first": {"kernel": np.zeros((2, 3)), "bias": np.zeros(3)}}})
    {'encoder.first': 9}
    """
    found: dict[str, int] = {}
    for path, array in kontext.flatten_with_path(params).items():
        layer = path.rpartition(".")[0]
        found[layer] = found.get(layer, 0) + np.size(array)
    return found


def trained(run: kd.train.Trainer) -> tuple[int, int]:
    """Return how many numbers a run trains, and of how many.

    Adam keeps two averages for each number that it trains, and a count of its own. No
    array is made for it.
    """
    specs = run.state_specs

    def numbers(tree: object) -> int:
        return sum(np.prod(x.shape, dtype=int) for x in jax.tree.leaves(tree))

    return int(numbers(specs.opt_state) - 1) // 2, int(numbers(specs.params))


def loaded(state: kd.train.TrainState, saved: Mapping) -> dict[str, bool]:
    """Return for each layer of a state whether its arrays are the saved ones, by path.

    Args:
      state: the new one.
      saved: the parameters of the other run; those of another name count as others.
    """
    old = kontext.flatten_with_path(saved)
    found: dict[str, bool] = {}
    for path, array in kontext.flatten_with_path(state.params).items():
        layer, same = path.rpartition(".")[0], path in old
        same = same and np.array_equal(array, old[path])
        found[layer] = found.get(layer, True) and same
    return found


def as_before(params: Mapping, before: Mapping) -> dict:
    """Return a fine-tuned encoder, what was added to it left out, under the old head.

    Args:
      params: of the fine-tuned classifier.
      before: of the pretrained one.
    """
    encoder = {
        name: {"dense": layer["dense"]} for name, layer in params["encoder"].items()
    }
    return {"encoder": encoder, "old_head": before["old_head"]}


def bars(new: Mapping[str, float], old: Mapping[str, float]) -> Picture:
    """Draw the accuracy on the new digits, and that on the old ones afterwards.

    Args:
      new: by the name of the variant, from 0 to 1.
      old: the same names.
    """
    figure = Figure(figsize=(7, 3.4))
    axes = figure.subplots()
    places = np.arange(len(new))
    for offset, label, values, colour in (
        (-0.19, "new digits", new, BLUE),
        (0.19, "old digits afterwards", old, GREY),
    ):
        lengths = [values[name] for name in new]
        drawn = axes.barh(places + offset, lengths, 0.36, color=colour, label=label)
        axes.bar_label(drawn, fmt="%.2f", padding=3)
    axes.set_yticks(places, list(new))
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12)
    axes.set_xlabel("accuracy on test digits")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.45, 1.16), ncols=2)
    return Picture(
        figure,
        "\n".join(f"{name}: new {new[name]:.2f}, old {old[name]:.2f}" for name in new),
    )
