"""What is wrong, before and during training: what the chapter *debugging* shows."""

import contextlib
import io
import pathlib
import traceback
from collections.abc import Callable, Iterator, Mapping

import flax.linen as nn
import jax
import numpy as np
from kauldron import kd, kontext
from matplotlib.figure import Figure

from snippets import experiment
from snippets.showing import BLUE, ORANGE, Picture

HERE = pathlib.Path(__file__).parent


class Misfit(experiment.MLP):
    """The model of the experiment, with a wrong shape in the weights of its end."""

    @nn.compact
    def __call__(self, x):
        """Return nothing: the multiplication at the end is refused."""
        hidden = nn.relu(nn.Dense(self.hidden, name="enc")(x))
        weights = self.param("out", nn.initializers.lecun_normal(), (16, 1))
        return {"y": hidden @ weights}


class Flat(experiment.MLP):
    """The model of the experiment, which drops the last axis of its predictions."""

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch,)}`."""
        hidden = nn.relu(nn.Dense(self.hidden, name="enc")(x))
        return {"y": nn.Dense(1, name="out")(hidden)[:, 0]}


class Talking(experiment.MLP):
    """The model of the experiment, which prints the mean of its inner layer, twice."""

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        hidden = nn.relu(nn.Dense(self.hidden, name="enc")(x))
        print("print:", type(hidden).__name__)
        jax.debug.print("jax.debug.print: {mean:.3f}", mean=hidden.mean())
        return {"y": nn.Dense(1, name="out")(hidden)}


class Squashed(experiment.MLP):
    """The model of the experiment, with a ReLU too many."""

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`, none below zero."""
        hidden = nn.relu(nn.Dense(self.hidden, name="enc")(x))
        return {"y": nn.relu(nn.Dense(1, name="out")(hidden))}


def mine(error: BaseException, folder: pathlib.Path = HERE) -> list[str]:
    """Return the lines of a traceback that stand in files of one folder.

    Args:
      error: an error that was caught.
      folder: where your own code lies.

    Returns:
      The lines as ``file, function: code``, the innermost last.

    >>> try:
    ...     nbytes({"a": 1})
    ... except AttributeError as error:
    ...     print(mine(error)[-1].partition(":")[0])
    debugging.py, <genexpr>
    """
    return [
        f"{pathlib.Path(frame.filename).name}, {frame.name}: {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
        if pathlib.Path(frame.filename).parent == folder
    ]


@contextlib.contextmanager
def in_order() -> Iterator[None]:
    """Hold back what the body prints until all of it has been printed.

    `jax.debug.print` prints from a thread of JAX, at a moment of its own.

    >>> with in_order():
    ...     jax.debug.print("{x}", x=np.float32(0.5))
    0.5
    """
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        yield
        jax.effects_barrier()
    print(out.getvalue(), end="")


def equal(one, other) -> bool:
    """Return whether two trees hold the same numbers, to the last bit.

    >>> equal({"a": np.ones(2)}, {"a": np.ones(2)})
    True
    """
    same = jax.tree.map(lambda a, b: np.array_equal(a, b), one, other)
    return jax.tree.all(same)


def on_one_batch(run: kd.train.Trainer, batch, steps: int) -> tuple[float, float]:
    """Train from the beginning, and on one batch only.

    Args:
      run: the experiment; its own data is not used.
      batch: what each step gets.
      steps: how many steps, at least one.

    Returns:
      The total loss at the first step and at the last, each before its update.
    """
    state, both = run.init_state(), []
    for step in range(steps):
        state, aux = run.trainstep.step(
            state, batch, return_losses=True, return_metrics=True
        )
        if step in (0, steps - 1):
            both.append(float(aux.compute().loss_values["losses/total"]))
    return both[0], both[-1]


class Probe(kd.evals.EvaluatorBase):
    """Prints the norm of what the inner layer makes of four rows.

    Attributes:
      put: what brings the rows, a NumPy array, to the device.
    """

    put: Callable = lambda rows: rows

    def evaluate(self, state: kd.train.TrainState, step: int) -> None:
        """Print one number."""
        rows = self.put(experiment.rows(4, seed=2)["x"])
        inner = rows @ state.params["enc"]["kernel"]
        print(f"step {step}: {np.linalg.norm(inner):.4f}")


def allowed(attempt: Callable[[], object]) -> bool:
    """Return whether the guard of the training loop lets a call through.

    >>> allowed(lambda: jax.device_put(np.ones(3)))
    True
    """
    try:
        with jax.transfer_guard("disallow"):
            attempt()
    except jax.errors.JaxRuntimeError as error:
        if "Disallowed" not in str(error):
            raise
        return False
    return True


def nbytes(tree) -> int:
    """Return how many bytes the arrays of a tree take, or would take.

    Args:
      tree: of arrays, or of their shapes and dtypes.

    >>> nbytes({"a": np.zeros((2, 3), np.float32), "b": np.zeros((), np.int32)})
    28
    """
    return sum(
        int(np.prod(leaf.shape, dtype=np.int64)) * np.dtype(leaf.dtype).itemsize
        for leaf in jax.tree.leaves(tree)
    )


def budget(run: kd.train.Trainer) -> dict[str, int]:
    """Return the bytes of what a training step holds, from shapes alone.

    The outputs of layers are those that Flax records: what each module returns.
    """
    state, context = run.state_specs, run.context_specs
    recorded = kontext.flatten_with_path(context.interms)
    outputs = {path: leaf for path, leaf in recorded.items() if path[:2] != "__"}
    return {
        "parameters": nbytes(state.params),
        "optimizer": nbytes(state.opt_state),
        "gradients": nbytes(context.grads),
        "batch": nbytes(context.batch),
        "outputs of layers": nbytes(outputs),
    }


def where_bytes_are(by_run: Mapping[str, Mapping[str, int]]) -> Picture:
    """Draw the budgets of two runs beside one another.

    Args:
      by_run: what `budget` returned, by a name of the run.
    """
    figure = Figure(figsize=(7, 3.2))
    axes = figure.subplots()
    kinds = list(next(iter(by_run.values())))
    places = np.arange(len(kinds))
    for offset, (name, sizes), colour in zip(
        (-0.19, 0.19), by_run.items(), (BLUE, ORANGE), strict=True
    ):
        values = [sizes[kind] / 1e6 for kind in kinds]
        bars = axes.barh(places + offset, values, 0.36, color=colour, label=name)
        axes.bar_label(bars, fmt="%.3f", padding=3)
    axes.set_yticks(places, kinds)
    axes.invert_yaxis()
    axes.set_xlabel("megabytes")
    axes.margins(x=0.15)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center right")
    return Picture(
        figure,
        "\n".join(
            f"{name}: " + ", ".join(f"{k} {v / 1e6:.3f} MB" for k, v in sizes.items())
            for name, sizes in by_run.items()
        ),
    )
