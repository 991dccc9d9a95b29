"""Optimizers made of parts: what the chapter *optimizers* shows."""

import collections
from collections.abc import Callable, Mapping

import jax
import numpy as np
from kauldron import kd, kontext
from matplotlib.figure import Figure

from snippets import experiment
from snippets.showing import BLUE, GREY, ORANGE, Picture

# The norm of a whole tree, as if it were one vector.
WHOLE = {"axis": None, "aggregation_type": "concat"}


def norm_of(tree: str) -> kd.metrics.Metric:
    """Return a metric: the norm of all arrays under a path, as one vector.

    Args:
      tree: a path of the context that leads to a tree, such as ``"grads"``.
    """
    return kd.metrics.TreeReduce(metric=kd.metrics.Norm(tensor=tree, **WHOLE))


def chosen(mask: Callable, params) -> list[str]:
    """Return the paths of the parameters that a mask chooses.

    Args:
      mask: makes of a tree of parameters one of bools, as `kd.optim.select` does.
      params: the parameters.

    >>> params = {"enc": {"bias": 0.0}, "out": {"bias": 0.0}}
    >>> chosen(kd.optim.select("enc"), params)
    ['enc.bias']
    """
    return [
        path for path, yes in kontext.flatten_with_path(mask(params)).items() if yes
    ]


def train(
    run: kd.train.Trainer, every: int = 10
) -> tuple[kd.train.TrainState, dict[str, dict[int, float]]]:
    """Take the steps of a run by hand.

    Args:
      run: takes `num_train_steps` steps, the first of which is step 0.
      every: after how many steps losses and metrics become numbers.

    Returns:
      The last state, and the numbers as ``{name: {step: value}}``.
    """
    state, batches = run.init_state(), iter(run.train_ds)
    history = collections.defaultdict(dict)
    for step in range(run.num_train_steps):
        asked = step % every == 0 or step == run.num_train_steps - 1
        state, aux = run.trainstep.step(
            state, next(batches), return_losses=asked, return_metrics=asked
        )
        if asked:
            values = aux.compute()
            for name, value in (values.loss_values | values.metric_values).items():
                history[name][step] = float(value)
    return state, dict(history)


def moved(before, after) -> dict[str, float]:
    """Return how far each layer has moved: the norm of the difference, all its arrays.

    >>> moved({"a": {"w": np.zeros(2)}}, {"a": {"w": np.array([3.0, 4.0])}})
    {'a': 5.0}
    """
    return {
        layer: float(
            np.sqrt(
                sum(
                    np.square(np.asarray(new) - np.asarray(old)).sum()
                    for old, new in zip(
                        jax.tree.leaves(before[layer]),
                        jax.tree.leaves(after[layer]),
                        strict=True,
                    )
                )
            )
        )
        for layer in before
    }


def way(before, after) -> str:
    """Return what `moved` says, as text with three digits behind the point.

    >>> way({"a": {"w": np.zeros(2)}}, {"a": {"w": np.array([3.0, 4.0])}})
    'a 5.000'
    """
    return ", ".join(f"{name} {by:.3f}" for name, by in moved(before, after).items())


def start() -> dict[str, dict[str, np.ndarray]]:
    """Return the parameters with which the experiment begins, as NumPy arrays."""
    return jax.tree.map(np.asarray, experiment.trainer().init_state().params)


def arrays(tree) -> int:
    """Return how many numbers a tree of arrays holds.

    >>> arrays({"a": np.zeros((2, 3)), "b": np.zeros(())})
    7
    """
    return sum(np.size(leaf) for leaf in jax.tree.leaves(tree))


def distances(by_optimizer: Mapping[str, Mapping[str, float]]) -> Picture:
    """Draw how far each layer has moved under each optimizer.

    Args:
      by_optimizer: what `moved` returned, by the name of the optimizer.
    """
    figure = Figure(figsize=(7, 3.2))
    axes = figure.subplots()
    names = list(by_optimizer)
    places = np.arange(len(names))
    layers = list(next(iter(by_optimizer.values())))
    for offset, layer, colour in zip(
        (0.19, -0.19), layers, (BLUE, ORANGE), strict=True
    ):
        values = [by_optimizer[name][layer] for name in names]
        bars = axes.barh(places + offset, values, 0.36, color=colour, label=layer)
        axes.bar_label(bars, fmt="%.3f", padding=3)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlabel("distance from the first parameters")
    axes.margins(x=0.15)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    return Picture(
        figure,
        "\n".join(
            f"{name}: " + ", ".join(f"{k} {v:.3f}" for k, v in values.items())
            for name, values in by_optimizer.items()
        ),
    )


def clipping(
    gradient: Mapping[int, float], clipped: Mapping[int, float], limit: float
) -> Picture:
    """Draw the norm of the gradient, and of what clipping has left of it.

    Args:
      gradient: the norm by step.
      clipped: the norm after clipping.
      limit: the largest norm that is let through.
    """
    figure = Figure(figsize=(7, 3.2))
    axes = figure.subplots()
    axes.plot(list(gradient), list(gradient.values()), color=GREY, label="gradient")
    axes.plot(list(clipped), list(clipped.values()), color=BLUE, label="clipped")
    axes.axhline(limit, color=ORANGE, linestyle="--", linewidth=1, label="limit")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("step")
    axes.set_ylabel("norm of all parts together")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    above = sum(value > limit for value in gradient.values())
    return Picture(figure, f"above the limit: {above} of {len(gradient)} steps")


def averaged(raw: Mapping[int, float], average: Mapping[int, float]) -> Picture:
    """Draw the evaluation of the parameters, and of their average.

    Args:
      raw: the loss by step, with the parameters as they were then.
      average: with their moving average.
    """
    figure = Figure(figsize=(7, 3.2))
    axes = figure.subplots()
    axes.plot(list(raw), list(raw.values()), color=GREY, label="parameters")
    axes.plot(list(average), list(average.values()), color=BLUE, label="their average")
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("evaluation loss (log scale)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    last = max(raw)
    return Picture(
        figure,
        f"at step {last}: parameters {raw[last]:.4f}, average {average[last]:.4f}",
    )
